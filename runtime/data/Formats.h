// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The readers behind readArrays; each takes bytes and what keeps them alive.
// `name` is what errors begin with.
#pragma once

#include "bessemer/runtime/Data.h"

namespace bessemer::runtime::data {

using Bytes = std::span<const std::byte>;
using Owner = std::shared_ptr<const void>;

/// Versions 1 to 3; Fortran order is transposed, big endian is swapped.
Expected<Array> readNpy(const std::string &name, Bytes bytes, Owner owner);
/// Every member must be an .npy file.
Expected<std::vector<NamedArray>> readNpz(const std::string &name, Bytes bytes,
                                          Owner owner);
Expected<Array> readIdx(const std::string &name, Bytes bytes, Owner owner);

/// Bytes that a shared buffer owns.
struct Buffer {
  std::shared_ptr<std::byte[]> data;
  size_t size = 0;
  Bytes bytes() const { return {data.get(), size}; }
};

/// Memory aligned to 64 bytes.
Buffer allocate(size_t size);

/// Inflates a whole gzip file (all its members).
Expected<Buffer> gunzip(const std::string &name, Bytes bytes);
/// Inflates a raw deflate stream to exactly `size` bytes.
Expected<Buffer> inflateRaw(const std::string &name, Bytes bytes, size_t size);

/// Elements times size of the type, or nothing when it overflows or an extent
/// is negative.
std::optional<size_t> byteSize(const TensorType &type);

/// Makes an array of elements in the file: in place when they are aligned and
/// little endian, else a copy. `bytes` holds at least the elements.
Array makeArray(TensorType type, Bytes bytes, Owner owner, bool bigEndian);

} // namespace bessemer::runtime::data
