// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Einsum: contractions of two operands at a time, from left to right.

#include "NodeImport.h"
#include <map>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

namespace {

/// A dimension: a letter, or a dimension of the ellipsis counted from its end,
/// as a negative number.
using Label = int;
using Labels = SmallVector<Label>;

/// A tensor whose dimensions are labelled, no label twice.
struct Term {
  Value value;
  Labels labels;

  bool has(Label label) const { return llvm::is_contained(labels, label); }
  int64_t dim(Label label) const {
    return llvm::find(labels, label) - labels.begin();
  }
  int64_t size(Label label) const {
    return cast<RankedTensorType>(value.getType()).getShape()[dim(label)];
  }
};

class Einsum {
public:
  explicit Einsum(NodeImport &n) : n(n) {}

  LogicalResult run() {
    if (failed(parse()))
      return failure();
    for (size_t i = 0; i < terms.size(); ++i)
      for (Label label : terms[i].labels)
        sizes[label] = std::max(sizes[label], terms[i].size(label));
    Term result = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) {
      later.assign(output.begin(), output.end());
      for (size_t k = i + 1; k < terms.size(); ++k)
        llvm::append_range(later, terms[k].labels);
      result = product(result, terms[i]);
    }
    later.assign(output.begin(), output.end());
    result = summed(result, Term{});
    n.setResult(ordered(result, output));
    return success();
  }

private:
  LogicalResult parse() {
    std::string equation;
    for (char c : stringAttribute(n.node, "equation", ""))
      if (c != ' ')
        equation += c;
    StringRef inputs = equation, result;
    bool isExplicit = StringRef(equation).contains("->");
    if (isExplicit)
      std::tie(inputs, result) = StringRef(equation).split("->");
    SmallVector<StringRef> texts;
    inputs.split(texts, ',');
    if (texts.size() != n.operandCount())
      return n.fail("expected an equation for " + Twine(n.operandCount()) +
                    " inputs, got '" + equation + "'");
    std::map<Label, int> counts;
    int64_t ellipsis = 0;
    for (auto [i, text] : llvm::enumerate(texts)) {
      if (failed(n.requireFloat(i)) || failed(n.requireSameType(0, i)))
        return failure();
      Term &term = terms.emplace_back(Term{n.value(i), {}});
      int64_t hidden = n.rank(i) - llvm::count_if(text, llvm::isAlpha);
      bool hasEllipsis = text.contains("...");
      if (hidden < 0 || (hidden > 0 && !hasEllipsis) ||
          failed(labelsOf(text, hidden, term.labels)))
        return n.fail("expected " + Twine(n.rank(i)) +
                      " different letters for input " + Twine(i) + ", got '" +
                      text + "'");
      if (hasEllipsis)
        ellipsis = std::max(ellipsis, hidden);
      for (Label label : term.labels) {
        ++counts[label];
        int64_t size = term.size(label), &known = sizes[label];
        if (known > 1 && size > 1 && known != size)
          return n.fail("expected one size of a letter of '" + equation +
                        "', got " + Twine(known) + " and " + Twine(size));
        known = std::max(known, size);
      }
    }
    if (!isExplicit) {
      // The ellipsis, then the letters that occur once, sorted.
      for (int64_t i = ellipsis; i > 0; --i)
        output.push_back(-i);
      for (auto [label, count] : counts)
        if (label > 0 && count == 1)
          output.push_back(label);
      return success();
    }
    if (failed(labelsOf(result, ellipsis, output)) ||
        llvm::any_of(output, [&](Label label) { return !counts[label]; }))
      return n.fail("expected different letters of the inputs as result, got "
                    "'" +
                    result + "'");
    return success();
  }

  /// Fails for a letter or an ellipsis that occurs twice, and for what is
  /// neither.
  static LogicalResult labelsOf(StringRef text, int64_t hidden,
                                Labels &labels) {
    while (!text.empty()) {
      if (text.consume_front("...")) {
        if (text.contains("..."))
          return failure();
        for (int64_t i = hidden; i > 0; --i)
          labels.push_back(-i);
        continue;
      }
      Label label = text.front();
      if (!llvm::isAlpha(text.front()) || llvm::is_contained(labels, label))
        return failure();
      labels.push_back(label);
      text = text.drop_front();
    }
    return success();
  }

  bool isKept(Label label) const { return llvm::is_contained(later, label); }

  /// The sum over the labels that neither `other` nor a later term has.
  /// Dimensions of size 1 that others have larger are dropped.
  Term summed(const Term &term, const Term &other) {
    SmallVector<int64_t> dims, shape;
    Term result;
    for (Label label : term.labels) {
      int64_t size = term.size(label);
      if (size == 1 && sizes[label] > 1)
        continue;
      shape.push_back(size);
      result.labels.push_back(label);
    }
    result.value = n.reshape(term.value, shape);
    Labels kept;
    for (auto [i, label] : llvm::enumerate(result.labels))
      if (!isKept(label) && !other.has(label))
        dims.push_back(i);
      else
        kept.push_back(label);
    if (!dims.empty())
      result.value = graph::buildReduce(
          n.builder, n.loc, graph::ReduceKind::Sum, result.value, dims);
    result.labels = kept;
    return result;
  }

  Value ordered(const Term &term, ArrayRef<Label> labels) {
    SmallVector<int64_t> permutation, dims, shape, target;
    for (auto [i, label] : llvm::enumerate(labels)) {
      target.push_back(sizes[label]);
      if (!term.has(label))
        continue;
      permutation.push_back(term.dim(label));
      shape.push_back(term.size(label));
      dims.push_back(i);
    }
    Value value = term.value;
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    if (!llvm::is_sorted(permutation))
      value = graph::TransposeOp::create(n.builder, n.loc,
                                         RankedTensorType::get(shape, element),
                                         value, permutation);
    return graph::buildBroadcast(n.builder, n.loc, value,
                                 RankedTensorType::get(target, element), dims);
  }

  Term product(const Term &left, const Term &right) {
    Term a = summed(left, right), b = summed(right, left);
    SmallVector<int64_t> batchA, batchB, contractA, contractB;
    Term result;
    for (Label label : a.labels)
      if (b.has(label)) {
        auto &dimsA = isKept(label) ? batchA : contractA;
        auto &dimsB = isKept(label) ? batchB : contractB;
        dimsA.push_back(a.dim(label));
        dimsB.push_back(b.dim(label));
        if (isKept(label))
          result.labels.push_back(label);
      }
    for (const Term *term : {&a, &b})
      for (Label label : term->labels)
        if (!a.has(label) || !b.has(label))
          result.labels.push_back(label);
    if (contractA.empty())
      result.value =
          arith::MulFOp::create(n.builder, n.loc, ordered(a, result.labels),
                                ordered(b, result.labels));
    else
      result.value = graph::ContractOp::create(
          n.builder, n.loc, a.value, b.value, ArrayRef<int64_t>(batchA),
          ArrayRef<int64_t>(batchB), ArrayRef<int64_t>(contractA),
          ArrayRef<int64_t>(contractB));
    return result;
  }

  NodeImport &n;
  std::vector<Term> terms;
  Labels output;
  /// The labels that the result of the next product must have.
  std::vector<Label> later;
  std::map<Label, int64_t> sizes;
};

} // namespace

static LogicalResult importEinsum(NodeImport &n) { return Einsum(n).run(); }

void ingest::addEinsumHandler(HandlerTable &table) {
  table["Einsum"] = importEinsum;
}
