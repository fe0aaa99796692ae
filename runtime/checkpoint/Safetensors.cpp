// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading and writing safetensors headers.
#include "checkpoint/Safetensors.h"

#include "bessemer/Format/Hash.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace bessemer::runtime::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view typeNames[numElementTypes] = {
    "F32", "F64", "F16", "BF16", "I8",  "I16", "I32",
    "I64", "U8",  "U16", "U32",  "U64", "BOOL"};

/// safetensors itself refuses larger headers.
constexpr uint64_t mostHeaderBytes = 100'000'000;
constexpr std::string_view hashKey = "hash64/";

std::optional<ElementType> typeFromName(const std::string &name) {
  for (size_t i = 0; i < numElementTypes; ++i)
    if (typeNames[i] == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

/// Non-negative integers only, or nothing.
std::optional<std::vector<int64_t>> integers(const Json &list) {
  if (!list.is_array())
    return std::nullopt;
  std::vector<int64_t> values;
  for (const Json &item : list) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > INT64_MAX)
      return std::nullopt;
    values.push_back(item.get<int64_t>());
  }
  return values;
}

/// A tensor and the place it claims.
struct Claim {
  StoredTensor tensor;
  size_t begin, end;
};

Expected<Claim> parseTensor(const std::string &name, const Json &entry) {
  auto damaged = [&](const char *what) {
    return Status::invalidInput("tensor '" + name + "': " + what);
  };
  if (!entry.is_object() || !entry.contains("dtype") ||
      !entry["dtype"].is_string() || !entry.contains("shape") ||
      !entry.contains("data_offsets"))
    return damaged("expected dtype, shape and data_offsets");
  std::optional<ElementType> element =
      typeFromName(entry["dtype"].get<std::string>());
  if (!element)
    return damaged("unknown dtype");
  std::optional<std::vector<int64_t>> shape = integers(entry["shape"]),
                                      offsets = integers(entry["data_offsets"]);
  if (!shape || !offsets || offsets->size() != 2 ||
      (*offsets)[0] > (*offsets)[1])
    return damaged("damaged shape or data_offsets");
  Claim claim{{name, {*element, *shape}, nullptr},
              static_cast<size_t>((*offsets)[0]),
              static_cast<size_t>((*offsets)[1])};
  size_t bytes = elementSize(*element);
  for (int64_t extent : *shape)
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(extent), &bytes))
      return damaged("its shape is too large");
  if (bytes != claim.end - claim.begin)
    return Status::invalidInput("tensor '" + name + "': expected " +
                                std::to_string(bytes) + " bytes of " +
                                claim.tensor.type.str() + ", its offsets say " +
                                std::to_string(claim.end - claim.begin));
  return claim;
}

} // namespace

Expected<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Expected<std::unique_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.status();
  auto damaged = [&](const std::string &what) {
    return Status::invalidInput(path + ": " + what);
  };
  std::span<const std::byte> bytes = (*file)->bytes();
  uint64_t length = 0;
  if (bytes.size() < sizeof(length))
    return damaged("file ends inside the header");
  std::memcpy(&length, bytes.data(), sizeof(length));
  bytes = bytes.subspan(sizeof(length));
  if (length > mostHeaderBytes || length > bytes.size())
    return damaged("expected a header of " + std::to_string(length) +
                   " bytes, the file has " + std::to_string(bytes.size()));
  const char *text = reinterpret_cast<const char *>(bytes.data());
  Json header = Json::parse(text, text + length, nullptr,
                            /*allow_exceptions=*/false);
  if (!header.is_object())
    return damaged("the header is damaged (no JSON object)");
  std::span<const std::byte> elements = bytes.subspan(length);

  SafetensorsFile result;
  std::vector<Claim> claims;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__") {
      for (const auto &[key, value] : entry.items())
        if (key.starts_with(hashKey) && value.is_string())
          result.hashes[key.substr(hashKey.size())] = value.get<std::string>();
      continue;
    }
    Expected<Claim> claim = parseTensor(name, entry);
    if (!claim)
      return damaged(claim.status().message());
    claims.push_back(*std::move(claim));
  }
  std::stable_sort(
      claims.begin(), claims.end(), [](const Claim &a, const Claim &b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
      });
  size_t expected = 0;
  for (Claim &claim : claims) {
    if (claim.begin != expected)
      return damaged("tensor '" + claim.tensor.name + "': expected offset " +
                     std::to_string(expected) + ", got " +
                     std::to_string(claim.begin));
    if (claim.end > elements.size())
      return damaged("tensor '" + claim.tensor.name +
                     "' lies beyond the end of the file; it is truncated");
    claim.tensor.data = elements.data() + claim.begin;
    expected = claim.end;
    result.tensors.push_back(std::move(claim.tensor));
  }
  if (expected != elements.size())
    return damaged("expected " + std::to_string(expected) +
                   " bytes of elements, got " +
                   std::to_string(elements.size()));
  result.path = path;
  result.file = *std::move(file);
  return result;
}

const StoredTensor *SafetensorsFile::find(std::string_view name) const {
  for (const StoredTensor &tensor : tensors)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

bool SafetensorsFile::intact(const StoredTensor &tensor) const {
  auto hash = hashes.find(tensor.name);
  return hash == hashes.end() ||
         hash->second == hashText(tensor.data, tensor.type.byteSize());
}

std::string hashText(const void *data, size_t size) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(format::hash64(data, size)));
  return text;
}

Expected<std::string> safetensorsHead(std::span<const StoredTensor> tensors) {
  // Two objects: a reference into an ordered one does not outlive the next
  // insertion.
  Json metadata, entries;
  metadata["format"] = "bessemer";
  size_t offset = 0;
  for (const StoredTensor &tensor : tensors) {
    size_t bytes = tensor.type.byteSize();
    entries[tensor.name] = {
        {"dtype", typeNames[static_cast<size_t>(tensor.type.element)]},
        {"shape", tensor.type.shape},
        {"data_offsets", {offset, offset + bytes}}};
    metadata[std::string(hashKey) + tensor.name] = hashText(tensor.data, bytes);
    offset += bytes;
  }
  Json header;
  header["__metadata__"] = std::move(metadata);
  header.update(entries);
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception &) {
    // JSON holds Unicode only.
    return Status::invalidInput("a state's name is not valid UTF-8");
  }
  // Spaces until the elements are aligned, as the format allows.
  text.append((64 - (8 + text.size()) % 64) % 64, ' ');
  uint64_t length = text.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + text;
}

} // namespace bessemer::runtime::checkpoint
