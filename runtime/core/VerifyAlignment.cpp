// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FlatBuffers' verifier checks where a vector's length lies but not where its
// elements do, and reading a misaligned one is undefined. So every vector of
// eight-byte elements is checked here.
#include "core/VerifyArtifact.h"

namespace bessemer::runtime {

namespace {
template <typename T> bool aligned(const flatbuffers::Vector<T> *vector) {
  return !vector || uintptr_t(vector->Data()) % 8 == 0;
}

/// True when `check` holds for all elements; absent vectors have none.
template <typename V, typename F> bool all(const V *vector, F check) {
  for (size_t i = 0; vector && i < vector->size(); ++i)
    if (!check(*vector->Get(i)))
      return false;
  return true;
}

bool alignedType(const format::TensorType *type) {
  return !type || aligned(type->shape());
}

bool alignedValue(const format::Value &value) {
  return alignedType(value.type()) &&
         all(value.ranges(), [](const format::ValueRange &range) {
           return aligned(range.exempt());
         });
}

bool alignedCommand(const format::Command &command) {
  if (const auto *launch = command.body_as_Launch())
    return aligned(launch->operands());
  // FlatBuffers' verifier has bounded how deep loops lie in each other.
  if (const auto *repeat = command.body_as_Repeat())
    return all(repeat->commands(), alignedCommand);
  const auto *library = command.body_as_Library();
  if (!library)
    return true;
  const auto *convolution = library->descriptor_as_Convolution();
  return aligned(library->operands()) &&
         (!convolution ||
          (aligned(convolution->x()) && aligned(convolution->w()) &&
           aligned(convolution->y()) && aligned(convolution->strides()) &&
           aligned(convolution->dilations()) && aligned(convolution->pads())));
}
} // namespace

bool vectorsAligned(const format::Program &program) {
  return aligned(program.blobs()) &&
         all(program.states(),
             [](const format::State &state) {
               return alignedType(state.type());
             }) &&
         all(program.functions(),
             [](const format::Function &function) {
               return all(function.inputs(), alignedValue) &&
                      all(function.outputs(), alignedValue);
             }) &&
         all(program.kernels(),
             [](const format::Kernel &kernel) {
               return aligned(kernel.entries()) && aligned(kernel.scratch());
             }) &&
         all(program.programs(), [](const format::ExecProgram &exec) {
           return all(exec.commands(), alignedCommand) &&
                  all(exec.strides(), [](const format::Strides &strides) {
                    return aligned(strides.bytes());
                  });
         });
}

} // namespace bessemer::runtime
