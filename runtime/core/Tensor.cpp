// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of element types, printed tensor types.
#include "bessemer/runtime/Tensor.h"

namespace bessemer::runtime {

static constexpr std::string_view names[numElementTypes] = {
    "f32", "f64", "f16", "bf16", "i8",  "i16", "i32",
    "i64", "u8",  "u16", "u32",  "u64", "bool"};

std::string_view elementName(ElementType type) {
  return names[static_cast<uint8_t>(type)];
}

std::optional<ElementType> elementFromName(std::string_view name) {
  for (unsigned i = 0; i < numElementTypes; ++i)
    if (names[i] == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

std::string typeString(ElementType type, std::span<const int64_t> shape) {
  std::string text(elementName(type));
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i)
      text += 'x';
    text += std::to_string(shape[i]);
  }
  return text += ']';
}

} // namespace bessemer::runtime
