// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cpu/Convolution.h"

#include <algorithm>
#include <initializer_list>
#include <tuple>

namespace bessemer::runtime {

namespace {
constexpr uint64_t cacheLine = 64;

template <size_t n>
std::array<int64_t, n> toArray(const flatbuffers::Vector<int64_t> *values) {
  std::array<int64_t, n> result{};
  for (size_t i = 0; i < n; ++i)
    result[i] = values->Get(flatbuffers::uoffset_t(i));
  return result;
}

/// The descriptors of one convolution's tensors, in one kind of layout.
struct Descs {
  dnnl_memory_desc_t x, w, y, bias;
};

Status describe(const OneDnn &dnnl, const ConvolutionShape &shape,
                bool imagesAny, bool weightsAny, Descs &descs) {
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
  auto images = imagesAny ? dnnl_format_tag_any : dnnl_nchw;
  BESSEMER_RETURN_IF_ERROR(init(descs.x, {x[0], x[1], x[2], x[3]}, images));
  BESSEMER_RETURN_IF_ERROR(init(descs.y, {y[0], y[1], y[2], y[3]}, images));
  BESSEMER_RETURN_IF_ERROR(init(descs.bias, {w[0]}, dnnl_x));
  if (groups == 1)
    return init(descs.w, {w[0], w[1], w[2], w[3]},
                weightsAny ? dnnl_format_tag_any : dnnl_oihw);
  return init(descs.w, {groups, w[0] / groups, w[1], w[2], w[3]},
              weightsAny ? dnnl_format_tag_any : dnnl_goihw);
}

bool prefersBlocked(const ConvolutionShape &) { return true; }
} // namespace

ConvolutionShape::ConvolutionShape(const format::Convolution &description)
    : kind(description.kind()),
      hasBias(description.kind() == format::ConvolutionKind::forward &&
              description.has_bias()),
      x(toArray<4>(description.x())), w(toArray<4>(description.w())),
      y(toArray<4>(description.y())),
      strides(toArray<2>(description.strides())),
      dilations(toArray<2>(description.dilations())),
      pads(toArray<4>(description.pads())), groups(description.groups()) {}

uint64_t Convolution::reserve(uint64_t bytes) {
  uint64_t offset = scratchSize;
  scratchSize += (bytes + cacheLine - 1) / cacheLine * cacheLine;
  return offset;
}

Expected<std::unique_ptr<Convolution>>
Convolution::create(const OneDnnStream &stream, const ConvolutionShape &shape,
                    ImageLayout layout) {
  std::unique_ptr<Convolution> result(
      new Convolution(stream.library(), shape));
  BESSEMER_RETURN_IF_ERROR(result->plan(layout));
  return result;
}

Status Convolution::createPrimitive(const dnnl_convolution_desc_t &desc,
                                    const_dnnl_primitive_desc_t forward) {
  BESSEMER_RETURN_IF_ERROR(dnnlStatus(
      dnnl.primitive_desc_create(primitiveDesc.out(), &desc, userScratch.get(),
                                 dnnl.engine, forward),
      "primitive_desc_create"));
  return dnnlStatus(
      dnnl.primitive_create(primitive.out(), primitiveDesc.get()),
      "primitive_create");
}

Status Convolution::plan(ImageLayout layout) {
  using Kind = format::ConvolutionKind;
  const ConvolutionShape &shape = description;
  if (layout == ImageLayout::Choose)
    layout = prefersBlocked(shape) ? ImageLayout::Blocked : ImageLayout::Row;

  userScratch = DnnlAttr(dnnl);
  primitiveDesc = DnnlPrimitiveDesc(dnnl);
  primitive = DnnlPrimitive(dnnl);
  scratchpad = DnnlMemory(dnnl);
  BESSEMER_RETURN_IF_ERROR(
      dnnlStatus(dnnl.primitive_attr_create(userScratch.out()),
                 "primitive_attr_create"));
  BESSEMER_RETURN_IF_ERROR(
      dnnlStatus(dnnl.primitive_attr_set_scratchpad_mode(
                     userScratch.get(), dnnl_scratchpad_mode_user),
                 "primitive_attr_set_scratchpad_mode"));

  Descs asked, row;
  BESSEMER_RETURN_IF_ERROR(
      describe(dnnl, shape, layout == ImageLayout::Blocked, true, asked));
  BESSEMER_RETURN_IF_ERROR(describe(dnnl, shape, false, false, row));
  const dnnl_dims_t strides = {shape.strides[0], shape.strides[1]};
  // oneDNN counts the gaps between taps.
  const dnnl_dims_t dilates = {shape.dilations[0] - 1, shape.dilations[1] - 1};
  const dnnl_dims_t before = {shape.pads[0], shape.pads[1]};
  const dnnl_dims_t after = {shape.pads[2], shape.pads[3]};
  const auto algorithm = dnnl_convolution_direct;

  dnnl_convolution_desc_t desc;
  BESSEMER_RETURN_IF_ERROR(dnnlStatus(
      dnnl.dilated_convolution_forward_desc_init(
          &desc, dnnl_forward_training, algorithm, &asked.x, &asked.w,
          shape.hasBias ? &asked.bias : nullptr, &asked.y, strides, dilates,
          before, after),
      "convolution_forward_desc_init"));

  auto addOperand = [&](int argument, const dnnl_memory_desc_t &rowDesc,
                        dnnl_query_t query, bool isResult = false) {
    Operand &operand = operands.emplace_back();
    operand.argument = argument;
    operand.isResult = isResult;
    operand.rowDesc = rowDesc;
    return planOperand(operand, query);
  };
  operands.reserve(4);
  if (shape.kind == Kind::forward) {
    BESSEMER_RETURN_IF_ERROR(createPrimitive(desc, nullptr));
    BESSEMER_RETURN_IF_ERROR(
        addOperand(DNNL_ARG_SRC, row.x, dnnl_query_src_md));
    BESSEMER_RETURN_IF_ERROR(
        addOperand(DNNL_ARG_WEIGHTS, row.w, dnnl_query_weights_md));
    if (shape.hasBias)
      BESSEMER_RETURN_IF_ERROR(
          addOperand(DNNL_ARG_BIAS, row.bias, dnnl_query_undef));
    BESSEMER_RETURN_IF_ERROR(
        addOperand(DNNL_ARG_DST, row.y, dnnl_query_dst_md, true));
  } else {
    // The gradients' descriptors take the forward one as a hint.
    DnnlPrimitiveDesc forward(dnnl);
    BESSEMER_RETURN_IF_ERROR(dnnlStatus(
        dnnl.primitive_desc_create(forward.out(), &desc, userScratch.get(),
                                   dnnl.engine, nullptr),
        "primitive_desc_create (forward)"));
    if (shape.kind == Kind::input_gradient) {
      BESSEMER_RETURN_IF_ERROR(dnnlStatus(
          dnnl.dilated_convolution_backward_data_desc_init(
              &desc, algorithm, &asked.x, &asked.w, &asked.y, strides, dilates,
              before, after),
          "convolution_backward_data_desc_init"));
      BESSEMER_RETURN_IF_ERROR(createPrimitive(desc, forward.get()));
      BESSEMER_RETURN_IF_ERROR(
          addOperand(DNNL_ARG_DIFF_DST, row.y, dnnl_query_diff_dst_md));
      BESSEMER_RETURN_IF_ERROR(
          addOperand(DNNL_ARG_WEIGHTS, row.w, dnnl_query_weights_md));
      BESSEMER_RETURN_IF_ERROR(
          addOperand(DNNL_ARG_DIFF_SRC, row.x, dnnl_query_diff_src_md, true));
    } else {
      BESSEMER_RETURN_IF_ERROR(dnnlStatus(
          dnnl.dilated_convolution_backward_weights_desc_init(
              &desc, algorithm, &asked.x, &asked.w, nullptr, &asked.y, strides,
              dilates, before, after),
          "convolution_backward_weights_desc_init"));
      BESSEMER_RETURN_IF_ERROR(createPrimitive(desc, forward.get()));
      BESSEMER_RETURN_IF_ERROR(
          addOperand(DNNL_ARG_SRC, row.x, dnnl_query_src_md));
      BESSEMER_RETURN_IF_ERROR(
          addOperand(DNNL_ARG_DIFF_DST, row.y, dnnl_query_diff_dst_md));
      BESSEMER_RETURN_IF_ERROR(addOperand(DNNL_ARG_DIFF_WEIGHTS, row.w,
                                          dnnl_query_diff_weights_md, true));
    }
  }

  scratchpadDesc = *dnnl.primitive_desc_query_md(
      primitiveDesc.get(), dnnl_query_scratchpad_md, 0);
  scratchpadOffset = reserve(dnnl.memory_desc_get_size(&scratchpadDesc));
  for (const Operand &operand : operands)
    arguments.push_back({operand.argument, operand.inner ? operand.inner.get()
                                                         : operand.row.get()});
  return {};
}

/// Memory objects and, where the primitive chose another layout, the reorder.
Status Convolution::planOperand(Operand &operand, dnnl_query_t query) {
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
  const auto *from = operand.isResult ? &operand.innerDesc : &operand.rowDesc;
  const auto *to = operand.isResult ? &operand.rowDesc : &operand.innerDesc;
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
  for (Operand &operand : operands)
    if (operand.inner)
      BESSEMER_RETURN_IF_ERROR(
          dnnlStatus(dnnl.memory_set_data_handle_v2(
                         operand.inner.get(), scratch + operand.scratchOffset,
                         nullptr),
                     "memory_set_data_handle"));
  if (dnnl.memory_desc_get_size(&scratchpadDesc) == 0)
    return {};
  BESSEMER_RETURN_IF_ERROR(
      dnnlStatus(dnnl.memory_create(scratchpad.out(), &scratchpadDesc,
                                    dnnl.engine, scratch + scratchpadOffset),
                 "memory_create (scratch)"));
  arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad.get()});
  return {};
}

Status Convolution::runReorder(const OneDnnStream &stream, Operand &operand) {
  dnnl_memory_t row = operand.row.get(), inner = operand.inner.get();
  const dnnl_exec_arg_t pair[] = {
      {DNNL_ARG_FROM, operand.isResult ? inner : row},
      {DNNL_ARG_TO, operand.isResult ? row : inner}};
  return dnnlStatus(
      dnnl.primitive_execute(operand.reorder.get(), stream.get(), 2, pair),
      "reorder");
}

Status Convolution::run(const OneDnnStream &stream, void *const *addresses) {
  for (size_t i = 0; i < operands.size(); ++i) {
    Operand &operand = operands[i];
    if (operand.boundTo != addresses[i]) {
      BESSEMER_RETURN_IF_ERROR(dnnlStatus(
          dnnl.memory_set_data_handle_v2(operand.row.get(), addresses[i],
                                         stream.get()),
          "memory_set_data_handle"));
      operand.boundTo = addresses[i];
    }
    if (operand.reorder && !operand.isResult)
      BESSEMER_RETURN_IF_ERROR(runReorder(stream, operand));
  }
  BESSEMER_RETURN_IF_ERROR(
      dnnlStatus(dnnl.primitive_execute(primitive.get(), stream.get(),
                                        int(arguments.size()),
                                        arguments.data()),
                 "convolution"));
  if (operands.back().reorder)
    return runReorder(stream, operands.back());
  return {};
}

} // namespace bessemer::runtime
