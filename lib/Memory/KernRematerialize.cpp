// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass kern-rematerialize: repeats kernels until every function fits.

#include "RecomputeCost.h"
#include "bessemer/Memory/FunctionModel.h"
#include "bessemer/Memory/Passes.h"
#include "bessemer/Memory/Rematerialization.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "kern-rematerialize"

using namespace mlir;
using namespace bessemer;

namespace bessemer {
#define GEN_PASS_DEF_KERNREMATERIALIZE
#include "bessemer/Memory/Passes.h.inc"
} // namespace bessemer

namespace {
/// The buffers of a program. How many bytes they take packed is found out when
/// somebody asks: packing is dear.
class Buffers {
public:
  Buffers(std::vector<BufferLifetime> lifetimes, int64_t bound)
      : lifetimes(std::move(lifetimes)), bound(bound) {}

  /// Buffer `index` holds the buffers of a loop.
  void addLoop(unsigned index, std::shared_ptr<Buffers> loop) {
    loops.emplace_back(index, std::move(loop));
  }

  /// Less than that no packing takes.
  int64_t getBound() const { return bound; }
  int64_t getPeak() { return pack(/*goal=*/0); }
  bool fit(int64_t budget) { return bound <= budget && pack(budget) <= budget; }

private:
  int64_t pack(int64_t goal) {
    if (peak)
      return *peak;
    for (auto &[index, loop] : loops)
      lifetimes[index].bytes = loop->getPeak();
    int64_t found = packOffsets(lifetimes, kBufferAlignment, goal).peak;
    // A search that ended early says nothing about the best.
    if (goal == 0 || found > goal)
      peak = found;
    return found;
  }

  std::vector<BufferLifetime> lifetimes;
  int64_t bound;
  std::vector<std::pair<unsigned, std::shared_ptr<Buffers>>> loops;
  std::optional<int64_t> peak;
};

/// A function or the body of a loop, and the loops in it. While it steps, a
/// loop counts with its bound.
class Level {
public:
  explicit Level(const FunctionModel &model)
      : model(model), plan(model.problem, costsOf(model)) {
    for (const auto &[node, loop] : model.loops)
      if (loop.workspace) {
        auto body = std::make_unique<Level>(loop.body);
        plan.resize(*loop.workspace, body->plan.getBound());
        loops.emplace(node, Loop{std::move(body), &loop});
      }
    noteBuffers();
  }

  const Rematerializer &getPlan() const { return plan; }
  Buffers &getBuffers() const { return *buffers; }

  /// Lowers the peak by repeating work of at most the cost `most`: in the loop
  /// that has the peak, or around it, where more bytes are freed for their
  /// cost.
  bool step(double most = std::numeric_limits<double>::infinity());

  /// Steps while what is repeated costs no more than a share of the whole.
  void stepForShare(double share);

  /// Steps to the first plan that needs no more than `budget` bytes. Where
  /// there is none, gives the bytes that the best one needs.
  std::optional<int64_t> fitInto(int64_t budget);

  /// Writes the plan into the block that the model was read from.
  void rewrite(Block &block) const;

private:
  struct Loop {
    std::unique_ptr<Level> body;
    const LoopModel *model;
  };

  /// What a step would do, in a loop or around all.
  struct Offer : Rematerializer::Offer {
    Loop *loop;
  };
  std::optional<Offer> peek(double most);
  /// The loop that has the peak, or null.
  Loop *peakLoop();
  void noteBuffers();

  static std::vector<Rematerializer::Cost> costsOf(const FunctionModel &model) {
    std::vector<Rematerializer::Cost> costs;
    for (Operation *op : model.ops)
      costs.push_back(op && isRepeatable(op)
                          ? Rematerializer::Cost(kernelCost(op))
                          : std::nullopt);
    return costs;
  }

  /// Of the given program, and of what is repeated; loops with all iterations.
  double getCost() const;
  double getRepeatedCost() const;

  const FunctionModel &model;
  Rematerializer plan;
  std::map<unsigned, Loop> loops;
  /// Of the plan.
  std::shared_ptr<Buffers> buffers;
};

/// Makes the values that a plan's nodes use.
class OperandRewriter {
public:
  explicit OperandRewriter(const FunctionModel &model) : model(model) {}

  void define(unsigned id, Value value) { values[id] = value; }

  /// Lets `op` use `values` instead of the values of `node`.
  void rewrite(Operation *op, const MemoryProblem::Node &given,
               const MemoryProblem::Node &planned);

private:
  /// `value`, a reshape of the value it was, of the value `id`.
  Value reshaped(OpBuilder &builder, Value value, unsigned id);

  const FunctionModel &model;
  llvm::DenseMap<unsigned, Value> values;
  llvm::DenseMap<std::pair<Value, unsigned>, Value> reshapes;
};
} // namespace

/// How often the body of a loop runs.
static double iterationsOf(const LoopModel &loop) {
  graph::ScanOp scan = loop.op;
  return std::max<double>(1, double(scan.getLength()));
}

double Level::getCost() const {
  double cost = 0;
  for (Operation *op : model.ops)
    if (isa_and_nonnull<kern::KernelOpInterface>(op))
      cost += kernelCost(op);
  for (const auto &[node, loop] : loops)
    cost += iterationsOf(*loop.model) * loop.body->getCost();
  return cost;
}

double Level::getRepeatedCost() const {
  double cost = plan.getRepeatedCost();
  for (const auto &[node, loop] : loops)
    cost += iterationsOf(*loop.model) * loop.body->getRepeatedCost();
  return cost;
}

void Level::noteBuffers() {
  buffers =
      std::make_shared<Buffers>(plan.getStorage().buffers, plan.getBound());
  for (const auto &[node, loop] : loops) {
    Storage storage = plan.getStorage().storage[*loop.model->workspace];
    assert(storage.kind == Storage::Work && "a workspace is no state");
    buffers->addLoop(storage.index, loop.body->buffers);
  }
}

Level::Loop *Level::peakLoop() {
  std::optional<unsigned> node = plan.getPeakNode();
  auto loop = node ? loops.find(plan.getOrigins()[*node]) : loops.end();
  return loop == loops.end() ? nullptr : &loop->second;
}

std::optional<Level::Offer> Level::peek(double most) {
  std::optional<Offer> best;
  if (auto offer = plan.peek(most))
    best = Offer{*offer, nullptr};
  if (Loop *loop = peakLoop()) {
    double iterations = iterationsOf(*loop->model);
    if (std::optional<Offer> inside = loop->body->peek(most / iterations)) {
      inside->cost *= iterations;
      if (!best || inside->getRatio() >= best->getRatio())
        best = Offer{*inside, loop};
    }
  }
  return best;
}

bool Level::step(double most) {
  std::optional<Offer> offer = peek(most);
  if (!offer)
    return false;
  if (Loop *loop = offer->loop) {
    loop->body->step(most / iterationsOf(*loop->model));
    plan.resize(*loop->model->workspace, loop->body->plan.getBound());
  } else {
    plan.step(most);
  }
  noteBuffers();
  return true;
}

void Level::stepForShare(double share) {
  double most = share * getCost();
  while (step(most - getRepeatedCost())) {
  }
}

std::optional<int64_t> Level::fitInto(int64_t budget) {
  // Packing makes peaks that are a little above their bounds, so the best plan
  // need not be the last one: those whose bounds allow it to be another one.
  constexpr size_t kMostKept = 128;
  std::vector<std::shared_ptr<Buffers>> kept;
  int64_t least = std::numeric_limits<int64_t>::max();
  auto drop = [&] {
    least = std::min(least, kept.back()->getPeak());
    llvm::erase_if(kept, [&](const std::shared_ptr<Buffers> &plan) {
      return plan->getBound() >= least;
    });
  };
  do {
    if (buffers->fit(budget))
      return std::nullopt;
    kept.push_back(buffers);
    if (kept.size() > kMostKept)
      drop();
  } while (step());
  // From the lowest bound on.
  while (!kept.empty()) {
    drop();
    if (!kept.empty())
      kept.pop_back();
  }
  return least;
}

Value OperandRewriter::reshaped(OpBuilder &builder, Value value, unsigned id) {
  Operation *reshape = value.getDefiningOp();
  if (!isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(reshape))
    return values.lookup(id);
  Value &known = reshapes[{value, id}];
  if (known)
    return known;
  Value source = reshaped(builder, reshape->getOperand(0), id);
  Operation *copy = builder.clone(*reshape);
  copy->setOperand(0, source);
  return reshapes[{value, id}] = copy->getResult(0);
}

void OperandRewriter::rewrite(Operation *op, const MemoryProblem::Node &given,
                              const MemoryProblem::Node &planned) {
  llvm::DenseMap<unsigned, unsigned> renamed;
  for (auto [from, to] : llvm::zip_equal(given.operands, planned.operands))
    renamed[from] = to;
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    auto known = model.valueIds.find(operand.get());
    if (known == model.valueIds.end())
      continue; // a constant that only starts a loop
    auto to = renamed.find(known->second);
    if (to != renamed.end() && to->second != known->second)
      operand.set(reshaped(builder, operand.get(), to->second));
  }
}

void Level::rewrite(Block &block) const {
  for (const auto &[node, loop] : loops)
    loop.body->rewrite(loop.model->op->getRegion(0).front());
  const MemoryProblem &problem = plan.getProblem();
  OperandRewriter operands(model);
  // A repeated node comes before the next given one.
  Operation *next = block.getTerminator();
  std::vector<Operation *> places(problem.nodes.size());
  for (size_t n = problem.nodes.size(); n-- > 0;) {
    places[n] = next;
    if (!plan.isRepeated(n) && model.ops[plan.getOrigins()[n]])
      next = model.ops[plan.getOrigins()[n]];
  }
  std::vector<SmallVector<Value>> givenOperands;
  for (Operation *op : model.ops)
    givenOperands.emplace_back(op ? SmallVector<Value>(op->getOperands())
                                  : SmallVector<Value>());
  for (auto [n, node] : llvm::enumerate(problem.nodes)) {
    unsigned origin = plan.getOrigins()[n];
    Operation *op = model.ops[origin];
    if (!op)
      continue;
    const MemoryProblem::Node &given = model.problem.nodes[origin];
    if (!plan.isRepeated(n)) {
      operands.rewrite(op, given, node);
    } else {
      LLVM_DEBUG(llvm::dbgs() << "repeats " << op->getName() << " at "
                              << op->getLoc() << "\n");
      OpBuilder builder(places[n]);
      op = builder.clone(*op);
      op->setLoc(FusedLoc::get(
          op->getContext(),
          {NameLoc::get(builder.getStringAttr("recomputed")), op->getLoc()}));
      // Those of the given op may have been replaced.
      op->setOperands(givenOperands[origin]);
      operands.rewrite(op, given, node);
    }
    for (auto [id, result] : llvm::zip(node.results, op->getResults()))
      operands.define(id, result);
  }
}

namespace {
struct KernRematerialize
    : bessemer::impl::KernRematerializeBase<KernRematerialize> {
  using KernRematerializeBase::KernRematerializeBase;

  void runOnOperation() override;

private:
  struct Function {
    func::FuncOp op;
    FunctionModel model;
    std::unique_ptr<Level> level;
  };

  /// Bytes of a session that are no work memory: states, one batch of inputs,
  /// the outputs of all functions, and constants.
  int64_t bytesAround(const StateLayout &states,
                      ArrayRef<Function> functions) const;
};
} // namespace

/// Bytes of the constants of a function, each counted once.
static void addConstants(const FunctionModel &model,
                         std::map<const void *, int64_t> &bytes) {
  for (auto [source, value] :
       llvm::zip_equal(model.sources, model.problem.values))
    if (source.kind == FunctionModel::Source::Constant)
      bytes[source.constant.getAsOpaquePointer()] = alignBuffer(value.bytes);
  for (const auto &[node, loop] : model.loops)
    addConstants(loop.body, bytes);
}

int64_t KernRematerialize::bytesAround(const StateLayout &states,
                                       ArrayRef<Function> functions) const {
  auto bytesOf = [](TypeRange types) {
    int64_t bytes = 0;
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        bytes += alignBuffer(byteSize(tensor));
    return bytes;
  };
  int64_t inputs = 0, outputs = 0;
  std::map<const void *, int64_t> constants;
  for (const Function &function : functions) {
    FunctionType type = func::FuncOp(function.op).getFunctionType();
    inputs = std::max(inputs, bytesOf(type.getInputs()));
    outputs += bytesOf(type.getResults());
    addConstants(function.model, constants);
  }
  int64_t bytes = states.bytes + inputs + outputs + kStepBytes;
  for (const auto &[constant, size] : constants)
    bytes += size;
  return bytes;
}

void KernRematerialize::runOnOperation() {
  const int64_t limit = memoryLimit;
  StateLayout states(getOperation());
  std::vector<Function> functions;
  for (auto op : getOperation().getOps<func::FuncOp>()) {
    if (op.isPrivate() || op.getSymName() == kModelFunction)
      continue;
    FailureOr<FunctionModel> model = FunctionModel::build(op, states);
    if (failed(model))
      return signalPassFailure();
    functions.push_back({op, std::move(*model), nullptr});
  }
  int64_t around = bytesAround(states, functions);
  int64_t budget = limit - around;
  Function *largest = nullptr;
  int64_t least = 0;
  for (Function &function : functions) {
    function.level = std::make_unique<Level>(function.model);
    function.level->stepForShare(freeShare);
    if (limit <= 0)
      continue;
    if (std::optional<int64_t> bytes = function.level->fitInto(budget);
        bytes && (!largest || *bytes > least)) {
      least = *bytes;
      largest = &function;
    }
  }
  if (largest) {
    mlir::emitError(UnknownLoc::get(&getContext()))
        << "memory limit: expected at least " << around + least << " bytes ("
        << around << " of parameters, other state, inputs and outputs, and "
        << least << " of temporaries of '" << largest->op.getSymName()
        << "', recomputing what can be), got " << limit << ": "
        << least - budget << " bytes short";
    return signalPassFailure();
  }
  for (Function &function : functions)
    function.level->rewrite(function.op.getBody().front());
}
