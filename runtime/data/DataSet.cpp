// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files into named columns.
#include "bessemer/runtime/Data.h"
#include "core/Bytes.h"
#include "data/Formats.h"

#include <cstring>
#include <unistd.h>

namespace bessemer::runtime {
namespace {

bool startsWith(data::Bytes bytes, std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

/// "/a/train-images.idx3.gz" -> "train-images".
std::string stemOf(const std::string &path) {
  std::string base = path.substr(path.rfind('/') + 1);
  return base.substr(0, base.find('.', 1));
}

bool exists(const std::string &path) {
  return ::access(path.c_str(), F_OK) == 0;
}

std::string listOf(std::span<const NamedArray> arrays) {
  std::string text;
  for (const NamedArray &array : arrays)
    text +=
        (text.empty() ? "" : ", ") + array.name + " " + array.array.type.str();
  return text;
}

/// Opens "FILE" or "FILE:array" as the one array that `column` names.
Expected<Array> openOne(const std::string &column, const std::string &spec) {
  if (spec.empty())
    return Status::invalidInput("data column '" + column +
                                "': expected a file, got ''");
  std::string path = spec, member;
  // Names of arrays may hold colons, too: the file ends at the first one that
  // leaves a path that is there.
  if (!exists(spec))
    for (size_t colon = spec.find(':'); colon != std::string::npos;
         colon = spec.find(':', colon + 1))
      if (exists(spec.substr(0, colon))) {
        path = spec.substr(0, colon);
        member = spec.substr(colon + 1);
        break;
      }
  Expected<std::vector<NamedArray>> arrays = readArrays(path);
  if (!arrays)
    return arrays.status();
  if (member.empty() && arrays->size() == 1)
    return std::move(arrays->front().array);
  for (NamedArray &array : *arrays)
    if (array.name == member)
      return std::move(array.array);
  if (member.empty())
    return Status::invalidInput(
        path + ": expected one array for column '" + column + "', got " +
        listOf(*arrays) + "; choose with " + column + "=" + path + ":NAME");
  return Status::invalidInput(path + ": has no array '" + member +
                              "'; it has " + listOf(*arrays));
}

} // namespace

Expected<std::vector<NamedArray>> readArrays(const std::string &path) {
  Expected<std::unique_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.status();
  data::Bytes bytes = (*file)->bytes();
  data::Owner owner = std::shared_ptr<const MappedFile>(*std::move(file));
  if (startsWith(bytes, "\x1f\x8b")) {
    Expected<data::Buffer> inflated = data::gunzip(path, bytes);
    if (!inflated)
      return inflated.status();
    bytes = inflated->bytes();
    owner = inflated->data;
  }
  if (startsWith(bytes, "PK"))
    return data::readNpz(path, bytes, owner);
  Expected<Array> array = Status::invalidInput(
      path + (bytes.empty() ? ": the file is empty"
                            : ": expected .npy, .npz or IDX data (gzip "
                              "allowed), got another format"));
  if (startsWith(bytes, "\x93NUMPY"))
    array = data::readNpy(path, bytes, owner);
  else if (startsWith(bytes, std::string_view("\0\0", 2)))
    array = data::readIdx(path, bytes, owner);
  if (!array)
    return array.status();
  std::vector<NamedArray> arrays;
  arrays.push_back({stemOf(path), *std::move(array)});
  return arrays;
}

Expected<DataSet> DataSet::open(std::span<const std::string> specs) {
  DataSet set;
  auto add = [&](NamedArray array) -> Status {
    if (set.column(array.name))
      return Status::invalidInput("data column '" + array.name +
                                  "' is given twice");
    set.arrays.push_back(std::move(array));
    return {};
  };
  for (const std::string &spec : specs) {
    // A file may have '=' in its path, so an existing file wins.
    size_t equals = exists(spec) ? std::string::npos : spec.find('=');
    if (equals != std::string::npos) {
      std::string name = spec.substr(0, equals);
      Expected<Array> array = openOne(name, spec.substr(equals + 1));
      if (!array)
        return array.status();
      BESSEMER_RETURN_IF_ERROR(add({name, *std::move(array)}));
      continue;
    }
    Expected<std::vector<NamedArray>> arrays = readArrays(spec);
    if (!arrays)
      return arrays.status();
    for (NamedArray &array : *arrays)
      BESSEMER_RETURN_IF_ERROR(add(std::move(array)));
  }
  return set;
}

const Array *DataSet::column(std::string_view name) const {
  for (const NamedArray &array : arrays)
    if (array.name == name)
      return &array.array;
  return nullptr;
}

Status DataSet::cutWindows(int64_t n, const std::string &option) {
  if (arrays.size() != 1)
    return Status::invalidInput(
        option + ": expected one data column, a sequence of tokens, got " +
        str());
  NamedArray &tokens = arrays.front();
  TensorType &type = tokens.array.type;
  if (tokens.name == "labels")
    return Status::invalidInput(option +
                                ": the labels are the tokens that "
                                "follow: give the tokens under the input's "
                                "name, not as 'labels'");
  // A scalar or a table is no sequence, and there is nothing after a number.
  if (type.shape.size() != 1 || isFloat(type.element))
    return Status::invalidInput(option + ": data column '" + tokens.name +
                                "': expected a sequence of whole numbers, "
                                "got " +
                                type.str());
  if (n < 1 || type.shape[0] <= n)
    return Status::invalidInput(option + ": data column '" + tokens.name +
                                "': expected more tokens than the window's " +
                                std::to_string(n) + ", got " +
                                std::to_string(type.shape[0]));
  // Every row needs the token after its last one.
  type.shape = {(type.shape[0] - 1) / n, n};
  NamedArray labels = {"labels", tokens.array};
  labels.array.data += elementSize(type.element);
  arrays.push_back(std::move(labels));
  return {};
}

std::string DataSet::str() const { return listOf(arrays); }

} // namespace bessemer::runtime
