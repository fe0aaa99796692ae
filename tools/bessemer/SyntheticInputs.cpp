// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SyntheticInputs.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace bessemer::tool {
namespace {

using namespace runtime;
using Engine = std::mt19937_64;

template <typename T, typename Draw>
void fillWith(std::vector<std::byte> &bytes, Draw draw) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value = static_cast<T>(draw());
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

template <typename T>
void fillWhole(std::vector<std::byte> &bytes, int64_t below, Engine &engine) {
  // As large as the type holds.
  uint64_t most = std::min<uint64_t>(uint64_t(below) - 1,
                                     uint64_t(std::numeric_limits<T>::max()));
  fillWith<T>(bytes, [&] { return engine() % (most + 1); });
}

template <typename T>
void fillReal(std::vector<std::byte> &bytes, bool labels, Engine &engine) {
  std::normal_distribution<T> normal;
  std::uniform_real_distribution<T> uniform;
  fillWith<T>(bytes, [&] { return labels ? uniform(engine) : normal(engine); });
}

void fill(std::vector<std::byte> &bytes, ElementType type, bool labels,
          int64_t below, Engine &engine) {
  switch (type) {
  case ElementType::F32:
    return fillReal<float>(bytes, labels, engine);
  case ElementType::F64:
    return fillReal<double>(bytes, labels, engine);
  case ElementType::F16:
  case ElementType::BF16:
    return; // Zeros: no program takes them yet.
  case ElementType::I8:
    return fillWhole<int8_t>(bytes, below, engine);
  case ElementType::I16:
    return fillWhole<int16_t>(bytes, below, engine);
  case ElementType::I32:
    return fillWhole<int32_t>(bytes, below, engine);
  case ElementType::I64:
    return fillWhole<int64_t>(bytes, below, engine);
  case ElementType::U8:
    return fillWhole<uint8_t>(bytes, below, engine);
  case ElementType::U16:
    return fillWhole<uint16_t>(bytes, below, engine);
  case ElementType::U32:
    return fillWhole<uint32_t>(bytes, below, engine);
  case ElementType::U64:
    return fillWhole<uint64_t>(bytes, below, engine);
  case ElementType::Bool:
    return fillWhole<uint8_t>(bytes, 2, engine);
  }
}

/// Whole numbers of the input are drawn below this one.
int64_t limitOf(const ValueInfo &input, std::optional<int64_t> below) {
  if (input.ranges.empty())
    return below.value_or(2);
  int64_t limit = std::numeric_limits<int64_t>::max();
  if (below && input.name != "labels")
    limit = *below;
  for (const ValueRange &range : input.ranges)
    if (range.most < limit)
      limit = std::max<int64_t>(range.most, 0) + 1;
  return limit;
}

} // namespace

SyntheticInputs::SyntheticInputs(const FunctionInfo &function,
                                 std::optional<int64_t> below) {
  Engine engine(0);
  for (const ValueInfo &input : function.inputs) {
    std::vector<std::byte> &bytes = buffers.emplace_back(input.type.byteSize());
    fill(bytes, input.type.element, input.name == "labels",
         limitOf(input, below), engine);
    views.push_back({input.name, {input.type, bytes.data()}});
  }
}

} // namespace bessemer::tool
