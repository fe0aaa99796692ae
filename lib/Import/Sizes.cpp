// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of tensors as files give them: any 64-bit numbers.

#include "Sizes.h"
#include "llvm/ADT/STLExtras.h"

using namespace bessemer;

/// Buffers of that many elements exceed every machine; below it, sums and
/// products of a few sizes and offsets do not overflow.
static constexpr int64_t largestTensor = int64_t(1) << 40;

int64_t ingest::product(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  bool isEmpty = false;
  for (int64_t size : shape) {
    isEmpty |= size == 0;
    if (size < 0 || (size > 0 && __builtin_mul_overflow(count, size, &count)) ||
        count > largestProduct)
      return largestProduct;
  }
  return isEmpty ? 0 : count;
}

std::string ingest::shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::string ingest::sizeProblem(llvm::ArrayRef<int64_t> shape) {
  if (llvm::any_of(shape, [](int64_t size) { return size < 1; }))
    return "expected sizes of at least 1, got " + shapeText(shape);
  if (product(shape) > largestTensor)
    return "expected at most 2^40 elements, got " + shapeText(shape);
  return {};
}
