// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random functions through the fusion stage: the reference evaluator gives the
// same before and after. Seeds are fixed; a failure prints the function.

#include "bessemer/Fusion/Passes.h"
#include "bessemer/Reference/Evaluator.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace bessemer;

namespace {

/// Builds a function of random ops over tensors of few shapes, so that many of
/// them fit together.
class Generator {
public:
  Generator(MLIRContext &context, unsigned seed)
      : random(seed), builder(&context), loc(builder.getUnknownLoc()) {}

  func::FuncOp generate(ModuleOp module, unsigned ops) {
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> arguments;
    const std::vector<std::vector<int64_t>> shapes{
        {4, 6}, {4, 6}, {6, 4}, {4, 2, 3}, {4}, {6}, {}};
    for (const std::vector<int64_t> &shape : shapes)
      arguments.push_back(RankedTensorType::get(shape, builder.getF32Type()));
    arguments.push_back(graph::StepType::get(builder.getContext()));
    auto function = func::FuncOp::create(
        builder, loc, "f", builder.getFunctionType(arguments, {}));
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToStart(block);
    for (Value argument : block->getArguments().drop_back())
      values.push_back(argument);
    step = block->getArguments().back();
    while (ops)
      if (addOp())
        --ops;
    // The last value and some others.
    SmallVector<Value> results{values.back()};
    for (Value value : values)
      if (pick(5) == 0)
        results.push_back(value);
    func::ReturnOp::create(builder, loc, results);
    SmallVector<Type> types;
    for (Value result : results)
      types.push_back(result.getType());
    function.setType(builder.getFunctionType(arguments, types));
    return function;
  }

private:
  unsigned pick(unsigned count) { return random() % count; }
  Value any() { return values[pick(values.size())]; }
  static RankedTensorType typeOf(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  /// A value of that type, or null.
  Value anyOf(Type type) {
    SmallVector<Value> fitting;
    for (Value value : values)
      if (value.getType() == type)
        fitting.push_back(value);
    return fitting.empty() ? Value() : fitting[pick(fitting.size())];
  }
  bool add(Value value) {
    values.push_back(value);
    return true;
  }
  Value constant(Value like) {
    return graph::buildSplat(builder, loc, typeOf(like),
                             static_cast<int>(pick(5)) * 0.25 - 0.5);
  }

  Value slice(Value x, int64_t dim, int64_t begin, int64_t size) {
    SmallVector<int64_t> offsets(typeOf(x).getRank(), 0),
        shape(typeOf(x).getShape());
    offsets[dim] = begin;
    shape[dim] = size;
    return graph::SliceOp::create(builder, loc, typeOf(x).clone(shape), x,
                                  offsets);
  }
  /// A part of `x` at another place among zeros; of its function, or padded
  /// before that is taken.
  Value sliceAndPad(Value x) {
    RankedTensorType type = typeOf(x);
    SmallVector<int64_t> offsets, shape, low;
    for (int64_t size : type.getShape()) {
      shape.push_back(1 + pick(size));
      offsets.push_back(pick(size - shape.back() + 1));
      low.push_back(pick(size - shape.back() + 1));
    }
    Value part =
        graph::SliceOp::create(builder, loc, type.clone(shape), x, offsets);
    if (pick(2))
      part = math::CosOp::create(builder, loc, part); // not 0 at 0
    Value padded = graph::PadOp::create(builder, loc, type, part, low);
    if (pick(2))
      padded = math::CosOp::create(builder, loc, padded);
    return padded;
  }

  bool addOp() {
    Value x = any();
    RankedTensorType type = typeOf(x);
    switch (pick(15)) {
    case 0:
      return add(math::TanhOp::create(builder, loc, x));
    case 1:
      return add(arith::AddFOp::create(builder, loc, x, anyOf(type)));
    case 2: {
      Value product = arith::MulFOp::create(builder, loc, x, constant(x));
      return add(arith::SubFOp::create(builder, loc, product, anyOf(type)));
    }
    case 3:
      return add(arith::MaximumFOp::create(builder, loc, x, constant(x)));
    case 4: {
      Value mask = arith::CmpFOp::create(
          builder, loc, arith::CmpFPredicate::OLE, x, constant(x));
      return add(arith::SelectOp::create(builder, loc, mask, constant(x),
                                         anyOf(type)));
    }
    case 5:
    case 6: {
      if (type.getRank() == 0)
        return false;
      SmallVector<int64_t> dims;
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (pick(2))
          dims.push_back(dim);
      if (dims.empty())
        return false;
      auto kind = pick(3) ? graph::ReduceKind::Sum : graph::ReduceKind::Max;
      Value sum = graph::buildReduce(builder, loc, kind, x, dims);
      return add(math::TanhOp::create(builder, loc, sum));
    }
    case 7: {
      // To the shape of another value, when dimensions fit in order.
      Value y = any();
      RankedTensorType target = typeOf(y);
      SmallVector<int64_t> dims;
      int64_t next = 0;
      for (int64_t size : type.getShape()) {
        while (next < target.getRank() && target.getDimSize(next) != size)
          ++next;
        if (next == target.getRank())
          return false;
        dims.push_back(next++);
      }
      if (type == target)
        return false;
      Value b = graph::buildBroadcast(builder, loc, x, target, dims);
      return add(arith::SubFOp::create(builder, loc, y, b));
    }
    case 8: {
      if (type.getRank() != 2)
        return false;
      auto swapped = type.clone({type.getDimSize(1), type.getDimSize(0)});
      return add(graph::TransposeOp::create(builder, loc, swapped, x,
                                            ArrayRef<int64_t>{1, 0}));
    }
    case 9: {
      Value y = any();
      if (type.getRank() != 2 || typeOf(y).getRank() != 2)
        return false;
      for (int64_t i : {0, 1})
        for (int64_t j : {1, 0})
          if (type.getDimSize(i) == typeOf(y).getDimSize(j)) {
            Value product = graph::ContractOp::create(
                builder, loc, x, y, ArrayRef<int64_t>{}, ArrayRef<int64_t>{},
                ArrayRef<int64_t>{i}, ArrayRef<int64_t>{j});
            return add(math::TanhOp::create(builder, loc, product));
          }
      return false;
    }
    case 10: {
      SmallVector<int64_t> shape;
      if (type.getShape() == ArrayRef<int64_t>{4, 6})
        shape = {4, 2, 3};
      else if (type.getShape() == ArrayRef<int64_t>{4, 2, 3})
        shape = {4, 6};
      else
        return false;
      return add(graph::buildReshape(builder, loc, x, shape));
    }
    case 11:
      return type.getRank() && add(sliceAndPad(x));
    case 12: {
      // Two pieces in the other order, which may have been one tensor.
      if (type.getRank() == 0)
        return false;
      int64_t dim = pick(type.getRank()), size = type.getDimSize(dim);
      if (size < 2)
        return false;
      int64_t first = 1 + pick(size - 1);
      Value a = slice(x, dim, 0, first);
      Value b = slice(pick(2) ? x : anyOf(type), dim, first, size - first);
      SmallVector<Value> pieces{a, b};
      if (pick(2))
        std::swap(pieces[0], pieces[1]);
      return add(graph::ConcatOp::create(builder, loc, type, pieces, dim));
    }
    case 13: {
      // Rows in another order, some twice, one outside: NaN is no number to
      // compare, so that it is scattered only.
      if (type.getRank() == 0)
        return false;
      int64_t dim = pick(type.getRank()), size = type.getDimSize(dim);
      SmallVector<int64_t> keys;
      for (int64_t i = 0; i < size; ++i)
        keys.push_back(pick(size));
      auto keyType = RankedTensorType::get({size}, builder.getI64Type());
      auto indices = [&]() -> Value {
        return arith::ConstantOp::create(
            builder, loc, DenseElementsAttr::get(keyType, ArrayRef(keys)));
      };
      if (pick(2))
        return add(
            graph::GatherOp::create(builder, loc, type, x, indices(), dim, 0));
      keys.front() = size;
      return add(graph::ScatterAddOp::create(builder, loc, type, x, indices(),
                                             dim, 0));
    }
    default: {
      if (type.getRank() == 0)
        return false;
      if (pick(2))
        return add(graph::SoftmaxOp::create(
            builder, loc, type, x,
            builder.getI64IntegerAttr(pick(type.getRank()))));
      return add(graph::DropoutOp::create(builder, loc, type, x, step, Value(),
                                          builder.getF64FloatAttr(0.5),
                                          builder.getI64IntegerAttr(pick(3))));
    }
    }
  }

  std::mt19937 random;
  OpBuilder builder;
  Location loc;
  SmallVector<Value> values;
  Value step;
};

std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

TEST(FusionFuzz, KeepsResults) {
  MLIRContext context;
  context.loadDialect<graph::GraphDialect, kern::KernDialect, func::FuncDialect,
                      arith::ArithDialect, math::MathDialect,
                      tensor::TensorDialect>();
  for (unsigned seed = 0; seed < 300; ++seed) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    func::FuncOp function =
        Generator(context, seed).generate(*module, 6 + seed % 30);
    std::string source = textOf(function);
    std::mt19937 random(seed);
    std::vector<reference::Tensor> inputs;
    for (Type type : function.getArgumentTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type)) {
        reference::Tensor &input = inputs.emplace_back(tensor);
        for (double &value : input.floats)
          value = (random() % 4000) / 1000.0 - 2.0;
      }
    reference::StepBlock step{5, 99, 0.1f, 3};
    auto before = reference::evaluate(function, inputs, {}, step);
    ASSERT_TRUE(succeeded(before)) << "seed " << seed << "\n" << source;

    PassManager manager(&context);
    buildFusionPipeline(manager);
    ASSERT_TRUE(succeeded(manager.run(*module))) << "seed " << seed << "\n"
                                                 << source;
    function = *module->getOps<func::FuncOp>().begin();
    auto after = reference::evaluate(function, inputs, {}, step);
    ASSERT_TRUE(succeeded(after)) << "seed " << seed << "\n" << source;
    ASSERT_EQ(before->results.size(), after->results.size());
    for (auto [a, b] : llvm::zip_equal(before->results, after->results)) {
      double largest = 1e-6;
      for (double value : a.floats)
        largest = std::max(largest, std::abs(value));
      // Both are computed in double, in another order.
      for (auto [x, y] : llvm::zip_equal(a.floats, b.floats))
        ASSERT_NEAR(x, y, 1e-9 * largest) << "seed " << seed << "\n"
                                          << source << textOf(function);
    }
  }
}

} // namespace
