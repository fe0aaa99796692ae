// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding the symbolic dimensions of a model's inputs to numbers.

#include "Dimensions.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace bessemer;
using namespace bessemer::ingest;

namespace {
/// A symbol and the places in the inputs that it stands in.
struct Symbol {
  std::string name;
  std::vector<onnx::TensorShapeProto::Dimension *> places;
  std::vector<std::string> descriptions;
  /// The inputs of which it is dimension 0, and a place where it is another.
  std::vector<std::string> leads;
  std::string otherPlace;
  bool isBatch() const { return !leads.empty(); }
};
} // namespace

/// Exporters write "not known" as 0, -1 or '?': all of them are symbols here,
/// named after their place.
static std::string symbolOf(const onnx::TensorShapeProto::Dimension &dimension,
                            const std::string &input, int axis) {
  if (dimension.has_dim_value() && dimension.dim_value() > 0)
    return {};
  if (!dimension.dim_param().empty() && dimension.dim_param() != "?")
    return dimension.dim_param();
  return input + "." + std::to_string(axis);
}

llvm::FailureOr<BoundDimensions>
ingest::bindDimensions(onnx::GraphProto &graph,
                       const std::vector<std::string> &inputs,
                       const ImportOptions &options, const std::string &label,
                       ImportDiagnostics &diagnostics) {
  size_t errors = diagnostics.errors.size();
  auto fail = [&](const std::string &what) {
    diagnostics.errors.push_back(label + ": " + what);
  };

  std::vector<Symbol> symbols;
  std::vector<std::pair<std::string, int64_t>> fixedBatch;
  /// What accumulation splits: 'batch', or the symbol of dimension 0 of the
  /// first input.
  std::optional<std::string> splitSymbol;
  for (onnx::ValueInfoProto &input : *graph.mutable_input()) {
    if (!llvm::is_contained(inputs, input.name()))
      continue;
    if (!input.type().has_tensor_type()) {
      fail("input '" + input.name() + "' is not a tensor");
      continue;
    }
    if (!input.type().tensor_type().has_shape()) {
      fail("input '" + input.name() +
           "' has no shape; expected a tensor of known rank");
      continue;
    }
    auto &shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int axis = 0; axis < shape.dim_size(); ++axis) {
      auto &dimension = *shape.mutable_dim(axis);
      std::string name = symbolOf(dimension, input.name(), axis);
      if (!splitSymbol)
        splitSymbol = name;
      if (name.empty()) {
        if (axis == 0)
          fixedBatch.emplace_back(input.name(), dimension.dim_value());
        continue;
      }
      auto it = llvm::find_if(symbols,
                              [&](const Symbol &s) { return s.name == name; });
      if (it == symbols.end()) {
        symbols.push_back(Symbol());
        it = std::prev(symbols.end());
        it->name = name;
      }
      it->places.push_back(&dimension);
      it->descriptions.push_back("'" + input.name() + "' (dimension " +
                                 std::to_string(axis) + ")");
      if (axis == 0)
        it->leads.push_back(input.name());
      else if (it->otherPlace.empty())
        it->otherPlace = "dimension " + std::to_string(axis) + " of input '" +
                         input.name() + "'";
    }
  }

  std::map<std::string, int64_t> given = options.dims;
  std::optional<int64_t> batch = options.batch;
  bool hasBatchSymbol =
      llvm::any_of(symbols, [](const Symbol &s) { return s.name == "batch"; });
  if (auto it = given.find("batch"); it != given.end() && !hasBatchSymbol) {
    if (batch && *batch != it->second)
      fail("--dim batch=" + std::to_string(it->second) + " and --batch " +
           std::to_string(*batch) + " differ");
    batch = it->second;
    given.erase(it);
  }
  for (const auto &[name, value] : given) {
    if (value <= 0)
      fail("dimension '" + name + "' is given as " + std::to_string(value) +
           "; expected a positive number");
    if (llvm::any_of(symbols, [&, &name = name](const Symbol &s) {
          return s.name == name;
        }))
      continue;
    std::string known;
    for (const Symbol &symbol : symbols)
      known += (known.empty() ? "'" : ", '") + symbol.name + "'";
    fail("no dimension is named '" + name + "'; " +
         (symbols.empty() ? "the model's shapes are all fixed"
                          : "the model has " + known));
  }
  if (batch && *batch <= 0)
    fail("the batch is given as " + std::to_string(*batch) +
         "; expected a positive number");
  if (hasBatchSymbol)
    splitSymbol = "batch";
  // The model computes one of several micro-batches.
  auto microBatch = [&](int64_t size) {
    if (size % options.accumulate == 0)
      return size / options.accumulate;
    fail("batch " + std::to_string(size) + " does not split into " +
         std::to_string(options.accumulate) + " equal micro-batches");
    return size;
  };
  bool isFixed = splitSymbol && splitSymbol->empty();
  if (batch && isFixed && options.accumulate > 1)
    batch = microBatch(*batch);

  BoundDimensions bound;
  for (const Symbol &symbol : symbols) {
    if (symbol.name == splitSymbol && options.accumulate > 1) {
      bound.batchInputs = symbol.leads;
      if (!symbol.otherPlace.empty())
        fail("the batch '" + symbol.name + "' is " + symbol.otherPlace +
             "; accumulation splits dimension 0 only");
    }
    std::optional<int64_t> value;
    if (auto it = given.find(symbol.name); it != given.end())
      value = it->second;
    else if (symbol.isBatch())
      value = batch;
    if (!value) {
      std::string places;
      for (const std::string &place : symbol.descriptions)
        places += (places.empty() ? "" : ", ") + place;
      fail("dimension '" + symbol.name + "' of " + places +
           " has no value; give one with --dim " + symbol.name + "=N" +
           (symbol.isBatch() ? " or --batch N" : ""));
      continue;
    }
    bound.values[symbol.name] = *value;
    int64_t size = symbol.name == splitSymbol ? microBatch(*value) : *value;
    for (auto *place : symbol.places)
      place->set_dim_value(size); // a oneof: also clears the symbol
  }

  if (isFixed)
    for (const auto &[input, size] : fixedBatch)
      if (size == fixedBatch.front().second)
        bound.batchInputs.push_back(input);

  // A batch for a model that has one already. Inputs whose dimension 0 is
  // something else than the batch stand beside an input that has the symbol.
  bool anyBatchSymbol =
      llvm::any_of(symbols, [](const Symbol &s) { return s.isBatch(); });
  if (batch && !anyBatchSymbol && !fixedBatch.empty() &&
      llvm::none_of(fixedBatch,
                    [&](const auto &entry) { return entry.second == *batch; }))
    fail("input '" + fixedBatch.front().first +
         "' was exported with the fixed batch " +
         std::to_string(fixedBatch.front().second) + ", got batch " +
         std::to_string(*batch) +
         "; export with a dynamic one: " + exportAdvice);
  // A batch that nothing uses.
  auto firstBatch =
      llvm::find_if(symbols, [](const Symbol &s) { return s.isBatch(); });
  if (batch && firstBatch != symbols.end() &&
      llvm::all_of(symbols,
                   [&](const Symbol &s) {
                     return !s.isBatch() ||
                            (given.count(s.name) && given.at(s.name) != *batch);
                   }) &&
      llvm::none_of(fixedBatch,
                    [&](const auto &entry) { return entry.second == *batch; }))
    fail("dimension '" + firstBatch->name + "' is the batch: --dim " +
         firstBatch->name + "=" + std::to_string(given.at(firstBatch->name)) +
         " and --batch " + std::to_string(*batch) + " differ");
  if (diagnostics.errors.size() != errors)
    return llvm::failure();
  return bound;
}
