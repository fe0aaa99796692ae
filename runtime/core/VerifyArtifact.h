// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks an artifact before anything trusts it: after these, every index,
// offset and slice that the executor follows is in range.
#pragma once

#include "bessemer/Format/Layout.h"
#include "bessemer/runtime/Status.h"

#include <cstddef>
#include <span>
#include <string>

namespace bessemer::runtime {

/// Prefix, table hash, FlatBuffers structure, version, then every part of the
/// table; gives the table.
Expected<const format::Program *>
verifyArtifact(const std::string &name, std::span<const std::byte> bytes);

/// The bytes of a dense tensor, or nothing when the type is not valid.
bool tensorBytes(const format::TensorType *type, uint64_t &bytes);

/// The commands and arenas of one function on one target.
Status verifyCommands(const std::string &name, const format::Program &program,
                      const format::ExecProgram &exec,
                      const format::Function &function);

/// "name: where: expected ..., got ...".
Status damaged(const std::string &name, const std::string &where,
               const std::string &expected, const std::string &got);

} // namespace bessemer::runtime
