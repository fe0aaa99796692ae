// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that appear whole or not at all.
#pragma once

#include "bessemer/runtime/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace bessemer::runtime {

/// Writes the pieces one after the other to a temporary file beside `path`,
/// syncs it and renames it over `path`, so that a reader (or a crash) sees the
/// old file or the new one. A link stays and leads to the new file; what is no
/// file (a pipe, a device) is written to.
Status writeFileAtomically(const std::string &path,
                           std::span<const std::span<const std::byte>> pieces);
Status writeFileAtomically(const std::string &path, std::string_view text);

/// Writes an artifact as writeFileAtomically() does, but over nothing else than
/// another artifact or an empty file: a model, its data or a recipe would be
/// lost.
Status writeArtifact(const std::string &path,
                     std::span<const std::byte> artifact);
/// The error that writeArtifact() would give before it writes.
Status checkArtifactPath(const std::string &path);
/// The same for an ONNX model.
Status checkModelPath(const std::string &path);

/// Writes the pieces to a new file and syncs it; it is not yet safe against a
/// crash until the directory is synced too.
Status writeFileSynced(const std::string &path,
                       std::span<const std::span<const std::byte>> pieces);
/// Makes renames and new names in a directory durable.
Status syncDirectory(const std::string &path);
/// Whether there is something at the path; an error when that cannot be known,
/// as below a folder that may not be searched.
Expected<bool> fileExists(const std::string &path);
/// All of a regular file.
Expected<std::string> readText(const std::string &path);
/// Makes the directory and those above it that are missing, each durable.
Status createDirectories(const std::string &path);

} // namespace bessemer::runtime
