// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandCost.h"

#include "bessemer/Format/bessemer_generated.h"

#include <charconv>
#include <string_view>

namespace bessemer::tool {
namespace {

double bytesOf(const format::Slice &slice) {
  return static_cast<double>(slice.bytes());
}

/// A kernel is named after its op and the extents it iterates over, for a gemm
/// [batches,] rows, columns and depth: "gemm_64x10x784_add".
std::optional<double> gemmOperations(std::string_view name) {
  constexpr std::string_view family = "gemm_";
  if (!name.starts_with(family))
    return std::nullopt;
  const char *at = name.data() + family.size();
  const char *end = name.data() + name.size();
  double product = 2;
  while (true) {
    uint64_t extent = 0;
    auto [rest, error] = std::from_chars(at, end, extent);
    if (error != std::errc())
      return std::nullopt;
    product *= static_cast<double>(extent);
    if (rest == end || *rest != 'x')
      return product;
    at = rest + 1;
  }
}

double convolutionOperations(const format::Convolution &convolution) {
  double product = 2;
  for (int64_t extent : *convolution.y())
    product *= static_cast<double>(extent);
  // One output takes a window of the channels of its group: w is
  // [o, c / groups, kh, kw].
  for (unsigned i = 1; i < convolution.w()->size(); ++i)
    product *= static_cast<double>(convolution.w()->Get(i));
  return product;
}

} // namespace

CommandCost costOf(const format::Command &command,
                   const format::Program &table) {
  CommandCost cost;
  cost.name = format::EnumNameCommandBody(command.body_type());
  if (const format::Launch *launch = command.body_as_Launch()) {
    cost.name = table.kernels()->Get(launch->kernel())->name()->str();
    cost.operations = gemmOperations(cost.name);
    for (unsigned i = 0; launch->operands() && i < launch->operands()->size();
         ++i) {
      const format::Operand &operand = *launch->operands()->Get(i);
      if (operand.kind() == format::OperandKind::slice)
        cost.bytes += bytesOf(operand.slice());
    }
  } else if (const format::Library *library = command.body_as_Library()) {
    for (const format::Slice *slice : *library->operands())
      cost.bytes += bytesOf(*slice);
    if (const format::Convolution *convolution =
            library->descriptor_as_Convolution()) {
      cost.name = std::string("convolution ") +
                  format::EnumNameConvolutionKind(convolution->kind());
      cost.operations = convolutionOperations(*convolution);
    }
  } else if (const format::Copy *copy = command.body_as_Copy()) {
    cost.bytes = bytesOf(*copy->from()) + bytesOf(*copy->to());
  } else if (const format::Fill *fill = command.body_as_Fill()) {
    cost.bytes = bytesOf(*fill->to());
  }
  return cost;
}

} // namespace bessemer::tool
