// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.attention and its gradient against the reference evaluator, which
// computes graph.attention by its formula in double.

#include "KernelTest.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Reference/Evaluator.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bessemer;
using namespace bessemer::test;
using llvm::formatv;
using reference::Tensor;

namespace {

/// How heads lie in the tensors.
enum class Layout { HeadsOutside, HeadsInside, Packed };

struct Case {
  int b, h, g, tq, tk, d, w;
  bool causal = false;
  /// Shape of the mask, empty without.
  std::vector<int> mask;
  double ratio = 0;
  Layout layout = Layout::HeadsOutside;
};

std::string typeOf(const std::vector<int> &shape) {
  std::string text = "tensor<";
  for (int size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// A tensor [b, heads, rows, columns] in a layout: its type and view. In the
/// packed layout `part` of `parts` equal ones.
struct Placed {
  std::string type, view;
  int elements;
};

Placed place(Layout layout, int b, int heads, int rows, int columns,
             int part = 0, int parts = 1) {
  int row = heads * columns * parts;
  Placed placed;
  placed.elements = b * rows * row;
  if (layout == Layout::HeadsOutside) {
    placed.type = typeOf({b, heads, rows, columns});
    placed.view = formatv(
        "affine_map<(d0, d1, d2, d3) -> (d0 * {0} + d1 * {1} + d2 * {2} + d3)>",
        heads * rows * columns, rows * columns, columns);
    return placed;
  }
  placed.type = typeOf({b * rows, row});
  placed.view = formatv("affine_map<(d0, d1, d2, d3) -> (d0 * {0} + d2 * {1} + "
                        "d1 * {2} + d3 + {3})>",
                        rows * row, row, columns, part * heads * columns);
  return placed;
}

std::string maskView(const Case &c) {
  std::string terms;
  int stride = 1;
  for (int dim = 3; dim >= 0; --dim) {
    if (c.mask[dim] > 1)
      terms += formatv("d{0} * {1} + ", dim, stride);
    stride *= c.mask[dim];
  }
  return "affine_map<(d0, d1, d2, d3) -> (" + terms + "0)>";
}

std::string attributesOf(const Case &c) {
  // As it is used: larger scores have larger rounding errors.
  std::string text =
      formatv("{{scale = {0:f6} : f64", 1.0 / std::sqrt(double(c.d)));
  if (c.causal)
    text += ", causal";
  if (c.ratio > 0)
    text += formatv(", ratio = {0:f} : f64, id = 7 : i64", c.ratio);
  return text + "}";
}

/// A kernel as text: its arguments, and the op with its results.
struct Text {
  std::string signature, op, types;
  unsigned results;
};

/// Puts together what both kernels have in common.
Text assemble(const Case &c,
              std::vector<std::pair<std::string, std::string>> arguments,
              std::string mnemonic, std::vector<std::string> views,
              std::string more, std::vector<std::string> results) {
  Text text;
  std::string operands, types;
  std::string optional;
  for (auto &[name, type] : arguments) {
    operands += (operands.empty() ? "%" : ", %") + name;
    types += (types.empty() ? "" : ", ") + type;
    text.signature +=
        (text.signature.empty() ? "%" : ", %") + name + ": " + type;
  }
  if (!c.mask.empty()) {
    std::string type = typeOf(c.mask);
    optional += " mask %m";
    types += ", " + type;
    text.signature += ", %m: " + type;
  }
  if (c.ratio > 0) {
    optional += " step %step";
    types += ", !graph.step";
    text.signature += ", %step: !graph.step";
  }
  std::string names, allViews;
  for (size_t i = 0; i < results.size(); ++i) {
    names += formatv("{0}%r{1}", i ? ", " : "", i);
    text.types += (i ? ", " : "") + results[i];
  }
  for (std::string &view : views)
    allViews += (allViews.empty() ? "" : ", ") + view;
  text.results = results.size();
  text.op =
      formatv("{0} = kern.{1} {2}{3} bounds = [{4}, {5}, {6}, {7}, {8}, "
              "{9}, {10}] views = [{11}] {12}{13} : ({14}) -> ({15})",
              names, mnemonic, operands, optional, c.b, c.h, c.g, c.tq, c.tk,
              c.d, c.w, allViews, more, attributesOf(c), types, text.types);
  text.signature = "(" + text.signature + ")";
  return text;
}

struct Tensors {
  Placed q, k, v, y;
  std::string lse;

  explicit Tensors(const Case &c) {
    int parts = c.layout == Layout::Packed ? 3 : 1;
    auto part = [&](int i) { return parts == 3 ? i : 0; };
    q = place(c.layout, c.b, c.h, c.tq, c.d, part(0), parts);
    k = place(c.layout, c.b, c.g, c.tk, c.d, part(1), parts);
    v = place(c.layout, c.b, c.g, c.tk, c.w, part(2), parts);
    y = place(c.layout, c.b, c.h, c.tq, c.w);
    lse = typeOf({c.b, c.h, c.tq});
  }
};

Text forwardText(const Case &c) {
  Tensors t(c);
  std::vector<std::string> views = {t.q.view, t.k.view, t.v.view};
  if (!c.mask.empty())
    views.push_back(maskView(c));
  views.push_back(t.y.view);
  return assemble(c, {{"q", t.q.type}, {"k", t.k.type}, {"v", t.v.type}},
                  "attention", views, "", {t.y.type, t.lse});
}

Text gradientText(const Case &c) {
  Tensors t(c);
  std::vector<std::string> views = {t.q.view, t.k.view, t.v.view, t.y.view,
                                    t.y.view};
  if (!c.mask.empty())
    views.push_back(maskView(c));
  views.insert(views.end(), {t.q.view, t.k.view, t.v.view});
  bool isPacked = c.layout == Layout::Packed;
  return assemble(c,
                  {{"q", t.q.type},
                   {"k", t.k.type},
                   {"v", t.v.type},
                   {"y", t.y.type},
                   {"lse", t.lse},
                   {"dy", t.y.type}},
                  "attention_grad", views,
                  isPacked ? "into = [0, 0, 0] " : "into = [0, 1, 2] ",
                  isPacked
                      ? std::vector<std::string>{t.q.type}
                      : std::vector<std::string>{t.q.type, t.k.type, t.v.type});
}

constexpr reference::StepBlock kStep{5, 123456789, 0.05f, 0};

/// What the evaluator says that `text` gives, in double.
std::vector<Tensor> evaluate(mlir::MLIRContext &context, const Text &text,
                             const std::vector<Tensor> &inputs) {
  std::string returned;
  for (unsigned i = 0; i < text.results; ++i)
    returned += (i ? ", %r" : "%r") + std::to_string(i);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @f" + text.signature + " -> (" + text.types + ") {\n" +
          text.op + "\nreturn " + returned + " : " + text.types + "\n}\n",
      &context);
  EXPECT_TRUE(module) << text.op;
  auto outcome = reference::evaluate(
      module->lookupSymbol<mlir::func::FuncOp>("f"), inputs, {}, kStep);
  EXPECT_TRUE(succeeded(outcome)) << text.op;
  return outcome->results;
}

Tensor tensorOf(mlir::MLIRContext &context, const std::string &type,
                const std::vector<float> &values) {
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func private @f(" + type + ")", &context);
  mlir::Type tensorType =
      parsed->lookupSymbol<mlir::func::FuncOp>("f").getArgumentTypes()[0];
  Tensor tensor(llvm::cast<mlir::RankedTensorType>(tensorType));
  tensor.floats.assign(values.begin(), values.end());
  return tensor;
}

BufferPtr stepBuffer() {
  std::vector<uint64_t> words(8, 0);
  words[0] = kStep.step;
  words[1] = kStep.seed;
  return makeBuffer(words);
}

std::vector<float> toFloats(const Tensor &tensor) {
  return std::vector<float>(tensor.floats.begin(), tensor.floats.end());
}

std::vector<Case> cases() {
  using L = Layout;
  return {
      {1, 1, 1, 1, 1, 1, 1},
      {2, 3, 3, 5, 7, 4, 6},
      // Ragged in every direction, beyond a block and a panel.
      {1, 2, 2, 50, 67, 17, 33},
      {1, 2, 2, 131, 131, 24, 40, true},
      {2, 2, 2, 96, 96, 64, 64, true, {}, 0, L::HeadsInside},
      {1, 2, 2, 97, 97, 64, 64, true, {}, 0, L::Packed},
      {2, 4, 2, 49, 49, 32, 32, true, {}, 0, L::HeadsInside},
      {1, 6, 1, 20, 33, 80, 16, false, {}, 0, L::HeadsOutside},
      // More keys than queries and the other way round, both causal.
      {1, 1, 1, 10, 70, 8, 8, true},
      {1, 1, 1, 70, 10, 8, 8, true},
      // Masks of all kinds.
      {2, 2, 2, 20, 30, 8, 8, false, {2, 2, 20, 30}},
      {2, 2, 2, 20, 30, 8, 8, false, {2, 1, 1, 30}},
      {2, 2, 1, 50, 50, 16, 16, true, {1, 1, 50, 50}, 0, L::HeadsInside},
      {1, 2, 2, 5, 9, 8, 8, false, {1, 1, 5, 1}},
      // Dropout.
      {2, 2, 2, 33, 40, 16, 16, false, {}, 0.25},
      {1, 2, 2, 60, 60, 16, 16, true, {1, 1, 1, 60}, 0.5, L::Packed},
      // Long: deeper than any register tile.
      {1, 1, 1, 300, 300, 128, 128, true},
  };
}

/// Inputs of one case; the second query of the first mask sees nothing.
struct Inputs {
  std::vector<float> q, k, v, mask;
  Inputs(const Case &c, unsigned seed) {
    Tensors t(c);
    q = randomFloats(t.q.elements, seed);
    bool isPacked = c.layout == Layout::Packed;
    k = isPacked ? q : randomFloats(t.k.elements, seed + 1);
    v = isPacked ? q : randomFloats(t.v.elements, seed + 2);
    if (c.mask.empty())
      return;
    int elements = 1;
    for (int size : c.mask)
      elements *= size;
    mask = randomFloats(elements, seed + 3);
    int row = c.mask[3];
    if (c.mask[2] > 1)
      std::fill(mask.begin() + row, mask.begin() + 2 * row, -INFINITY);
    else
      mask[row / 2] = -INFINITY;
  }
};

/// One case's inputs as the evaluator and the kernels take them; the mask and
/// the step block come last.
struct Given {
  std::vector<Tensor> inputs, masks;
  std::vector<BufferPtr> operands, lastOperands;

  Given(mlir::MLIRContext &context, const Case &c, unsigned seed) {
    Tensors t(c);
    Inputs in(c, seed);
    inputs = {tensorOf(context, t.q.type, in.q),
              tensorOf(context, t.k.type, in.k),
              tensorOf(context, t.v.type, in.v)};
    operands = {makeBuffer(in.q), makeBuffer(in.k), makeBuffer(in.v)};
    if (!c.mask.empty()) {
      masks.push_back(tensorOf(context, typeOf(c.mask), in.mask));
      lastOperands.push_back(makeBuffer(in.mask));
    }
    if (c.ratio > 0)
      lastOperands.push_back(stepBuffer());
  }

  std::vector<Tensor> allInputs() const {
    std::vector<Tensor> all = inputs;
    all.insert(all.end(), masks.begin(), masks.end());
    return all;
  }
  std::vector<BufferPtr> allOperands() const {
    std::vector<BufferPtr> all = operands;
    all.insert(all.end(), lastOperands.begin(), lastOperands.end());
    return all;
  }
};

/// Compiles a kernel of each case for each target; `check` gets the set, the
/// case's number, and what it is called.
void checkCases(llvm::function_ref<Text(const Case &c)> makeText,
                llvm::function_ref<void(KernelSet &set, unsigned number,
                                        const Case &c, const std::string &what)>
                    check) {
  KernelSet set;
  set.getContext().loadDialect<mlir::tensor::TensorDialect>();
  std::vector<Case> all = cases();
  for (const Case &c : all) {
    Text text = makeText(c);
    set.add(text.signature, text.op);
  }
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (auto [i, c] : llvm::enumerate(all))
      check(set, i, c, formatv("case {0} on {1}", i, target.name));
  }
}

} // namespace

TEST(Attention, MatchesTheFormula) {
  checkCases(forwardText, [](KernelSet &set, unsigned number, const Case &c,
                             const std::string &what) {
    Given given(set.getContext(), c, 10 * number);
    std::vector<Tensor> expected =
        evaluate(set.getContext(), forwardText(c), given.allInputs());
    BufferPtr y = makeFloats(expected[0].size());
    BufferPtr lse = makeFloats(expected[1].size());
    set.run(number, given.allOperands(), {y, lse});
    // Sums of hundreds of products of f32, exp within one ulp.
    expectNear(y->values<float>(), expected[0].floats, 4e-6, "y of " + what);
    expectNear(lse->values<float>(), expected[1].floats, 4e-6,
               "lse of " + what);
  });
}

TEST(AttentionGrad, MatchesTheFormula) {
  checkCases(gradientText, [](KernelSet &set, unsigned number, const Case &c,
                              const std::string &what) {
    mlir::MLIRContext &context = set.getContext();
    Given given(context, c, 10 * number);
    std::vector<Tensor> forward =
        evaluate(context, forwardText(c), given.allInputs());
    std::vector<float> y = toFloats(forward[0]), lse = toFloats(forward[1]);
    std::vector<float> dy = randomFloats(y.size(), 10 * number + 5);
    for (const Tensor &input :
         {forward[0], forward[1], tensorOf(context, Tensors(c).y.type, dy)})
      given.inputs.push_back(input);
    for (const std::vector<float> &operand : {y, lse, dy})
      given.operands.push_back(makeBuffer(operand));
    std::vector<Tensor> expected =
        evaluate(context, gradientText(c), given.allInputs());
    std::vector<BufferPtr> results;
    for (const Tensor &tensor : expected)
      results.push_back(makeFloats(tensor.size()));
    set.run(number, given.allOperands(), results);
    for (auto [r, result] : llvm::enumerate(results))
      expectNear(result->values<float>(), expected[r].floats, 2e-5,
                 formatv("result {0} of {1}", r, what));
  });
}
