// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of differentiable ops. Ranges keep away from kinks and poles.

#include "GradientTable.h"
#include <string>

namespace bessemer::test {
namespace {

using Table = std::vector<GradientCase>;
using Variables = std::vector<Variable>;

/// Bodies that are made of strings live as long as the program.
const char *keep(std::string text) {
  static std::vector<std::unique_ptr<std::string>> kept;
  kept.push_back(std::make_unique<std::string>(std::move(text)));
  return kept.back()->c_str();
}

void addUnary(Table &table, const char *op, double low, double high) {
  table.push_back({op,
                   {{"x", "2x3", low, high}},
                   keep("%y = " + std::string(op) + " %x : tensor<2x3xf64>"),
                   {{"%y", "tensor<2x3xf64>"}}});
}

void addBinary(Table &table, const char *op, Variable a, Variable b) {
  table.push_back({op,
                   {a, b},
                   keep("%y = " + std::string(op) + " %" + a.name + ", %" +
                        b.name + " : tensor<2x3xf64>"),
                   {{"%y", "tensor<2x3xf64>"}}});
}

void addArith(Table &table) {
  Variable a{"a", "2x3"}, b{"b", "2x3"};
  addBinary(table, "arith.addf", a, b);
  addBinary(table, "arith.subf", a, b);
  addBinary(table, "arith.mulf", a, b);
  addBinary(table, "arith.divf", a, {"b", "2x3", 0.5, 2.0});
  addUnary(table, "arith.negf", -1.0, 1.0);
  // Random elements are never within a difference step of each other.
  for (const char *op :
       {"arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"}) {
    addBinary(table, op, a, b);
    table.push_back(
        {op,
         {{"x", "2x3"}},
         keep("%c = arith.constant dense<0.1> : tensor<2x3xf64>\n%y = " +
              std::string(op) + " %x, %c : tensor<2x3xf64>"),
         {{"%y", "tensor<2x3xf64>"}}});
  }
  table.push_back(
      {"arith.select",
       {a, b},
       "%c = arith.constant dense<[[true, false, true], [false, false, true]]> "
       ": tensor<2x3xi1>\n"
       "%y = arith.select %c, %a, %b : tensor<2x3xi1>, tensor<2x3xf64>",
       {{"%y", "tensor<2x3xf64>"}}});
  table.push_back({"arith.constant",
                   {a},
                   "%c = arith.constant dense<3.0> : tensor<2x3xf64>\n"
                   "%y = arith.mulf %a, %c : tensor<2x3xf64>",
                   {{"%y", "tensor<2x3xf64>"}}});
  // Rounding to f32 needs a larger step: the functions are linear.
  table.push_back({"arith.truncf",
                   {a},
                   "%y = arith.truncf %a : tensor<2x3xf64> to tensor<2x3xf32>",
                   {{"%y", "tensor<2x3xf32>"}},
                   1e-2,
                   1e-4});
  table.push_back({"arith.extf",
                   {a},
                   "%n = arith.truncf %a : tensor<2x3xf64> to tensor<2x3xf32>\n"
                   "%y = arith.extf %n : tensor<2x3xf32> to tensor<2x3xf64>",
                   {{"%y", "tensor<2x3xf64>"}},
                   1e-2,
                   1e-4});
  for (const char *op : {"arith.sitofp", "arith.uitofp"})
    table.push_back({op,
                     {{"x", "3", 1.2, 1.8}},
                     keep("%i = arith.fptosi %x : tensor<3xf64> to "
                          "tensor<3xi64>\n%f = " +
                          std::string(op) +
                          " %i : tensor<3xi64> to tensor<3xf64>\n"
                          "%y = arith.mulf %x, %f : tensor<3xf64>"),
                     {{"%y", "tensor<3xf64>"}}});
}

void addMath(Table &table) {
  addUnary(table, "math.exp", -2.0, 2.0);
  addUnary(table, "math.expm1", -2.0, 2.0);
  addUnary(table, "math.log", 0.5, 3.0);
  addUnary(table, "math.log1p", -0.5, 2.0);
  addUnary(table, "math.sqrt", 0.5, 3.0);
  addUnary(table, "math.rsqrt", 0.5, 3.0);
  addUnary(table, "math.tanh", -2.0, 2.0);
  addUnary(table, "math.erf", -2.0, 2.0);
  addUnary(table, "math.sin", -2.0, 2.0);
  addUnary(table, "math.cos", -2.0, 2.0);
  addUnary(table, "math.tan", -1.0, 1.0);
  addUnary(table, "math.atan", -3.0, 3.0);
  addUnary(table, "math.sinh", -2.0, 2.0);
  addUnary(table, "math.cosh", -2.0, 2.0);
  addUnary(table, "math.absf", -2.0, -0.1);
  addUnary(table, "math.absf", 0.1, 2.0);
  addBinary(table, "math.powf", {"a", "2x3", 0.5, 2.0}, {"b", "2x3"});
  for (const char *exponent : {"0.0", "0.5", "1.0", "2.0", "3.0", "-1.5"})
    table.push_back({"math.powf",
                     {{"x", "2x3", 0.5, 2.0}},
                     keep("%c = arith.constant dense<" + std::string(exponent) +
                          "> : tensor<2x3xf64>\n"
                          "%p = math.powf %x, %c : tensor<2x3xf64>\n"
                          "%y = arith.addf %p, %x : tensor<2x3xf64>"),
                     {{"%y", "tensor<2x3xf64>"}}});
  // Constant between the kinks, so the gradient is that of the sum's other
  // term.
  for (const char *op : {"math.floor", "math.ceil", "math.trunc",
                         "math.roundeven", "math.round"})
    table.push_back({op,
                     {{"x", "2x3", 1.1, 1.4}},
                     keep("%r = " + std::string(op) +
                          " %x : tensor<2x3xf64>\n"
                          "%y = arith.mulf %x, %r : tensor<2x3xf64>"),
                     {{"%y", "tensor<2x3xf64>"}}});
}

void addShape(Table &table) {
  table.push_back({"tensor.collapse_shape",
                   {{"x", "2x3x4"}},
                   "%y = tensor.collapse_shape %x [[0, 1], [2]] : "
                   "tensor<2x3x4xf64> into tensor<6x4xf64>",
                   {{"%y", "tensor<6x4xf64>"}}});
  table.push_back({"tensor.expand_shape",
                   {{"x", "6x4"}},
                   "%y = tensor.expand_shape %x [[0, 1], [2, 3]] output_shape "
                   "[2, 3, 4, 1] : tensor<6x4xf64> into tensor<2x3x4x1xf64>",
                   {{"%y", "tensor<2x3x4x1xf64>"}}});
  table.push_back({"graph.broadcast",
                   {{"x", "3"}},
                   "%y = graph.broadcast %x dims = [1] : tensor<3xf64> -> "
                   "tensor<2x3x4xf64>",
                   {{"%y", "tensor<2x3x4xf64>"}}});
  table.push_back({"graph.broadcast",
                   {{"x", ""}},
                   "%y = graph.broadcast %x dims = [] : tensor<f64> -> "
                   "tensor<2x3xf64>",
                   {{"%y", "tensor<2x3xf64>"}}});
  table.push_back({"graph.transpose",
                   {{"x", "2x3x4"}},
                   "%y = graph.transpose %x permutation = [2, 0, 1] : "
                   "tensor<2x3x4xf64> -> tensor<4x2x3xf64>",
                   {{"%y", "tensor<4x2x3xf64>"}}});
}

void addDataMovement(Table &table) {
  // Index 1 is looked up twice.
  const char *keys =
      "%i = arith.constant dense<[[1, 3], [0, 1]]> : tensor<2x2xi64>\n";
  table.push_back({"graph.gather",
                   {{"t", "4x3"}},
                   keep(std::string(keys) +
                        "%y = graph.gather %t, %i dim = 0 : (tensor<4x3xf64>, "
                        "tensor<2x2xi64>) -> tensor<2x2x3xf64>"),
                   {{"%y", "tensor<2x2x3xf64>"}}});
  table.push_back(
      {"graph.gather",
       {{"t", "2x3x4"}},
       keep(std::string(keys) + "%y = graph.gather %t, %i dim = 2 batch = 1 : "
                                "(tensor<2x3x4xf64>, tensor<2x2xi64>) -> "
                                "tensor<2x3x2xf64>"),
       {{"%y", "tensor<2x3x2xf64>"}}});
  table.push_back(
      {"graph.scatter_add",
       {{"u", "2x2x3"}},
       keep(std::string(keys) + "%y = graph.scatter_add %u, %i dim = 0 : "
                                "(tensor<2x2x3xf64>, tensor<2x2xi64>) -> "
                                "tensor<4x3xf64>"),
       {{"%y", "tensor<4x3xf64>"}}});
  // An update outside of the table has no influence.
  table.push_back({"graph.scatter_add",
                   {{"u", "2x3x2"}},
                   "%i = arith.constant dense<[[1, 4], [-1, 1]]> : "
                   "tensor<2x2xi64>\n"
                   "%y = graph.scatter_add %u, %i dim = 2 batch = 1 : "
                   "(tensor<2x3x2xf64>, tensor<2x2xi64>) -> tensor<2x3x4xf64>",
                   {{"%y", "tensor<2x3x4xf64>"}}});
  table.push_back({"graph.slice",
                   {{"x", "4x5"}},
                   "%y = graph.slice %x offsets = [1, 0] : tensor<4x5xf64> -> "
                   "tensor<2x3xf64>",
                   {{"%y", "tensor<2x3xf64>"}}});
  table.push_back({"graph.pad",
                   {{"x", "2x3"}},
                   "%y = graph.pad %x low = [1, 0] : tensor<2x3xf64> -> "
                   "tensor<4x5xf64>",
                   {{"%y", "tensor<4x5xf64>"}}});
  table.push_back({"graph.concat",
                   {{"a", "2x3"}, {"b", "2x1"}},
                   "%y = graph.concat %a, %b, %a dim = 1 : (tensor<2x3xf64>, "
                   "tensor<2x1xf64>, tensor<2x3xf64>) -> tensor<2x7xf64>",
                   {{"%y", "tensor<2x7xf64>"}}});
}

void addReductions(Table &table) {
  for (const char *kind : {"sum", "max", "min", "product"}) {
    std::string reduce = "%y = graph.reduce " + std::string(kind);
    table.push_back(
        {"graph.reduce",
         {{"x", "2x3x4"}},
         keep(reduce + " %x dims = [1] : tensor<2x3x4xf64> -> tensor<2x4xf64>"),
         {{"%y", "tensor<2x4xf64>"}}});
    table.push_back(
        {"graph.reduce",
         {{"x", "2x3"}},
         keep(reduce + " %x dims = [0, 1] : tensor<2x3xf64> -> tensor<f64>"),
         {{"%y", "tensor<f64>"}}});
  }
  // Zeros in a product: one in the first row, two in the second. The factor is
  // added so that zeros stay zeros but have a gradient.
  table.push_back(
      {"graph.reduce",
       {{"x", "2x3"}},
       "%m = arith.constant dense<[[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]> : "
       "tensor<2x3xf64>\n"
       "%z = arith.mulf %x, %m : tensor<2x3xf64>\n"
       "%p = graph.reduce product %z dims = [1] : tensor<2x3xf64> -> "
       "tensor<2xf64>\n"
       "%s = graph.reduce sum %x dims = [1] : tensor<2x3xf64> -> "
       "tensor<2xf64>\n"
       "%y = arith.addf %p, %s : tensor<2xf64>",
       {{"%y", "tensor<2xf64>"}}});

  struct Contract {
    const char *lhs, *rhs, *dims, *result;
  };
  // Every layout of a matrix product, batches, several dimensions at once.
  for (const Contract &c : {
           Contract{"2x3", "4x3", "batch = [] x [] contract = [1] x [1]",
                    "2x4"},
           Contract{"2x3", "3x4", "batch = [] x [] contract = [1] x [0]",
                    "2x4"},
           Contract{"3x2", "4x3", "batch = [] x [] contract = [0] x [1]",
                    "2x4"},
           Contract{"5x2x3", "5x3x4", "batch = [0] x [0] contract = [2] x [1]",
                    "5x2x4"},
           Contract{"2x5x3", "3x4x5", "batch = [1] x [2] contract = [2] x [0]",
                    "5x2x4"},
           Contract{"2x3x4", "4x5x3",
                    "batch = [] x [] contract = [1, 2] x "
                    "[2, 0]",
                    "2x5"},
           Contract{"3", "3", "batch = [] x [] contract = [0] x [0]", ""},
           Contract{"2", "3", "batch = [] x [] contract = [] x []", "2x3"},
           Contract{"2x3x4", "3x5", "batch = [] x [] contract = [1] x [0]",
                    "2x4x5"},
       }) {
    auto type = [](const char *shape) {
      return "tensor<" + std::string(shape) + (*shape ? "x" : "") + "f64>";
    };
    table.push_back(
        {"graph.contract",
         {{"a", c.lhs}, {"b", c.rhs}},
         keep("%y = graph.contract %a, %b " + std::string(c.dims) + " : (" +
              type(c.lhs) + ", " + type(c.rhs) + ") -> " + type(c.result)),
         {{"%y", keep(type(c.result))}}});
  }
}

void addConvolutions(Table &table) {
  struct Geometry {
    const char *x, *w, *y, *attributes;
  };
  for (const Geometry &g : {
           Geometry{"2x3x5x4", "4x3x3x2", "2x4x5x4",
                    "strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 1>,"
                    " dilations = array<i64: 1, 1>"},
           Geometry{"1x4x6x7", "6x2x2x3", "1x6x3x3",
                    "strides = array<i64: 2, 3>, pads = array<i64: 0, 1, 1, 1>,"
                    " dilations = array<i64: 1, 1>, groups = 2 : i64"},
           Geometry{"2x2x7x7", "2x1x3x3", "2x2x3x5",
                    "strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>,"
                    " dilations = array<i64: 2, 2>, groups = 2 : i64"},
       }) {
    std::string x = "tensor<" + std::string(g.x) + "xf64>";
    std::string w = "tensor<" + std::string(g.w) + "xf64>";
    std::string y = "tensor<" + std::string(g.y) + "xf64>";
    std::string attributes = " {" + std::string(g.attributes) + "} : (";
    std::string channels(g.w, 1);
    table.push_back({"graph.conv",
                     {{"x", g.x}, {"w", g.w}, {"b", keep(channels)}},
                     keep("%y = graph.conv %x, %w bias %b" + attributes + x +
                          ", " + w + ", tensor<" + channels + "xf64>) -> " + y),
                     {{"%y", keep(y)}}});
    table.push_back({"graph.conv_input_grad",
                     {{"dy", g.y}, {"w", g.w}},
                     keep("%y = graph.conv_input_grad %dy, %w" + attributes +
                          y + ", " + w + ") -> " + x),
                     {{"%y", keep(x)}}});
    table.push_back({"graph.conv_weight_grad",
                     {{"x", g.x}, {"dy", g.y}},
                     keep("%y = graph.conv_weight_grad %x, %dy" + attributes +
                          x + ", " + y + ") -> " + w),
                     {{"%y", keep(w)}}});
  }
}

void addPools(Table &table) {
  struct Geometry {
    const char *x, *y, *attributes;
  };
  for (const Geometry &g : {
           Geometry{"2x2x4x4", "2x2x2x2",
                    "window = array<i64: 2, 2>, strides = array<i64: 2, 2>, "
                    "pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, "
                    "1>"},
           // Overlapping, padded, and a last window cut (ceil mode).
           Geometry{"1x2x6x5", "1x2x4x3",
                    "window = array<i64: 3, 3>, strides = array<i64: 2, 2>, "
                    "pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, "
                    "1>"},
           Geometry{"1x1x6x6", "1x1x2x4",
                    "window = array<i64: 2, 2>, strides = array<i64: 3, 1>, "
                    "pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 2, "
                    "2>"},
       }) {
    std::string x = "tensor<" + std::string(g.x) + "xf64>";
    std::string y = "tensor<" + std::string(g.y) + "xf64>";
    std::string end = " : (" + x + ") -> " + y;
    std::string attributes = g.attributes;
    table.push_back({"graph.pool",
                     {{"x", g.x}},
                     keep("%y = graph.pool max %x {" + attributes + "}" + end),
                     {{"%y", keep(y)}}});
    for (const char *pad : {"", ", count_include_pad"}) {
      table.push_back(
          {"graph.pool",
           {{"x", g.x}},
           keep("%y = graph.pool average %x {" + attributes + pad + "}" + end),
           {{"%y", keep(y)}}});
      table.push_back({"graph.average_pool_grad",
                       {{"dy", g.y}},
                       keep("%y = graph.average_pool_grad %dy {" + attributes +
                            pad + "} : (" + y + ") -> " + x),
                       {{"%y", keep(x)}}});
    }
  }
}

void addComposites(Table &table) {
  for (const char *op : {"graph.softmax", "graph.log_softmax"})
    for (const char *dim : {"0", "1", "2"})
      table.push_back({op,
                       {{"x", "2x3x4"}},
                       keep("%y = " + std::string(op) + " %x dim = " + dim +
                            " : tensor<2x3x4xf64>"),
                       {{"%y", "tensor<2x3x4xf64>"}}});
  Variable x{"x", "4x3x2x2"}, scale{"s", "3", 0.5, 1.5}, bias{"b", "3"};
  table.push_back(
      {"graph.batch_norm",
       {x, scale, bias, {"m", "3"}, {"v", "3", 0.5, 2.0}},
       "%y = graph.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, "
       "momentum = 0.9 : f64} : (tensor<4x3x2x2xf64>, tensor<3xf64>, "
       "tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<4x3x2x2xf64>",
       {{"%y", "tensor<4x3x2x2xf64>"}}});
  const char *train =
      "%y, %mean, %var = graph.batch_norm_train %x, %s, %b {epsilon = 1.0e-3 : "
      "f64} : (tensor<4x3x2x2xf64>, tensor<3xf64>, tensor<3xf64>) -> "
      "(tensor<4x3x2x2xf64>, tensor<3xf64>, tensor<3xf64>)";
  table.push_back({"graph.batch_norm_train",
                   {x, scale, bias},
                   train,
                   {{"%y", "tensor<4x3x2x2xf64>"}}});
  table.push_back({"graph.batch_norm_train",
                   {x, scale, bias},
                   train,
                   {{"%y", "tensor<4x3x2x2xf64>"},
                    {"%mean", "tensor<3xf64>"},
                    {"%var", "tensor<3xf64>"}}});
  table.push_back(
      {"graph.batch_norm_train",
       {{"x", "5x3"}, scale, bias},
       "%y, %mean, %var = graph.batch_norm_train %x, %s, %b {epsilon = 1.0e-3 "
       ": f64} : (tensor<5x3xf64>, tensor<3xf64>, tensor<3xf64>) -> "
       "(tensor<5x3xf64>, tensor<3xf64>, tensor<3xf64>)",
       {{"%y", "tensor<5x3xf64>"}, {"%mean", "tensor<3xf64>"}}});
  table.push_back(
      {"graph.dropout",
       {{"x", "4x5"}},
       "%y = graph.dropout %x, %step {ratio = 0.4 : f64, id = 7 : i64} : "
       "(tensor<4x5xf64>, !graph.step) -> tensor<4x5xf64>",
       {{"%y", "tensor<4x5xf64>"}}});
  for (const char *smoothing : {"0.0", "0.2"}) {
    const char *body =
        keep("%labels = arith.constant dense<[2, -100, 0, 1]> : tensor<4xi64>\n"
             "%loss, %lse = graph.cross_entropy %x, %labels {ignore_index = "
             "-100 : i64, label_smoothing = " +
             std::string(smoothing) +
             " : f64} : (tensor<4x3xf64>, tensor<4xi64>) -> (tensor<4xf64>, "
             "tensor<4xf64>)");
    table.push_back({"graph.cross_entropy",
                     {{"x", "4x3"}},
                     body,
                     {{"%loss", "tensor<4xf64>"}}});
    table.push_back({"graph.cross_entropy",
                     {{"x", "4x3"}},
                     body,
                     {{"%loss", "tensor<4xf64>"}, {"%lse", "tensor<4xf64>"}}});
  }
}

/// A cell with every kind of operand: carried values of which one is stacked
/// before and one after its change, a product with an invariant on either side,
/// an invariant that is broadcast and one that the body transposes.
const char *scanBody(const char *reverse) {
  return keep(
      "%final, %last, %y, %z = graph.scan 3" + std::string(reverse) +
      " inits(%h, %c) sequences(%x) invariants(%w, %v, %b) {\n"
      "^bb0(%hh: tensor<2x4xf64>, %cc: tensor<2x4xf64>, %xx: tensor<2x4xf64>, "
      "%ww: tensor<4x4xf64>, %vv: tensor<2x2xf64>, %bb: tensor<4xf64>):\n"
      "%p = graph.contract %hh, %ww batch = [] x [] contract = [1] x [1] : "
      "(tensor<2x4xf64>, tensor<4x4xf64>) -> tensor<2x4xf64>\n"
      "%q = graph.contract %vv, %cc batch = [] x [] contract = [1] x [0] : "
      "(tensor<2x2xf64>, tensor<2x4xf64>) -> tensor<2x4xf64>\n"
      "%s = arith.addf %p, %q : tensor<2x4xf64>\n"
      "%s1 = arith.mulf %s, %xx : tensor<2x4xf64>\n"
      "%rows = graph.broadcast %bb dims = [1] : tensor<4xf64> -> "
      "tensor<2x4xf64>\n"
      "%s2 = arith.addf %s1, %rows : tensor<2x4xf64>\n"
      "%t = math.tanh %s2 : tensor<2x4xf64>\n"
      "%e = math.exp %t : tensor<2x4xf64>\n"
      "%n = arith.mulf %cc, %t : tensor<2x4xf64>\n"
      "%u = arith.addf %n, %e : tensor<2x4xf64>\n"
      "graph.yield %t, %u, %t, %cc : tensor<2x4xf64>, tensor<2x4xf64>, "
      "tensor<2x4xf64>, tensor<2x4xf64>\n"
      "} : (tensor<2x4xf64>, tensor<2x4xf64>, tensor<3x2x4xf64>, "
      "tensor<4x4xf64>, tensor<2x2xf64>, tensor<4xf64>) -> (tensor<2x4xf64>, "
      "tensor<2x4xf64>, tensor<3x2x4xf64>, tensor<3x2x4xf64>)");
}

void addScans(Table &table) {
  Variables all{{"h", "2x4"}, {"c", "2x4"}, {"x", "3x2x4"},
                {"w", "4x4"}, {"v", "2x2"}, {"b", "4"}};
  for (const char *reverse : {"", " reverse"})
    table.push_back({"graph.scan",
                     all,
                     scanBody(reverse),
                     {{"%final", "tensor<2x4xf64>"},
                      {"%last", "tensor<2x4xf64>"},
                      {"%y", "tensor<3x2x4xf64>"},
                      {"%z", "tensor<3x2x4xf64>"}}});
  // Only a part of the results is used.
  table.push_back(
      {"graph.scan", all, scanBody(""), {{"%y", "tensor<3x2x4xf64>"}}});
  table.push_back(
      {"graph.scan", all, scanBody(""), {{"%last", "tensor<2x4xf64>"}}});
  // Products with a batch dimension, the invariant left and right.
  for (const char *operands : {"%xx, %ww", "%ww, %xx"})
    table.push_back(
        {"graph.scan",
         {{"x", "3x2x4x5"}, {"w", "2x5x4"}},
         keep("%y = graph.scan 3 inits() sequences(%x) invariants(%w) {\n"
              "^bb0(%xx: tensor<2x4x5xf64>, %ww: tensor<2x5x4xf64>):\n" +
              std::string(std::string_view(operands) == "%xx, %ww"
                              ? "%p = graph.contract %xx, %ww batch = [0] x "
                                "[0] contract = [2] x [1] : "
                                "(tensor<2x4x5xf64>, tensor<2x5x4xf64>) -> "
                                "tensor<2x4x4xf64>\n"
                              : "%p = graph.contract %ww, %xx batch = [0] x "
                                "[0] contract = [1] x [2] : "
                                "(tensor<2x5x4xf64>, tensor<2x4x5xf64>) -> "
                                "tensor<2x4x4xf64>\n") +
              "%t = math.tanh %p : tensor<2x4x4xf64>\n"
              "graph.yield %t : tensor<2x4x4xf64>\n"
              "} : (tensor<3x2x4x5xf64>, tensor<2x5x4xf64>) -> "
              "tensor<3x2x4x4xf64>"),
         {{"%y", "tensor<3x2x4x4xf64>"}}});
  // A loop in a loop: the body multiplies the carried value twice by x.
  table.push_back(
      {"graph.scan",
       {{"h", "2"}, {"x", "3x2"}},
       "%y = graph.scan 3 inits(%h) sequences(%x) invariants() {\n"
       "^bb0(%hh: tensor<2xf64>, %xx: tensor<2xf64>):\n"
       "%i = graph.scan 2 inits(%hh) sequences() invariants(%xx) {\n"
       "^bb0(%g: tensor<2xf64>, %f: tensor<2xf64>):\n"
       "%p = arith.mulf %g, %f : tensor<2xf64>\n"
       "%t = math.tanh %p : tensor<2xf64>\n"
       "graph.yield %t : tensor<2xf64>\n"
       "} : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>\n"
       "%s = arith.addf %i, %xx : tensor<2xf64>\n"
       "graph.yield %s : tensor<2xf64>\n"
       "} : (tensor<2xf64>, tensor<3x2xf64>) -> tensor<2xf64>",
       {{"%y", "tensor<2xf64>"}}});
}

void addNorms(Table &table) {
  struct Shape {
    const char *x, *scale, *statistic;
  };
  // One and two normalised dimensions, and a single row.
  for (const Shape &s : {Shape{"3x2x4", "4", "tensor<3x2xf64>"},
                         Shape{"3x2x4", "2x4", "tensor<3xf64>"},
                         Shape{"5", "5", "tensor<f64>"}}) {
    std::string x = "tensor<" + std::string(s.x) + "xf64>";
    std::string scale = "tensor<" + std::string(s.scale) + "xf64>";
    std::string statistic = s.statistic;
    Variable input{"x", s.x}, factor{"s", s.scale, 0.5, 1.5},
        bias{"b", s.scale};
    const char *layerNorm =
        keep("%y, %mean, %rstd = graph.layer_norm %x, %s bias %b {epsilon = "
             "1.0e-2 : f64} : (" +
             x + ", " + scale + ", " + scale + ") -> (" + x + ", " + statistic +
             ", " + statistic + ")");
    table.push_back({"graph.layer_norm",
                     {input, factor, bias},
                     layerNorm,
                     {{"%y", keep(x)}}});
    table.push_back(
        {"graph.layer_norm",
         {input, factor, bias},
         layerNorm,
         {{"%y", keep(x)}, {"%mean", s.statistic}, {"%rstd", s.statistic}}});
    table.push_back({"graph.layer_norm",
                     {input, factor},
                     keep("%y, %mean, %rstd = graph.layer_norm %x, %s {epsilon "
                          "= 1.0e-2 : f64} : (" +
                          x + ", " + scale + ") -> (" + x + ", " + statistic +
                          ", " + statistic + ")"),
                     {{"%y", keep(x)}}});
    const char *rmsNorm =
        keep("%y, %rstd = graph.rms_norm %x, %s {epsilon = 1.0e-2 : f64} : (" +
             x + ", " + scale + ") -> (" + x + ", " + statistic + ")");
    table.push_back(
        {"graph.rms_norm", {input, factor}, rmsNorm, {{"%y", keep(x)}}});
    table.push_back({"graph.rms_norm",
                     {input, factor},
                     rmsNorm,
                     {{"%y", keep(x)}, {"%rstd", s.statistic}}});
  }
}

void addAttention(Table &table) {
  for (const char *kind : {"none", "tanh"})
    table.push_back(
        {"graph.gelu",
         {{"x", "2x3", -3.0, 3.0}},
         keep("%y = graph.gelu " + std::string(kind) + " %x : tensor<2x3xf64>"),
         {{"%y", "tensor<2x3xf64>"}}});
  table.push_back({"graph.sigmoid",
                   {{"x", "2x3", -3.0, 3.0}},
                   keep("%y = graph.sigmoid %x : tensor<2x3xf64>"),
                   {{"%y", "tensor<2x3xf64>"}}});
  table.push_back({"graph.silu",
                   {{"x", "2x3", -3.0, 3.0}},
                   keep("%y = graph.silu %x : tensor<2x3xf64>"),
                   {{"%y", "tensor<2x3xf64>"}}});
  const char *mask = "%m = arith.constant dense<[[[[0.0, -1.0, 0.5, 0.1]]], "
                     "[[[0.0, 0.0, 0xFFF0000000000000, 0.2]]]]> : "
                     "tensor<2x1x1x4xf64>\n";
  struct Form {
    const char *before, *operands, *attributes, *types;
  };
  for (const Form &f :
       {Form{"", "", "", ""}, Form{"", "", ", causal", ""},
        Form{mask, " mask %m", "", ", tensor<2x1x1x4xf64>"},
        Form{"", " step %step", ", causal, ratio = 0.3 : f64, id = 5 : i64",
             ", !graph.step"}})
    table.push_back(
        {"graph.attention",
         {{"q", "2x4x3x2"}, {"k", "2x2x4x2"}, {"v", "2x2x4x3"}},
         keep(f.before + std::string("%y, %lse = graph.attention %q, %k, %v") +
              f.operands + " {scale = 0.7 : f64" + f.attributes +
              "} : (tensor<2x4x3x2xf64>, tensor<2x2x4x2xf64>, "
              "tensor<2x2x4x3xf64>" +
              f.types + ") -> (tensor<2x4x3x3xf64>, tensor<2x4x3xf64>)"),
         {{"%y", "tensor<2x4x3x3xf64>"}}});
}

Table makeTable() {
  Table table;
  addArith(table);
  addMath(table);
  addShape(table);
  addDataMovement(table);
  addReductions(table);
  addConvolutions(table);
  addPools(table);
  addComposites(table);
  addScans(table);
  addNorms(table);
  addAttention(table);
  return table;
}

} // namespace

llvm::ArrayRef<GradientCase> gradientTable() {
  static const Table table = makeTable();
  return table;
}

} // namespace bessemer::test
