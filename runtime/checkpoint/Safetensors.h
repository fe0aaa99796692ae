// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The safetensors layout: u64 length of a JSON header, the header, elements.
// The header's metadata holds a hash of every tensor, so that damage is named.
#pragma once

#include "core/Bytes.h"

#include "bessemer/runtime/Tensor.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bessemer::runtime::checkpoint {

struct StoredTensor {
  std::string name;
  TensorType type;
  const std::byte *data = nullptr;
};

/// A mapped file; the tensors lie in it.
struct SafetensorsFile {
  std::string path;
  std::unique_ptr<MappedFile> file;
  std::vector<StoredTensor> tensors;
  /// Hash by tensor name, where the writer gave one.
  std::map<std::string, std::string> hashes;

  /// Checks the header: offsets in order without gaps or overlaps, sizes that
  /// fit types, the whole file covered.
  static Expected<SafetensorsFile> open(const std::string &path);
  /// Null when there is none.
  const StoredTensor *find(std::string_view name) const;
  /// Compares elements with the hash; true where the writer gave none.
  bool intact(const StoredTensor &tensor) const;
};

/// Length, JSON header and padding for these tensors, whose elements must
/// follow in this order.
Expected<std::string> safetensorsHead(std::span<const StoredTensor> tensors);

/// hash64 as 16 hexadecimal digits.
std::string hashText(const void *data, size_t size);

} // namespace bessemer::runtime::checkpoint
