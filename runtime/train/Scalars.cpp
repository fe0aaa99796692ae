// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "train/Scalars.h"

#include <algorithm>

namespace bessemer::runtime::train_detail {

bool hasOutput(const Session &session, std::string_view function,
               std::string_view name) {
  const FunctionInfo *info = session.program().function(function);
  return info && std::any_of(info->outputs.begin(), info->outputs.end(),
                             [&](const ValueInfo &output) {
                               return output.name == name;
                             });
}

Expected<double> readScalar(const Session &session, std::string_view function,
                            std::string_view name) {
  Expected<TensorView> view = session.output(function, name);
  if (!view)
    return view.status();
  if (view->type != ElementType::F32 || view->elementCount() != 1)
    return Status::invalidInput(std::string(function) + ": expected output '" +
                                std::string(name) + "' to be f32[], got " +
                                view->str());
  return static_cast<double>(view->elements<float>()[0]);
}

Expected<std::optional<uint64_t>> nonfiniteStep(const Session &session) {
  constexpr std::string_view name = "nonfinite_step";
  std::span<const StateInfo> states = session.states();
  if (std::none_of(states.begin(), states.end(), [&](const StateInfo &state) {
        return state.name == name &&
               state.type == TensorType{ElementType::I64, {}};
      }))
    return std::optional<uint64_t>();
  Expected<TensorView> view = session.readState(name);
  if (!view)
    return view.status();
  int64_t step = view->elements<int64_t>()[0];
  return step < 0 ? std::optional<uint64_t>()
                  : std::optional(static_cast<uint64_t>(step));
}

} // namespace bessemer::runtime::train_detail
