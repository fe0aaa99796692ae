// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of custom ONNX domains: what a plugin brings so that the importer takes
// their nodes.

#ifndef BESSEMER_IMPORT_CUSTOMOP_H
#define BESSEMER_IMPORT_CUSTOMOP_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bessemer {

namespace ingest {
class NodeImport;
} // namespace ingest

/// One ONNX node of a custom domain while it is imported.
class CustomNode {
public:
  explicit CustomNode(ingest::NodeImport &node);

  /// Builds at the end of `@model`.
  mlir::OpBuilder &builder;
  /// The node's name and the user's source line.
  mlir::Location loc;

  size_t operandCount() const;
  /// Whether operand `i` is given: optional operands may be left out.
  bool has(size_t i) const;
  mlir::RankedTensorType type(size_t i) const;
  mlir::Value value(size_t i);
  /// The one number that all elements of operand `i` are, when that is known
  /// while compiling.
  std::optional<double> splat(size_t i) const;
  /// Fails with a message unless operand `i` is given and a float tensor.
  llvm::LogicalResult requireFloat(size_t i);

  // Attributes. Fail with a message when the node has one of another type, or
  // has none and there is no default.
  llvm::FailureOr<int64_t>
  intAttribute(llvm::StringRef name,
               std::optional<int64_t> otherwise = std::nullopt);
  llvm::FailureOr<double>
  floatAttribute(llvm::StringRef name,
                 std::optional<double> otherwise = std::nullopt);
  llvm::FailureOr<std::string>
  stringAttribute(llvm::StringRef name,
                  std::optional<std::string> otherwise = std::nullopt);
  llvm::FailureOr<std::vector<int64_t>>
  intsAttribute(llvm::StringRef name,
                std::optional<std::vector<int64_t>> otherwise = std::nullopt);

  /// The step block, for random numbers.
  mlir::Value step();
  /// An id for random numbers that no other op has.
  int64_t newRandomId();

  /// Sets the values of the node's outputs, in order.
  void setResults(mlir::ValueRange results);
  /// Says why the node cannot be imported (lower case: expected, got); fails.
  llvm::LogicalResult fail(const llvm::Twine &what);

private:
  ingest::NodeImport &node;
};

using Shape = std::vector<int64_t>;

/// How the nodes of one op of a custom domain are imported.
struct CustomOp {
  /// Builds the results; on failure it has called `fail`.
  std::function<llvm::LogicalResult(CustomNode &)> import;
  /// Shapes of the outputs from those of the operands (an operand that is left
  /// out has none), so that ONNX's composites behind the op can be expanded;
  /// nothing when they do not fit. Outputs have the first operand's element
  /// type. Default: one output with the shape of the first operand.
  std::function<std::optional<std::vector<Shape>>(
      const std::vector<std::optional<Shape>> &)>
      inferShapes;
};

/// Custom ops by domain and name.
class CustomOps {
public:
  /// Whether `op` was added: false when the name is taken already.
  bool add(std::string domain, std::string name, CustomOp op) {
    return table
        .try_emplace({std::move(domain), std::move(name)}, std::move(op))
        .second;
  }

  const CustomOp *find(const std::string &domain,
                       const std::string &name) const {
    auto found = table.find({domain, name});
    return found == table.end() ? nullptr : &found->second;
  }

private:
  std::map<std::pair<std::string, std::string>, CustomOp> table;
};

} // namespace bessemer

#endif // BESSEMER_IMPORT_CUSTOMOP_H
