// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the LLVM IR of one kernel: loops, addresses, vectors, masks. Every
// vector has as many elements as an f32 register of the target, whatever the
// element type; LLVM splits the wider ones. Values that are uniform along a
// vector stay scalar.

#ifndef BESSEMER_LIB_CODEGEN_CPU_KERNELBUILDER_H
#define BESSEMER_LIB_CODEGEN_CPU_KERNELBUILDER_H

#include "bessemer/Codegen/CPU/CPUTarget.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace mlir {
class Type;
} // namespace mlir

namespace bessemer::cpu {

/// An LLVM value; not to be confused with a value of the kern op.
using Val = llvm::Value *;
using Vals = llvm::SmallVector<Val>;

class KernelBuilder {
public:
  /// Starts the function `name`; the caller ends it with finish().
  KernelBuilder(llvm::Module &module, llvm::StringRef name,
                const CPUTarget &target, bool strict);
  void finish();

  const CPUTarget &target;
  const bool strict;
  llvm::Module &module;
  llvm::IRBuilder<> ir;
  /// The function's arguments.
  Val buffers, tileBegin, tileEnd, scratch;

  int64_t lanes() const { return target.lanes; }

  //===--- types and constants ------------------------------------------===//
  /// The LLVM type of a region value (i1 stays i1) and of its element in memory
  /// (i1 is a byte).
  llvm::Type *valueType(mlir::Type type);
  llvm::Type *memoryType(mlir::Type type);
  llvm::Type *vectorOf(llvm::Type *scalar);
  static bool isVector(Val value) { return value->getType()->isVectorTy(); }
  Val i64(int64_t value) { return ir.getInt64(value); }
  Val f32(float value);
  /// `value` as a constant of `type`, repeated when that is a vector.
  Val splat(llvm::Type *type, double value);
  Val splatInt(llvm::Type *type, uint64_t value);
  /// Repeats a scalar; returns vectors as they are.
  Val broadcast(Val value);
  /// Broadcasts whichever of the two is scalar when the other is a vector.
  void unify(Val &a, Val &b);

  //===--- control flow
  //-----------------------------------------------------===//
  /// for (iv = lo; iv < hi; iv += step) with loop-carried values.
  Vals loop(Val lo, Val hi, int64_t step, llvm::ArrayRef<Val> init,
            llvm::function_ref<Vals(Val iv, llvm::ArrayRef<Val> carried)> body);
  void loop(Val lo, Val hi, int64_t step,
            llvm::function_ref<void(Val iv)> body);
  void ifThen(Val condition, llvm::function_ref<void()> then);
  /// for (i = first; !found(i); i = next(i)); returns i. `step` returns
  /// found(i) and next(i).
  Val search(Val first, llvm::function_ref<std::pair<Val, Val>(Val i)> step);
  /// for (i = first; i >= 0; i = body(i)).
  void follow(Val first, llvm::function_ref<Val(Val i)> body);
  /// Runs `body` for each tile of the call.
  void forTiles(llvm::function_ref<void(Val tile)> body);

  /// Cuts [0, n) into vectors. `body` gets the first position, a mask (null:
  /// all lanes) and the values carried by its accumulator set. `unroll` sets
  /// alternate, each starting from `init`; `combine` joins two of them, in a
  /// fixed tree.
  using VectorBody =
      llvm::function_ref<Vals(Val j, Val mask, llvm::ArrayRef<Val> carried)>;
  using Combine =
      llvm::function_ref<Vals(llvm::ArrayRef<Val>, llvm::ArrayRef<Val>)>;
  Vals vectorLoop(Val n, unsigned unroll, llvm::ArrayRef<Val> init,
                  VectorBody body, Combine combine) {
    return strips(n, lanes(), unroll, init, body, combine);
  }
  void vectorLoop(Val n, unsigned unroll,
                  llvm::function_ref<void(Val j, Val mask)> body);
  /// The same, `width` positions at a time (1: no masks).
  Vals strips(Val n, int64_t width, unsigned unroll, llvm::ArrayRef<Val> init,
              VectorBody body, Combine combine);

  //===--- integers
  //-----------------------------------------------------------===//
  Val add(Val a, Val b) { return ir.CreateAdd(a, b); }
  Val add(Val a, int64_t b) { return b ? ir.CreateAdd(a, i64(b)) : a; }
  Val sub(Val a, Val b) { return ir.CreateSub(a, b); }
  Val mul(Val a, int64_t b);
  Val div(Val a, int64_t b);
  Val rem(Val a, int64_t b);
  Val min(Val a, Val b);
  Val lessThan(Val a, Val b) { return ir.CreateICmpSLT(a, b); }
  /// Splits `index` into indices of dimensions of the given sizes, row-major.
  Vals delinearize(Val index, llvm::ArrayRef<int64_t> sizes);

  //===--- memory
  //-------------------------------------------------------------===//
  /// Pointer number `index` of the kernel's buffers.
  Val buffer(unsigned index);
  Val buffer(Val index);
  /// Address of element `offset` + `constant`.
  Val address(Val base, llvm::Type *element, Val offset, int64_t constant = 0);
  Val address(Val base, llvm::Type *element, int64_t constant);
  Val load(llvm::Type *type, Val pointer);
  void store(Val value, Val pointer);
  /// One vector (or its lanes under `mask`, others zero) of elements of `type`,
  /// `stride` elements apart (0: one scalar).
  Val loadElements(mlir::Type type, Val pointer, int64_t stride, Val mask);
  void storeElements(Val value, mlir::Type type, Val pointer, int64_t stride,
                     Val mask);
  /// Vectors of f32 (or of any `element` whose memory type it is) under a mask.
  Val loadVector(llvm::Type *element, Val pointer, Val mask);
  void storeVector(Val value, Val pointer, Val mask);
  /// A read-only table of i64 in the blob.
  Val table(llvm::ArrayRef<int64_t> values);

  //===--- vectors
  //--------------------------------------------------------------===//
  /// 0, 1, 2, ... as integers of `bits` bits.
  Val iota(unsigned bits);
  /// Lanes below `count` (i64).
  Val maskBelow(Val count);
  /// Lanes from `first` (i64) on.
  Val lanesFrom(Val first);
  /// low <= index < high.
  Val isWithin(Val index, int64_t low, int64_t high);
  /// Mask of a tail of `count` elements; null when that is a whole vector.
  Val tailMask(int64_t count);
  Val fma(Val a, Val b, Val c);
  Val unary(llvm::Intrinsic::ID id, Val a) {
    return ir.CreateUnaryIntrinsic(id, a);
  }
  /// The larger (smaller), and `a` when either is NaN. One instruction: for
  /// clamps, where `b` is a constant.
  Val maxKeepFirst(Val a, Val b);
  Val minKeepFirst(Val a, Val b);
  /// IEEE 754-2019 maximum (minimum): NaN if either is NaN.
  Val maximum(Val a, Val b);
  Val minimum(Val a, Val b);
  /// NaN only if both are NaN.
  Val maxNumber(Val a, Val b);
  Val minNumber(Val a, Val b);
  Val select(Val condition, Val a, Val b);
  Val bitcast(Val value, llvm::Type *scalar);
  Val shuffle(Val a, Val b, llvm::ArrayRef<int> mask) {
    return ir.CreateShuffleVector(a, b, mask);
  }
  /// Combines all lanes by halves: a fixed tree.
  Val reduceLanes(Val vector, llvm::function_ref<Val(Val, Val)> combine);
  /// Transposes lanes() vectors of lanes() elements.
  Vals transpose(Vals rows);

private:
  /// `count` (i64) as i32 in [0, lanes()].
  Val clampToLanes(Val count);

  llvm::Function *function;
};

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_KERNELBUILDER_H
