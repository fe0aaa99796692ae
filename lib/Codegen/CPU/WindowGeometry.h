// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What both ways to compute kern.window share: the planes and their axes.

#ifndef BESSEMER_LIB_CODEGEN_CPU_WINDOWGEOMETRY_H
#define BESSEMER_LIB_CODEGEN_CPU_WINDOWGEOMETRY_H

#include "Families.h"

namespace bessemer::cpu {

/// Geometry of one axis.
struct WindowAxis {
  int64_t input, output, window, stride, padBegin, padEnd, dilation;

  /// Input index that tap `tap` of window `index` reads; may lie outside.
  Val inputIndex(KernelBuilder &k, Val index, Val tap) const {
    return k.add(k.add(k.mul(index, stride), k.mul(tap, dilation)), -padBegin);
  }
};

struct WindowGeometry {
  explicit WindowGeometry(kern::WindowOp op)
      : kind(op.getKind()), countsPads(op.getCountIncludePad()) {
    using mlir::cast, mlir::RankedTensorType;
    auto in = cast<RankedTensorType>(op.getInputs()[0].getType());
    auto out = cast<RankedTensorType>(op.getType());
    auto dy = cast<RankedTensorType>(op.getInputs().back().getType());
    large = isForward() ? in : out;
    RankedTensorType small = isForward() ? out : dy;
    auto axis = [&](unsigned i) {
      return WindowAxis{large.getDimSize(2 + i), small.getDimSize(2 + i),
                        op.getWindow()[i],       op.getStrides()[i],
                        op.getPads()[i],         op.getPads()[2 + i],
                        op.getDilations()[i]};
    };
    h = axis(0);
    w = axis(1);
    planes = large.getDimSize(0) * large.getDimSize(1);
  }

  bool isMax() const {
    return kind == kern::WindowKind::Max || kind == kern::WindowKind::MaxGrad;
  }
  bool isForward() const {
    return kind == kern::WindowKind::Max || kind == kern::WindowKind::Average;
  }

  kern::WindowKind kind;
  bool countsPads;
  /// The images pooled from; those pooled to are the smaller ones.
  mlir::RankedTensorType large;
  WindowAxis h, w;
  int64_t planes;
};

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_WINDOWGEOMETRY_H
