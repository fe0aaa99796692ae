// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandCost.h"

#include "bessemer/Format/bessemer_generated.h"
#include "bessemer/Memory/Operations.h"

#include <charconv>
#include <string_view>
#include <vector>

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
  std::vector<uint64_t> extents;
  while (true) {
    uint64_t extent = 0;
    auto [rest, error] = std::from_chars(at, end, extent);
    if (error != std::errc())
      return std::nullopt;
    extents.push_back(extent);
    if (rest == end || *rest != 'x')
      return bessemer::gemmOperations(extents);
    at = rest + 1;
  }
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
      cost.operations =
          convolutionOperations(*convolution->y(), *convolution->w());
    }
  } else if (const format::Copy *copy = command.body_as_Copy()) {
    cost.bytes = bytesOf(*copy->from()) + bytesOf(*copy->to());
  } else if (const format::Fill *fill = command.body_as_Fill()) {
    cost.bytes = bytesOf(*fill->to());
  }
  return cost;
}

} // namespace bessemer::tool
