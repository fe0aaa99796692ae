// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One convolution of oneDNN, planned once: the primitive, the layouts it
// chose, and the reorders between them and the caller's row-major tensors.
#pragma once

#include "bessemer/Format/bessemer_generated.h"
#include "device/cpu/OneDnn.h"

#include <array>
#include <cstddef>
#include <vector>

namespace bessemer::runtime {

/// What is computed; equal shapes share a plan.
struct ConvolutionShape {
  explicit ConvolutionShape(const format::Convolution &description);

  format::ConvolutionKind kind;
  bool hasBias;
  std::array<int64_t, 4> x, w, y;
  /// Dilations count from 1, as in ONNX.
  std::array<int64_t, 2> strides, dilations;
  /// Top, left, bottom, right.
  std::array<int64_t, 4> pads;
  int64_t groups;

  bool operator==(const ConvolutionShape &) const = default;
};

/// In which layout the primitive meets the images.
enum class ImageLayout {
  /// By a rule on the shape; never by measuring, as that would change results
  /// from one run to the next.
  Choose,
  /// As they are, row-major.
  Row,
  /// In the layout that oneDNN prefers, reordered before and after.
  Blocked
};

class Convolution {
public:
  /// Plans for the current OpenMP thread count.
  static Expected<std::unique_ptr<Convolution>>
  create(const OneDnnStream &stream, const ConvolutionShape &shape,
         ImageLayout layout = ImageLayout::Choose);

  const ConvolutionShape &shape() const { return description; }
  /// Reordered operands and the primitive's own scratch.
  uint64_t scratchBytes() const { return scratchSize; }
  /// Gives it that much scratch, aligned to 64 bytes, which others may use
  /// between runs.
  Status bindScratch(std::byte *scratch);
  /// `operands` as the schema orders them: inputs, then the result.
  Status run(const OneDnnStream &stream, void *const *operands);

private:
  Convolution(const OneDnn &dnnl, const ConvolutionShape &shape)
      : dnnl(dnnl), description(shape) {}

  struct Operand {
    int argument;
    bool isResult = false;
    dnnl_memory_desc_t rowDesc, innerDesc;
    /// The caller's tensor.
    DnnlMemory row;
    void *boundTo = nullptr;
    /// The primitive's view of it, in scratch, when the layouts differ.
    DnnlMemory inner;
    uint64_t scratchOffset = 0;
    DnnlPrimitive reorder;
  };

  Status plan(ImageLayout layout);
  Status planOperand(Operand &operand, dnnl_query_t query);
  Status createPrimitive(const dnnl_convolution_desc_t &desc,
                         const_dnnl_primitive_desc_t forward);
  uint64_t reserve(uint64_t bytes);
  Status runReorder(const OneDnnStream &stream, Operand &operand);

  const OneDnn &dnnl;
  ConvolutionShape description;
  std::vector<Operand> operands;
  DnnlAttr userScratch;
  DnnlPrimitiveDesc primitiveDesc;
  DnnlPrimitive primitive;
  DnnlMemory scratchpad;
  dnnl_memory_desc_t scratchpadDesc;
  uint64_t scratchpadOffset = 0;
  uint64_t scratchSize = 0;
  /// Prebuilt arguments of the primitive.
  std::vector<dnnl_exec_arg_t> arguments;
};

} // namespace bessemer::runtime
