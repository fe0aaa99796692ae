// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cpu/Convolution.h"

#include <initializer_list>
#include <tuple>

namespace bessemer::runtime {

using Kind = format::ConvolutionKind;

namespace {
constexpr uint64_t cacheLine = 64;
/// Beyond it Winograd's algorithm is not worth its memory: with hundreds of
/// channels the transformed weights, for a weight gradient those of each
/// thread, are larger than all images.
constexpr uint64_t mostWinogradScratch = 32 << 20;
/// Output channels of one part of a weight gradient: whole blocks, enough of
/// them that transforming x for each part costs little.
constexpr int64_t leastOutputs = 64;

/// The descriptors of one convolution's tensors.
struct Descs {
  dnnl_memory_desc_t x, w, y, bias;
};

/// As the caller has them, or in whatever layout oneDNN likes.
Status describe(const OneDnn &dnnl, const ConvolutionShape &shape,
                bool anyImages, bool anyWeights, Descs &descs) {
  auto init = [&](dnnl_memory_desc_t &desc, std::initializer_list<int64_t> dims,
                  dnnl_format_tag_t tag) {
    dnnl_dims_t extents = {};
    std::copy(dims.begin(), dims.end(), extents);
    return dnnlStatus(dnnl.memory_desc_init_by_tag(&desc, int(dims.size()),
                                                   extents, dnnl_f32, tag),
                      "memory_desc_init_by_tag");
  };
  const auto &[x, w, y, groups] =
      std::tie(shape.x, shape.w, shape.y, shape.groups);
  auto image = [&](bool isBlocked) {
    return anyImages   ? dnnl_format_tag_any
           : isBlocked ? dnnl_nChw16c
                       : dnnl_nchw;
  };
  BESSEMER_RETURN_IF_ERROR(
      init(descs.x, {x[0], x[1], x[2], x[3]}, image(shape.blockedX)));
  BESSEMER_RETURN_IF_ERROR(
      init(descs.y, {y[0], y[1], y[2], y[3]}, image(shape.blockedY)));
  BESSEMER_RETURN_IF_ERROR(init(descs.bias, {w[0]}, dnnl_x));
  if (groups == 1)
    return init(descs.w, {w[0], w[1], w[2], w[3]},
                anyWeights       ? dnnl_format_tag_any
                : shape.blockedW ? dnnl_OIhw16i16o
                                 : dnnl_oihw);
  return init(descs.w, {groups, w[0] / groups, w[1], w[2], w[3]},
              anyWeights       ? dnnl_format_tag_any
              : shape.blockedW ? dnnl_gOIhw16i16o
                               : dnnl_goihw);
}
} // namespace

uint64_t Convolution::reserve(uint64_t bytes) {
  uint64_t offset = scratchSize;
  scratchSize += (bytes + cacheLine - 1) / cacheLine * cacheLine;
  return offset;
}

Expected<std::unique_ptr<Convolution>>
Convolution::create(const OneDnnStream &stream, const ConvolutionShape &shape,
                    int threads, const bool *blockedImages) {
  std::unique_ptr<Convolution> result(new Convolution(stream.library(), shape));
  BESSEMER_RETURN_IF_ERROR(result->plan(
      threads, blockedImages ? *blockedImages : prefersBlockedImages(shape)));
  return result;
}

Status Convolution::plan(int threads, bool blocked) {
  userScratch = DnnlAttr(dnnl);
  BESSEMER_RETURN_IF_ERROR(dnnlStatus(
      dnnl.primitive_attr_create(userScratch.out()), "primitive_attr_create"));
  BESSEMER_RETURN_IF_ERROR(
      dnnlStatus(dnnl.primitive_attr_set_scratchpad_mode(
                     userScratch.get(), dnnl_scratchpad_mode_user),
                 "primitive_attr_set_scratchpad_mode"));
  // Its parts of the output channels are not those of groups.
  usesWinograd = whole.winograd && whole.groups == 1 && createWinograd(blocked);
  if (!usesWinograd)
    BESSEMER_RETURN_IF_ERROR(createPrimitive(blocked, dnnl_convolution_direct));
  BESSEMER_RETURN_IF_ERROR(addOperands());
  // What one image takes in the layouts that oneDNN chooses for the batch.
  uint64_t bytesPerImage = 0;
  for (const Operand &operand : operands)
    if (operand.inner && operand.chunkStride)
      bytesPerImage +=
          dnnl.memory_desc_get_size(&operand.innerDesc) / whole.x[0];
  // Winograd's algorithm transforms the weights in each run.
  int64_t images = usesWinograd || !bytesPerImage
                       ? whole.x[0]
                       : chooseImages(whole, bytesPerImage, threads);
  if (images != whole.x[0]) {
    chunks = whole.x[0] / images;
    chunk.x[0] = chunk.y[0] = images;
    operands.clear();
    scratchSize = 0;
    BESSEMER_RETURN_IF_ERROR(createPrimitive(blocked, dnnl_convolution_direct));
    BESSEMER_RETURN_IF_ERROR(addOperands());
  }
  for (const Operand &operand : operands)
    arguments.push_back({operand.argument, operand.inner ? operand.inner.get()
                                                         : operand.row.get()});

  scratchpad = DnnlMemory(dnnl);
  scratchpadDesc = *dnnl.primitive_desc_query_md(primitiveDesc.get(),
                                                 dnnl_query_scratchpad_md, 0);
  scratchpadOffset = reserve(dnnl.memory_desc_get_size(&scratchpadDesc));
  if (whole.kind != Kind::weight_gradient || chunk.x[0] == whole.x[0])
    return {};
  const Operand &result = operands.back();
  partialBytes = dnnl.memory_desc_get_size(&result.innerDesc);
  partialOffset = reserve(partialBytes);
  partial = DnnlMemory(dnnl);
  return dnnlStatus(dnnl.memory_create(partial.out(), &result.innerDesc,
                                       dnnl.engine, DNNL_MEMORY_NONE),
                    "memory_create");
}

/// Plans Winograd's algorithm where the library has it, which not every
/// processor nor every shape does, and its scratch is small enough. That of a
/// weight gradient shrinks with the output channels computed at a time.
bool Convolution::createWinograd(bool blocked) {
  const int64_t outputs = whole.w[0];
  int64_t parts = 1;
  do {
    chunk.w[0] = chunk.y[1] = outputs / parts;
    if (!createPrimitive(blocked, dnnl_convolution_winograd).ok())
      break;
    if (dnnl.memory_desc_get_size(dnnl.primitive_desc_query_md(
            primitiveDesc.get(), dnnl_query_scratchpad_md, 0)) <=
        mostWinogradScratch) {
      chunks = parts;
      return true;
    }
    parts *= 2;
  } while (whole.kind == Kind::weight_gradient &&
           outputs % (parts * leastOutputs) == 0);
  chunk = whole;
  return false;
}

/// The primitive for `chunk`.
Status Convolution::createPrimitive(bool blocked, dnnl_alg_kind_t algorithm) {
  Descs asked;
  BESSEMER_RETURN_IF_ERROR(describe(dnnl, chunk, blocked, true, asked));
  const dnnl_dims_t strides = {chunk.strides[0], chunk.strides[1]};
  // oneDNN counts the gaps between taps.
  const dnnl_dims_t dilates = {chunk.dilations[0] - 1, chunk.dilations[1] - 1};
  const dnnl_dims_t before = {chunk.pads[0], chunk.pads[1]};
  const dnnl_dims_t after = {chunk.pads[2], chunk.pads[3]};

  dnnl_convolution_desc_t desc;
  BESSEMER_RETURN_IF_ERROR(
      dnnlStatus(dnnl.dilated_convolution_forward_desc_init(
                     &desc, dnnl_forward_training, algorithm, &asked.x,
                     &asked.w, chunk.hasBias ? &asked.bias : nullptr, &asked.y,
                     strides, dilates, before, after),
                 "convolution_forward_desc_init"));
  DnnlPrimitiveDesc forward(dnnl);
  BESSEMER_RETURN_IF_ERROR(dnnlStatus(
      dnnl.primitive_desc_create(forward.out(), &desc, userScratch.get(),
                                 dnnl.engine, nullptr),
      "primitive_desc_create (forward)"));
  primitiveDesc = DnnlPrimitiveDesc(dnnl);
  primitive = DnnlPrimitive(dnnl);
  if (chunk.kind == Kind::forward) {
    primitiveDesc = std::move(forward);
  } else {
    // The gradients' descriptors take the forward one as a hint.
    BESSEMER_RETURN_IF_ERROR(
        chunk.kind == Kind::input_gradient
            ? dnnlStatus(dnnl.dilated_convolution_backward_data_desc_init(
                             &desc, algorithm, &asked.x, &asked.w, &asked.y,
                             strides, dilates, before, after),
                         "convolution_backward_data_desc_init")
            : dnnlStatus(dnnl.dilated_convolution_backward_weights_desc_init(
                             &desc, algorithm, &asked.x, &asked.w, nullptr,
                             &asked.y, strides, dilates, before, after),
                         "convolution_backward_weights_desc_init"));
    BESSEMER_RETURN_IF_ERROR(
        dnnlStatus(dnnl.primitive_desc_create(primitiveDesc.out(), &desc,
                                              userScratch.get(), dnnl.engine,
                                              forward.get()),
                   "primitive_desc_create"));
  }
  return dnnlStatus(dnnl.primitive_create(primitive.out(), primitiveDesc.get()),
                    "primitive_create");
}

/// The operands in the schema's order.
Status Convolution::addOperands() {
  Descs row;
  BESSEMER_RETURN_IF_ERROR(describe(dnnl, chunk, false, false, row));
  if (chunk.w[0] != whole.w[0]) {
    // Channels of every image, which lie between others.
    Descs all;
    BESSEMER_RETURN_IF_ERROR(describe(dnnl, whole, false, false, all));
    const dnnl_dims_t none = {};
    BESSEMER_RETURN_IF_ERROR(dnnlStatus(
        dnnl.memory_desc_init_submemory(&row.y, &all.y, row.y.dims, none),
        "memory_desc_init_submemory"));
  }
  operands.reserve(4);
  switch (whole.kind) {
  case Kind::forward:
    BESSEMER_RETURN_IF_ERROR(
        addOperand(DNNL_ARG_SRC, row.x, dnnl_query_src_md));
    BESSEMER_RETURN_IF_ERROR(
        addOperand(DNNL_ARG_WEIGHTS, row.w, dnnl_query_weights_md));
    if (whole.hasBias)
      BESSEMER_RETURN_IF_ERROR(
          addOperand(DNNL_ARG_BIAS, row.bias, dnnl_query_undef));
    return addOperand(DNNL_ARG_DST, row.y, dnnl_query_dst_md, true);
  case Kind::input_gradient:
    BESSEMER_RETURN_IF_ERROR(
        addOperand(DNNL_ARG_DIFF_DST, row.y, dnnl_query_diff_dst_md));
    BESSEMER_RETURN_IF_ERROR(
        addOperand(DNNL_ARG_WEIGHTS, row.w, dnnl_query_weights_md));
    return addOperand(DNNL_ARG_DIFF_SRC, row.x, dnnl_query_diff_src_md, true);
  case Kind::weight_gradient:
    BESSEMER_RETURN_IF_ERROR(
        addOperand(DNNL_ARG_SRC, row.x, dnnl_query_src_md));
    BESSEMER_RETURN_IF_ERROR(
        addOperand(DNNL_ARG_DIFF_DST, row.y, dnnl_query_diff_dst_md));
    return addOperand(DNNL_ARG_DIFF_WEIGHTS, row.w, dnnl_query_diff_weights_md,
                      true);
  }
  return {};
}

uint64_t Convolution::chunkStride(int argument) const {
  auto bytes = [](const std::array<int64_t, 4> &shape) {
    return sizeof(float) * uint64_t(shape[0] * shape[1] * shape[2] * shape[3]);
  };
  const bool isX = argument == DNNL_ARG_SRC || argument == DNNL_ARG_DIFF_SRC;
  const bool isY = argument == DNNL_ARG_DST || argument == DNNL_ARG_DIFF_DST;
  if (chunk.w[0] == whole.w[0])
    return isX ? bytes(chunk.x) : isY ? bytes(chunk.y) : 0;
  // Parts of the output channels; in an image those lie together.
  return isX ? 0 : isY ? bytes(chunk.y) / uint64_t(chunk.y[0]) : bytes(chunk.w);
}

/// Memory objects and, where the primitive chose another layout, the reorder.
Status Convolution::addOperand(int argument, const dnnl_memory_desc_t &rowDesc,
                               dnnl_query_t query, bool isResult) {
  Operand &operand = operands.emplace_back();
  operand.argument = argument;
  operand.isResult = isResult;
  operand.rowDesc = rowDesc;
  operand.chunkStride = chunkStride(argument);
  operand.row = DnnlMemory(dnnl);
  BESSEMER_RETURN_IF_ERROR(
      dnnlStatus(dnnl.memory_create(operand.row.out(), &operand.rowDesc,
                                    dnnl.engine, DNNL_MEMORY_NONE),
                 "memory_create"));
  // A bias has one layout only.
  operand.innerDesc =
      query == dnnl_query_undef
          ? operand.rowDesc
          : *dnnl.primitive_desc_query_md(primitiveDesc.get(), query, 0);
  if (dnnl.memory_desc_equal(&operand.innerDesc, &operand.rowDesc))
    return {};
  operand.scratchOffset =
      reserve(dnnl.memory_desc_get_size(&operand.innerDesc));
  operand.inner = DnnlMemory(dnnl);
  BESSEMER_RETURN_IF_ERROR(
      dnnlStatus(dnnl.memory_create(operand.inner.out(), &operand.innerDesc,
                                    dnnl.engine, DNNL_MEMORY_NONE),
                 "memory_create"));
  const auto *from = isResult ? &operand.innerDesc : &operand.rowDesc;
  const auto *to = isResult ? &operand.rowDesc : &operand.innerDesc;
  // Without the user's scratch: reorders of f32 need none.
  DnnlPrimitiveDesc desc(dnnl);
  BESSEMER_RETURN_IF_ERROR(
      dnnlStatus(dnnl.reorder_primitive_desc_create(
                     desc.out(), from, dnnl.engine, to, dnnl.engine, nullptr),
                 "reorder_primitive_desc_create"));
  operand.reorder = DnnlPrimitive(dnnl);
  return dnnlStatus(dnnl.primitive_create(operand.reorder.out(), desc.get()),
                    "primitive_create (reorder)");
}

Status Convolution::bindScratch(std::byte *scratch) {
  scratchBase = scratch;
  auto bindTo = [&](const DnnlMemory &memory, uint64_t offset) {
    return dnnlStatus(
        dnnl.memory_set_data_handle_v2(memory.get(), scratch + offset, nullptr),
        "memory_set_data_handle");
  };
  for (Operand &operand : operands)
    if (operand.inner)
      BESSEMER_RETURN_IF_ERROR(bindTo(operand.inner, operand.scratchOffset));
  if (partial)
    BESSEMER_RETURN_IF_ERROR(bindTo(partial, partialOffset));
  if (dnnl.memory_desc_get_size(&scratchpadDesc) == 0)
    return {};
  BESSEMER_RETURN_IF_ERROR(
      dnnlStatus(dnnl.memory_create(scratchpad.out(), &scratchpadDesc,
                                    dnnl.engine, scratch + scratchpadOffset),
                 "memory_create (scratch)"));
  arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad.get()});
  return {};
}

Status Convolution::bind(const OneDnnStream &stream, Operand &operand,
                         void *address) {
  if (operand.boundTo == address)
    return {};
  operand.boundTo = address;
  return dnnlStatus(
      dnnl.memory_set_data_handle_v2(operand.row.get(), address, stream.get()),
      "memory_set_data_handle");
}

Status Convolution::reorder(const OneDnnStream &stream, Operand &operand) {
  if (!operand.reorder)
    return {};
  dnnl_memory_t row = operand.row.get(), inner = operand.inner.get();
  const dnnl_exec_arg_t pair[] = {
      {DNNL_ARG_FROM, operand.isResult ? inner : row},
      {DNNL_ARG_TO, operand.isResult ? row : inner}};
  return dnnlStatus(
      dnnl.primitive_execute(operand.reorder.get(), stream.get(), 2, pair),
      "reorder");
}

Status Convolution::runChunk(const OneDnnStream &stream, void *const *addresses,
                             int64_t index) {
  for (size_t i = 0; i < operands.size(); ++i) {
    Operand &operand = operands[i];
    // What all chunks share stays what the first made of it.
    if (index > 0 && !operand.chunkStride)
      continue;
    BESSEMER_RETURN_IF_ERROR(bind(stream, operand,
                                  static_cast<std::byte *>(addresses[i]) +
                                      operand.chunkStride * uint64_t(index)));
    if (!operand.isResult)
      BESSEMER_RETURN_IF_ERROR(reorder(stream, operand));
  }
  dnnl_memory_t &result = arguments[operands.size() - 1].memory;
  dnnl_memory_t first = result;
  if (partial && index > 0)
    result = partial.get();
  Status status = dnnlStatus(
      dnnl.primitive_execute(primitive.get(), stream.get(),
                             int(arguments.size()), arguments.data()),
      "convolution");
  result = first;
  return status;
}

/// Adds the last chunk's weight gradient, element by element in the
/// primitive's own layout.
void Convolution::addPartial(void *const *addresses) {
  const Operand &result = operands.back();
  auto *sum = static_cast<float *>(
      result.inner ? static_cast<void *>(scratchBase + result.scratchOffset)
                   : addresses[operands.size() - 1]);
  const auto *part =
      reinterpret_cast<const float *>(scratchBase + partialOffset);
  for (uint64_t i = 0; i < partialBytes / sizeof(float); ++i)
    sum[i] += part[i];
}

Status Convolution::run(const OneDnnStream &stream, void *const *addresses) {
  Operand &result = operands.back();
  for (int64_t index = 0; index < chunks; ++index) {
    BESSEMER_RETURN_IF_ERROR(runChunk(stream, addresses, index));
    if (partial && index > 0)
      addPartial(addresses);
    if (result.chunkStride || index + 1 == chunks)
      BESSEMER_RETURN_IF_ERROR(reorder(stream, result));
  }
  return {};
}

} // namespace bessemer::runtime
