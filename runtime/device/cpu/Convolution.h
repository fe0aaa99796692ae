// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One convolution of oneDNN, planned once: the primitive, the layouts it
// chose, and the reorders between them and the caller's tensors.
#pragma once

#include "device/cpu/ConvolutionShape.h"
#include "device/cpu/OneDnn.h"

#include <cstddef>
#include <vector>

namespace bessemer::runtime {

class Convolution {
public:
  /// Plans for that many threads, which OpenMP's default must be as well, now
  /// and in each run. `blockedImages` overrules the rule, for measurements.
  static Expected<std::unique_ptr<Convolution>>
  create(const OneDnnStream &stream, const ConvolutionShape &shape, int threads,
         const bool *blockedImages = nullptr);

  const ConvolutionShape &shape() const { return whole; }
  /// Reordered operands and the primitive's own scratch.
  uint64_t scratchBytes() const { return scratchSize; }
  /// Gives it that much scratch, aligned to 64 bytes, which others may use
  /// between runs.
  Status bindScratch(std::byte *scratch);
  /// `operands` as the schema orders them: inputs, then the result.
  Status run(const OneDnnStream &stream, void *const *operands);

private:
  Convolution(const OneDnn &dnnl, const ConvolutionShape &shape)
      : dnnl(dnnl), whole(shape), chunk(shape) {}

  struct Operand {
    int argument = 0;
    bool isResult = false;
    /// Bytes from one chunk's elements to the next's; 0: the same in each.
    uint64_t chunkStride = 0;
    dnnl_memory_desc_t rowDesc, innerDesc;
    /// The caller's tensor, or a chunk of it: `rowDesc`.
    DnnlMemory row;
    void *boundTo = nullptr;
    /// The primitive's view of it, in scratch, when the layouts differ.
    DnnlMemory inner;
    uint64_t scratchOffset = 0;
    DnnlPrimitive reorder;
  };

  Status plan(int threads, bool blocked);
  bool createWinograd(bool blocked);
  Status createPrimitive(bool blocked, dnnl_alg_kind_t algorithm);
  Status addOperands();
  Status addOperand(int argument, const dnnl_memory_desc_t &rowDesc,
                    dnnl_query_t query, bool isResult = false);
  uint64_t chunkStride(int argument) const;
  uint64_t reserve(uint64_t bytes);

  Status bind(const OneDnnStream &stream, Operand &operand, void *address);
  Status reorder(const OneDnnStream &stream, Operand &operand);
  Status runChunk(const OneDnnStream &stream, void *const *addresses,
                  int64_t index);
  void addPartial(void *const *addresses);

  const OneDnn &dnnl;
  /// The convolution, and what one run of the primitive computes of it: some of
  /// the images, or all of them and some of the output channels.
  ConvolutionShape whole, chunk;
  int64_t chunks = 1;
  bool usesWinograd = false;
  std::vector<Operand> operands;
  DnnlAttr userScratch;
  DnnlPrimitiveDesc primitiveDesc;
  DnnlPrimitive primitive;
  DnnlMemory scratchpad;
  dnnl_memory_desc_t scratchpadDesc;
  uint64_t scratchpadOffset = 0;
  /// The weight gradient of the chunks after the first, to be added to it.
  DnnlMemory partial;
  uint64_t partialOffset = 0;
  uint64_t partialBytes = 0;
  std::byte *scratchBase = nullptr;
  uint64_t scratchSize = 0;
  /// Prebuilt arguments of the primitive, the result last of the operands.
  std::vector<dnnl_exec_arg_t> arguments;
};

} // namespace bessemer::runtime
