// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Between DLPack's tensors and ours.
#pragma once

#include "bessemer/dlpack.h"
#include "bessemer/runtime/Status.h"
#include "bessemer/runtime/Tensor.h"

namespace bessemer::runtime {

/// A view of a dense row-major tensor on the CPU; `what` names it in errors.
Expected<TensorView> fromDlpack(const DLTensor &tensor,
                                const std::string &what);

/// A view for the caller; the shape stays the view's.
DLTensor toDlpack(const TensorView &view);

/// A copy that owns its shape and elements.
DLManagedTensor *copyToDlpack(const TensorView &view);

} // namespace bessemer::runtime
