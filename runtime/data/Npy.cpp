// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npy: magic, version, a Python dictionary as text, elements.
#include "data/Formats.h"

#include "bessemer/runtime/Files.h"

#include <charconv>
#include <cstring>

namespace bessemer::runtime::data {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Header {
  std::string description;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads the dictionary that numpy writes: {'descr': '<f4', 'fortran_order':
/// False, 'shape': (3, 4), }. Keys come in any order.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  /// Nothing when the text is not such a dictionary.
  std::optional<Header> parse() {
    Header header;
    bool seen[3] = {};
    if (!take('{'))
      return std::nullopt;
    while (!take('}')) {
      std::optional<std::string> key = string();
      if (!key || !take(':'))
        return std::nullopt;
      if (*key == "descr") {
        seen[0] = true;
        std::optional<std::string> value = string();
        if (!value) { // A list: fields of a structured array.
          header.description = "structured";
          return header;
        }
        header.description = *value;
      } else if (*key == "fortran_order") {
        seen[1] = true;
        if (word("True"))
          header.fortranOrder = true;
        else if (!word("False"))
          return std::nullopt;
      } else if (*key == "shape") {
        seen[2] = true;
        if (!tuple(header.shape))
          return std::nullopt;
      } else {
        return std::nullopt;
      }
      take(',');
    }
    if (!seen[0] || !seen[1] || !seen[2])
      return std::nullopt;
    return header;
  }

private:
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
  }
  bool take(char c) {
    skipSpace();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool word(std::string_view value) {
    skipSpace();
    if (text.substr(at, value.size()) != value)
      return false;
    at += value.size();
    return true;
  }
  std::optional<std::string> string() {
    skipSpace();
    if (at == text.size() || (text[at] != '\'' && text[at] != '"'))
      return std::nullopt;
    size_t end = text.find(text[at], at + 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string value(text.substr(at + 1, end - at - 1));
    at = end + 1;
    return value;
  }
  bool tuple(std::vector<int64_t> &values) {
    if (!take('('))
      return false;
    while (!take(')')) {
      skipSpace();
      int64_t value;
      auto [end, error] =
          std::from_chars(text.data() + at, text.data() + text.size(), value);
      if (error != std::errc())
        return false;
      at = static_cast<size_t>(end - text.data());
      values.push_back(value);
      word("L"); // Python 2 wrote long integers so.
      take(',');
    }
    return true;
  }

  std::string_view text;
  size_t at = 0;
};

std::optional<ElementType> typeOfDescription(std::string_view description) {
  constexpr std::pair<std::string_view, ElementType> types[] = {
      {"b1", ElementType::Bool}, {"i1", ElementType::I8},
      {"u1", ElementType::U8},   {"i2", ElementType::I16},
      {"u2", ElementType::U16},  {"i4", ElementType::I32},
      {"u4", ElementType::U32},  {"i8", ElementType::I64},
      {"u8", ElementType::U64},  {"f2", ElementType::F16},
      {"f4", ElementType::F32},  {"f8", ElementType::F64}};
  for (auto [name, type] : types)
    if (description.size() == 3 && description.substr(1) == name)
      return type;
  return std::nullopt;
}

/// Reverses the order of the dimensions: `type` has the C-order shape.
Array transposed(TensorType type, const std::byte *from) {
  size_t element = elementSize(type.element), rank = type.shape.size();
  size_t count = type.elementCount();
  Buffer copy = allocate(count * element);
  // Stride in elements of each C-order dimension in the Fortran-order data.
  std::vector<size_t> stride(rank, 1), index(rank, 0);
  for (size_t dim = 1; dim < rank; ++dim)
    stride[dim] = stride[dim - 1] * static_cast<size_t>(type.shape[dim - 1]);
  size_t source = 0;
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(copy.data.get() + i * element, from + source * element,
                element);
    for (size_t dim = rank; dim-- > 0;) {
      source += stride[dim];
      if (++index[dim] < static_cast<size_t>(type.shape[dim]))
        break;
      source -= stride[dim] * index[dim];
      index[dim] = 0;
    }
  }
  return {std::move(type), copy.data, copy.data.get()};
}

} // namespace

Expected<Array> readNpy(const std::string &name, Bytes bytes, Owner owner) {
  auto byteAt = [&](size_t i) { return std::to_integer<uint32_t>(bytes[i]); };
  if (bytes.size() < 10 ||
      std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    return Status::invalidInput(name + ": not an .npy file");
  uint32_t version = byteAt(6);
  if (version < 1 || version > 3)
    return Status::invalidInput(name + ": unknown .npy version " +
                                std::to_string(version));
  size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start)
    return Status::invalidInput(name + ": file ends inside the header");
  size_t length = byteAt(8) | byteAt(9) << 8;
  if (version > 1)
    length |= byteAt(10) << 16 | byteAt(11) << 24;
  if (bytes.size() - start < length)
    return Status::invalidInput(name + ": file ends inside the header");
  std::string_view text(reinterpret_cast<const char *>(bytes.data()) + start,
                        length);
  std::optional<Header> header = HeaderParser(text).parse();
  if (!header)
    return Status::invalidInput(name + ": damaged .npy header");
  std::optional<ElementType> element = typeOfDescription(header->description);
  if (!element)
    return Status::invalidInput(
        name + ": expected numbers or booleans, got NumPy type '" +
        header->description + "'");
  for (int64_t extent : header->shape)
    if (extent < 0)
      return Status::invalidInput(name +
                                  ": expected dimensions of at least 0, got " +
                                  std::to_string(extent));
  TensorType type{*element, std::move(header->shape)};
  Bytes elements = bytes.subspan(start + length);
  std::optional<size_t> expected = byteSize(type);
  if (!expected || elements.size() != *expected)
    return Status::invalidInput(
        name + ": expected " +
        (expected ? std::to_string(*expected) : "too many") + " bytes of " +
        type.str() + ", got " + std::to_string(elements.size()));
  Array array = makeArray(std::move(type), elements, std::move(owner),
                          header->description[0] == '>');
  if (header->fortranOrder && array.type.shape.size() > 1)
    return transposed(std::move(array.type), array.data);
  return array;
}

} // namespace bessemer::runtime::data

bessemer::runtime::Status bessemer::runtime::writeNpy(const std::string &path,
                                                      const TensorView &value) {
  constexpr std::string_view descriptions[numElementTypes] = {
      "<f4", "<f8", "<f2", "",    "|i1", "<i2", "<i4",
      "<i8", "|u1", "<u2", "<u4", "<u8", "|b1"};
  std::string_view description = descriptions[static_cast<size_t>(value.type)];
  if (description.empty())
    return Status::invalidInput(path + ": NumPy has no type for " +
                                std::string(elementName(value.type)));
  std::string text = "{'descr': '" + std::string(description) +
                     "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : value.shape)
    text += std::to_string(extent) + ", ";
  if (value.shape.size() > 1)
    text.resize(text.size() - 2);
  else if (!value.shape.empty())
    text.pop_back();
  text += "), }";
  // The elements start at a multiple of 64 bytes, so that they can be mapped.
  constexpr size_t prefix = 10;
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  header += text;
  std::span<const std::byte> pieces[] = {
      std::as_bytes(std::span(header)),
      {static_cast<const std::byte *>(value.data), value.byteSize()}};
  return writeFileAtomically(path, pieces);
}
