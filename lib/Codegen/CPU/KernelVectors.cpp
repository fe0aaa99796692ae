// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types, memory and vectors of KernelBuilder.

#include "KernelBuilder.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/IR/Constants.h"

using namespace bessemer::cpu;
using llvm::Align;
using llvm::ArrayRef;

//===----------------------------------------------------------------------===//
// Types and constants
//===----------------------------------------------------------------------===//

llvm::Type *KernelBuilder::valueType(mlir::Type type) {
  if (type.isF32())
    return ir.getFloatTy();
  if (type.isF64())
    return ir.getDoubleTy();
  if (type.isIndex())
    return ir.getInt64Ty();
  return ir.getIntNTy(mlir::cast<mlir::IntegerType>(type).getWidth());
}

llvm::Type *KernelBuilder::memoryType(mlir::Type type) {
  return type.isInteger(1) ? ir.getInt8Ty() : valueType(type);
}

llvm::Type *KernelBuilder::vectorOf(llvm::Type *scalar) {
  return llvm::FixedVectorType::get(scalar, lanes());
}

Val KernelBuilder::f32(float value) {
  return llvm::ConstantFP::get(ir.getFloatTy(), value);
}

Val KernelBuilder::splat(llvm::Type *type, double value) {
  return llvm::ConstantFP::get(type, value);
}

Val KernelBuilder::splatInt(llvm::Type *type, uint64_t value) {
  return llvm::ConstantInt::get(type, value, /*IsSigned=*/false,
                                /*ImplicitTrunc=*/true);
}

Val KernelBuilder::broadcast(Val value) {
  return isVector(value) ? value : ir.CreateVectorSplat(lanes(), value);
}

void KernelBuilder::unify(Val &a, Val &b) {
  if (isVector(a) == isVector(b))
    return;
  a = broadcast(a);
  b = broadcast(b);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Align elementAlign(llvm::Type *type) {
  return Align(type->getScalarSizeInBits() / 8);
}

Val KernelBuilder::buffer(Val index) {
  Val slot = ir.CreateGEP(ir.getPtrTy(), buffers, index);
  return ir.CreateAlignedLoad(ir.getPtrTy(), slot, Align(8));
}

Val KernelBuilder::buffer(unsigned index) { return buffer(i64(index)); }

Val KernelBuilder::address(Val base, llvm::Type *element, Val offset,
                           int64_t constant) {
  return address(ir.CreateGEP(element, base, offset), element, constant);
}

Val KernelBuilder::address(Val base, llvm::Type *element, int64_t constant) {
  return constant ? ir.CreateGEP(element, base, i64(constant)) : base;
}

Val KernelBuilder::load(llvm::Type *type, Val pointer) {
  return ir.CreateAlignedLoad(type, pointer, elementAlign(type));
}

void KernelBuilder::store(Val value, Val pointer) {
  ir.CreateAlignedStore(value, pointer, elementAlign(value->getType()));
}

Val KernelBuilder::loadVector(llvm::Type *element, Val pointer, Val mask) {
  llvm::Type *type = vectorOf(element);
  if (!mask)
    return load(type, pointer);
  return ir.CreateMaskedLoad(type, pointer, elementAlign(type), mask,
                             llvm::Constant::getNullValue(type));
}

void KernelBuilder::storeVector(Val value, Val pointer, Val mask) {
  if (!mask)
    return store(value, pointer);
  ir.CreateMaskedStore(value, pointer, elementAlign(value->getType()), mask);
}

Val KernelBuilder::loadElements(mlir::Type type, Val pointer, int64_t stride,
                                Val mask) {
  llvm::Type *element = memoryType(type);
  Val value;
  if (stride == 0) {
    value = load(element, pointer);
  } else if (stride == 1) {
    value = loadVector(element, pointer, mask);
  } else {
    Val pointers = ir.CreateGEP(
        element, pointer,
        ir.CreateMul(iota(64), splatInt(vectorOf(ir.getInt64Ty()), stride)));
    llvm::Type *vector = vectorOf(element);
    Val all = llvm::Constant::getAllOnesValue(vectorOf(ir.getInt1Ty()));
    value = ir.CreateMaskedGather(vector, pointers, elementAlign(element),
                                  mask ? mask : all,
                                  llvm::Constant::getNullValue(vector));
  }
  if (type.isInteger(1))
    value =
        ir.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  return value;
}

void KernelBuilder::storeElements(Val value, mlir::Type type, Val pointer,
                                  int64_t stride, Val mask) {
  llvm::Type *element = memoryType(type);
  if (stride != 0)
    value = broadcast(value);
  if (type.isInteger(1))
    value = ir.CreateZExt(value, isVector(value) ? vectorOf(element) : element);
  if (stride == 0)
    return store(isVector(value) ? ir.CreateExtractElement(value, uint64_t(0))
                                 : value,
                 pointer);
  if (stride == 1)
    return storeVector(value, pointer, mask);
  Val pointers = ir.CreateGEP(
      element, pointer,
      ir.CreateMul(iota(64), splatInt(vectorOf(ir.getInt64Ty()), stride)));
  Val all = llvm::Constant::getAllOnesValue(vectorOf(ir.getInt1Ty()));
  ir.CreateMaskedScatter(value, pointers, elementAlign(element),
                         mask ? mask : all);
}

Val KernelBuilder::table(ArrayRef<int64_t> values) {
  std::vector<uint64_t> words(values.begin(), values.end());
  auto *data = llvm::ConstantDataArray::get(module.getContext(),
                                            ArrayRef<uint64_t>(words));
  auto *global = new llvm::GlobalVariable(
      module, data->getType(), /*isConstant=*/true,
      llvm::GlobalValue::PrivateLinkage, data, "table");
  global->setAlignment(Align(8));
  return global;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Val KernelBuilder::iota(unsigned bits) {
  llvm::SmallVector<llvm::Constant *> values;
  for (int64_t i = 0; i < lanes(); ++i)
    values.push_back(ir.getIntN(bits, i));
  return llvm::ConstantVector::get(values);
}

Val KernelBuilder::maskBelow(Val count) {
  // Compared in 32 bits: one instruction for all lanes.
  return ir.CreateICmpSLT(iota(32), broadcast(clampToLanes(count)));
}

Val KernelBuilder::clampToLanes(Val count) {
  Val clamped = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax,
                                         min(count, i64(lanes())), i64(0));
  return ir.CreateTrunc(clamped, ir.getInt32Ty());
}

Val KernelBuilder::lanesFrom(Val first) {
  return ir.CreateICmpSGE(iota(32), broadcast(clampToLanes(first)));
}

Val KernelBuilder::isWithin(Val index, int64_t low, int64_t high) {
  return ir.CreateICmpULT(ir.CreateSub(index, i64(low)), i64(high - low));
}

Val KernelBuilder::tailMask(int64_t count) {
  return count >= lanes() ? nullptr : maskBelow(i64(count));
}

Val KernelBuilder::fma(Val a, Val b, Val c) {
  return ir.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

// x < y ? y : x is one vmaxps, which returns its second source for unordered
// operands.
Val KernelBuilder::maxKeepFirst(Val a, Val b) {
  return select(ir.CreateFCmpOLT(a, b), b, a);
}

Val KernelBuilder::minKeepFirst(Val a, Val b) {
  return select(ir.CreateFCmpOGT(a, b), b, a);
}

/// A constant other than NaN.
static bool isNumber(Val value) {
  auto *constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  auto *number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number && !number->isNaN();
}

Val KernelBuilder::maximum(Val a, Val b) {
  unify(a, b);
  if (isNumber(a))
    std::swap(a, b);
  Val larger = maxKeepFirst(a, b);
  return isNumber(b) ? larger : select(ir.CreateFCmpUNO(b, b), b, larger);
}

Val KernelBuilder::minimum(Val a, Val b) {
  unify(a, b);
  if (isNumber(a))
    std::swap(a, b);
  Val smaller = minKeepFirst(a, b);
  return isNumber(b) ? smaller : select(ir.CreateFCmpUNO(b, b), b, smaller);
}

Val KernelBuilder::maxNumber(Val a, Val b) {
  unify(a, b);
  return select(ir.CreateFCmpUNO(a, a), b, maxKeepFirst(a, b));
}

Val KernelBuilder::minNumber(Val a, Val b) {
  unify(a, b);
  return select(ir.CreateFCmpUNO(a, a), b, minKeepFirst(a, b));
}

Val KernelBuilder::select(Val condition, Val a, Val b) {
  if (isVector(condition) || isVector(a) || isVector(b)) {
    a = broadcast(a);
    b = broadcast(b);
  }
  return ir.CreateSelect(condition, a, b);
}

Val KernelBuilder::bitcast(Val value, llvm::Type *scalar) {
  return ir.CreateBitCast(value, isVector(value) ? vectorOf(scalar) : scalar);
}

Val KernelBuilder::reduceLanes(Val vector,
                               llvm::function_ref<Val(Val, Val)> combine) {
  for (int64_t width = lanes(); width > 1; width /= 2) {
    llvm::SmallVector<int> low, high;
    for (int64_t i = 0; i < width / 2; ++i) {
      low.push_back(i);
      high.push_back(i + width / 2);
    }
    vector =
        combine(shuffle(vector, vector, low), shuffle(vector, vector, high));
  }
  return ir.CreateExtractElement(vector, uint64_t(0));
}

Vals KernelBuilder::transpose(Vals rows) {
  // log2(lanes) rounds of full interleaves of rows i and i + lanes / 2.
  int64_t half = lanes() / 2;
  llvm::SmallVector<int> low, high;
  for (int64_t i = 0; i < half; ++i) {
    low.append({int(i), int(i + lanes())});
    high.append({int(i + half), int(i + half + lanes())});
  }
  for (int64_t round = 1; round < lanes(); round *= 2) {
    Vals next;
    for (int64_t i = 0; i < half; ++i) {
      next.push_back(shuffle(rows[i], rows[i + half], low));
      next.push_back(shuffle(rows[i], rows[i + half], high));
    }
    rows = next;
  }
  return rows;
}
