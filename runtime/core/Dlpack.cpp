// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/Dlpack.h"

#include <cstring>
#include <memory>
#include <vector>

namespace bessemer::runtime {

namespace {
/// The DLPack type of each element type, in the order of the enumeration.
constexpr DLDataType types[numElementTypes] = {
    {kDLFloat, 32, 1}, {kDLFloat, 64, 1}, {kDLFloat, 16, 1}, {kDLBfloat, 16, 1},
    {kDLInt, 8, 1},    {kDLInt, 16, 1},   {kDLInt, 32, 1},   {kDLInt, 64, 1},
    {kDLUInt, 8, 1},   {kDLUInt, 16, 1},  {kDLUInt, 32, 1},  {kDLUInt, 64, 1},
    {kDLBool, 8, 1}};

/// More can only be a struct that nobody filled.
constexpr int32_t mostDimensions = 64;

bool isDense(const DLTensor &tensor) {
  if (!tensor.strides)
    return true;
  // What has no elements has no order; a negative size is refused by its shape.
  for (int32_t i = 0; i < tensor.ndim; ++i)
    if (tensor.shape[i] <= 0)
      return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    // The stride of a dimension of one is never used.
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return false;
    if (__builtin_mul_overflow(expected, tensor.shape[i], &expected))
      return false;
  }
  return true;
}
} // namespace

Expected<TensorView> fromDlpack(const DLTensor &tensor,
                                const std::string &what) {
  auto fail = [&](const std::string &message) {
    return Status::invalidInput(what + ": " + message);
  };
  if (tensor.device.device_type != kDLCPU)
    return fail("expected a tensor on the cpu, got one on device type " +
                std::to_string(int(tensor.device.device_type)));
  if (tensor.ndim < 0 || tensor.ndim > mostDimensions)
    return fail("expected 0 to " + std::to_string(mostDimensions) +
                " dimensions, got " + std::to_string(tensor.ndim));
  if (tensor.ndim > 0 && !tensor.shape)
    return fail("expected a shape, got NULL");
  for (unsigned i = 0; i < numElementTypes; ++i) {
    if (types[i].code != tensor.dtype.code ||
        types[i].bits != tensor.dtype.bits || tensor.dtype.lanes != 1)
      continue;
    if (!isDense(tensor))
      return fail("expected a dense row-major tensor, got strides");
    const auto *data = static_cast<const std::byte *>(tensor.data);
    return TensorView(static_cast<ElementType>(i),
                      {tensor.shape, size_t(tensor.ndim)},
                      data ? data + tensor.byte_offset : nullptr);
  }
  return fail("unknown element type (code " +
              std::to_string(tensor.dtype.code) + ", " +
              std::to_string(tensor.dtype.bits) + " bits, " +
              std::to_string(tensor.dtype.lanes) + " lanes)");
}

DLTensor toDlpack(const TensorView &view) {
  DLTensor tensor{};
  tensor.data = const_cast<void *>(view.data);
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(view.shape.size());
  tensor.dtype = types[static_cast<uint8_t>(view.type)];
  tensor.shape = const_cast<int64_t *>(view.shape.data());
  return tensor;
}

DLManagedTensor *copyToDlpack(const TensorView &view) {
  struct Copy {
    DLManagedTensor managed;
    std::vector<int64_t> shape;
    std::unique_ptr<std::byte[]> bytes;
  };
  auto copy = std::make_unique<Copy>();
  copy->shape.assign(view.shape.begin(), view.shape.end());
  copy->bytes = std::make_unique_for_overwrite<std::byte[]>(view.byteSize());
  if (view.byteSize())
    std::memcpy(copy->bytes.get(), view.data, view.byteSize());
  copy->managed.dl_tensor =
      toDlpack(TensorView(view.type, copy->shape, copy->bytes.get()));
  copy->managed.manager_ctx = copy.get();
  copy->managed.deleter = [](DLManagedTensor *self) {
    delete static_cast<Copy *>(self->manager_ctx);
  };
  return &copy.release()->managed;
}

} // namespace bessemer::runtime
