// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IDX, the format of MNIST: two zero bytes, an element type, the rank, then
// extents and elements in big endian.
#include "data/Formats.h"

namespace bessemer::runtime::data {
namespace {

std::optional<ElementType> typeOfCode(uint8_t code) {
  switch (code) {
  case 0x08:
    return ElementType::U8;
  case 0x09:
    return ElementType::I8;
  case 0x0b:
    return ElementType::I16;
  case 0x0c:
    return ElementType::I32;
  case 0x0d:
    return ElementType::F32;
  case 0x0e:
    return ElementType::F64;
  }
  return std::nullopt;
}

} // namespace

Expected<Array> readIdx(const std::string &name, Bytes bytes, Owner owner) {
  if (bytes.size() < 4)
    return Status::invalidInput(name + ": file ends inside the IDX header");
  uint8_t code = std::to_integer<uint8_t>(bytes[2]);
  std::optional<ElementType> element = typeOfCode(code);
  if (!element)
    return Status::invalidInput(name + ": unknown IDX element type " +
                                std::to_string(code));
  size_t rank = std::to_integer<size_t>(bytes[3]);
  if (bytes.size() < 4 + 4 * rank)
    return Status::invalidInput(name + ": file ends inside the IDX header");
  TensorType type{*element, {}};
  for (size_t dim = 0; dim < rank; ++dim) {
    uint32_t extent = 0;
    for (size_t i = 0; i < 4; ++i)
      extent = extent << 8 | std::to_integer<uint32_t>(bytes[4 + 4 * dim + i]);
    type.shape.push_back(extent);
  }
  Bytes elements = bytes.subspan(4 + 4 * rank);
  std::optional<size_t> expected = byteSize(type);
  if (!expected || *expected != elements.size())
    return Status::invalidInput(
        name + ": expected " +
        (expected ? std::to_string(*expected) : "too many") + " bytes of " +
        type.str() + ", got " + std::to_string(elements.size()));
  return makeArray(std::move(type), elements, std::move(owner),
                   /*bigEndian=*/true);
}

} // namespace bessemer::runtime::data
