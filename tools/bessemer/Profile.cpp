// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bessemer profile: where the time of a function goes.
#include "CommandCost.h"
#include "DataFlags.h"
#include "Json.h"
#include "Subcommand.h"
#include "SyntheticInputs.h"

#include "bessemer/Format/bessemer_generated.h"
#include "bessemer/runtime/BatchLoader.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace bessemer::tool {
namespace {

using namespace runtime;

constexpr Flag flags[] = {
    {"function", FlagKind::Text, "NAME", "the function to call (train_step)"},
    {"steps", FlagKind::Integer, "N", "calls to measure (20)", nullptr, 1},
    {"warmup", FlagKind::Integer, "N", "calls before them (3)", nullptr, 0},
    {"data", FlagKind::List, "FILES",
     "the first batch of these files instead of random numbers"},
    {"below", FlagKind::Integer, "N",
     "without --data, draw whole numbers other than labels from 0 to N-1 "
     "(default: all that the model looks up, else 0 and 1)",
     nullptr, 1},
    {"by", FlagKind::Text, "WHAT", "one row per command, or per kernel",
     "command|kernel"},
    {"top", FlagKind::Integer, "N", "rows to print (40, or all as JSON)",
     nullptr, 1},
    {"json", FlagKind::Switch, "", "print one JSON object"},
};

/// One row of the table; sums over all measured calls.
struct Row {
  std::string name, label;
  uint64_t calls = 0;
  double seconds = 0, bytes = 0;
  std::optional<double> operations;
};

const format::ExecProgram *findExec(const Program &program,
                                    std::string_view function,
                                    std::string_view target) {
  for (const format::ExecProgram *exec : *program.table().programs())
    if (exec->function()->string_view() == function &&
        exec->target()->string_view() == target)
      return exec;
  return nullptr;
}

/// Loops before the commands in them, as the session times them.
void collectCommands(
    const flatbuffers::Vector<flatbuffers::Offset<format::Command>> *list,
    std::vector<const format::Command *> &commands) {
  for (unsigned i = 0; list && i < list->size(); ++i) {
    commands.push_back(list->Get(i));
    if (const format::Repeat *repeat = list->Get(i)->body_as_Repeat())
      collectCommands(repeat->commands(), commands);
  }
}

std::vector<Row> rowsOf(const Session &session, const std::string &function,
                        std::span<const CommandTime> times, bool byKernel) {
  const Program &program = session.program();
  std::vector<const format::Command *> commands;
  collectCommands(findExec(program, function, session.target())->commands(),
                  commands);
  std::vector<Row> rows;
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < times.size(); ++i) {
    const format::Command &command = *commands[i];
    CommandCost cost = costOf(command, program.table());
    auto [place, isNew] = known.try_emplace(cost.name, rows.size());
    if (isNew || !byKernel) {
      place->second = rows.size();
      rows.push_back({cost.name, "", 0, 0, 0, std::nullopt});
    }
    Row &row = rows[place->second];
    double calls = static_cast<double>(times[i].calls);
    if (row.label.empty() && command.label())
      row.label = command.label()->str();
    row.calls += times[i].calls;
    row.seconds += times[i].seconds;
    row.bytes += calls * cost.bytes;
    if (cost.operations)
      row.operations = row.operations.value_or(0) + calls * *cost.operations;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return a.seconds > b.seconds;
  });
  return rows;
}

void printTable(const std::vector<Row> &rows, double steps, size_t top) {
  double total = 0;
  for (const Row &row : rows)
    total += row.seconds;
  std::printf("%9s %6s %6s %7s %8s  %s\n", "ms/step", "%", "calls", "GB/s",
              "GFLOP/s", "command  ; source");
  for (size_t i = 0; i < std::min(top, rows.size()); ++i) {
    const Row &row = rows[i];
    std::printf("%9.4f %6.1f %6.4g", row.seconds / steps * 1e3,
                total > 0 ? row.seconds / total * 100 : 0,
                static_cast<double>(row.calls) / steps);
    double rate = row.seconds > 0 ? 1e-9 / row.seconds : 0;
    std::printf(" %7.1f", row.bytes * rate);
    if (row.operations)
      std::printf(" %8.1f", *row.operations * rate);
    else
      std::printf(" %8s", "");
    std::printf("  %s%s%s\n", row.name.c_str(), row.label.empty() ? "" : "  ; ",
                row.label.c_str());
  }
  if (rows.size() > top) {
    double rest = 0;
    for (size_t i = top; i < rows.size(); ++i)
      rest += rows[i].seconds;
    std::printf("%9.4f %6.1f  %zu more rows (--top)\n", rest / steps * 1e3,
                total > 0 ? rest / total * 100 : 0, rows.size() - top);
  }
}

Json jsonOf(const std::vector<Row> &rows) {
  Json list = Json::array();
  for (const Row &row : rows) {
    Json object = {{"command", row.name},
                   {"label", row.label},
                   {"calls", row.calls},
                   {"seconds", row.seconds},
                   {"bytes", row.bytes}};
    if (row.operations)
      object["operations"] = *row.operations;
    list.push_back(std::move(object));
  }
  return list;
}

/// Calls the function; gives the seconds of each call.
Expected<std::vector<double>> measure(Session &session,
                                      const std::string &function,
                                      std::span<const NamedTensor> inputs,
                                      StepBlock &block, int64_t calls) {
  std::vector<double> seconds;
  for (int64_t call = 0; call < calls; ++call, ++block.step) {
    auto begin = std::chrono::steady_clock::now();
    BESSEMER_RETURN_IF_ERROR(session.run(function, inputs, block));
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  return seconds;
}

Expected<int> run(const Arguments &arguments) {
  auto program = loadProgram(arguments.positional);
  if (!program)
    return program.status();
  std::string name = arguments.text("function", "train_step");
  Expected<const FunctionInfo *> function = findFunction(**program, name);
  if (!function)
    return function.status();
  const bool json = arguments.has("json");

  auto session = createSession(arguments, *program);
  if (!session)
    return session.status();
  SyntheticInputs synthetic;
  std::unique_ptr<BatchLoader> loader;
  std::span<const NamedTensor> inputs;
  if (arguments.has("data")) {
    auto data = bindData(arguments, "data", **program, name.c_str(), json);
    if (!data)
      return data.status();
    auto created = BatchLoader::create(*data, {BatchOptions::Mode::Evaluate});
    if (!created)
      return created.status();
    loader = std::move(*created);
    Expected<const Batch *> batch = loader->next();
    if (!batch)
      return batch.status();
    if (!*batch)
      return Status::invalidInput("--data: expected rows, got none");
    inputs = (*batch)->inputs;
  } else {
    synthetic = SyntheticInputs(**function, arguments.integer("below"));
    inputs = synthetic.tensors();
  }

  StepBlock block;
  block.learningRate = 1e-4f;
  for (const NamedTensor &input : inputs)
    if (!input.tensor.shape.empty())
      block.validRows = std::max(block.validRows, input.tensor.shape[0]);
  const int64_t steps = arguments.integer("steps", 20);
  auto warm =
      measure(**session, name, inputs, block, arguments.integer("warmup", 3));
  if (!warm)
    return warm.status();
  (*session)->startProfile();
  auto seconds = measure(**session, name, inputs, block, steps);
  if (!seconds)
    return seconds.status();
  auto times = (*session)->commandTimes(name);
  if (!times)
    return times.status();

  std::nth_element(seconds->begin(), seconds->begin() + steps / 2,
                   seconds->end());
  double median = (*seconds)[size_t(steps / 2)];
  double mean = std::accumulate(seconds->begin(), seconds->end(), 0.0) /
                static_cast<double>(steps);
  std::vector<Row> rows = rowsOf(**session, name, *times,
                                 arguments.text("by", "command") == "kernel");
  if (json) {
    if (arguments.has("top"))
      rows.resize(std::min(rows.size(), size_t(*arguments.integer("top"))));
    Json object = {{"function", name},
                   {"target", (*session)->target()},
                   {"threads", (*session)->threads()},
                   {"steps", steps},
                   {"mean_seconds", mean},
                   {"median_seconds", median},
                   {"rows", jsonOf(rows)}};
    std::printf("%s\n", printable(object, 2).c_str());
    return 0;
  }
  // The rows add up to the mean, less what lies between commands.
  std::printf("%s on %s, %d threads: %ld steps, mean %.3f ms, median %.3f ms\n",
              name.c_str(), std::string((*session)->target()).c_str(),
              (*session)->threads(), static_cast<long>(steps), mean * 1e3,
              median * 1e3);
  printTable(rows, static_cast<double>(steps),
             size_t(arguments.integer("top", 40)));
  return 0;
}

} // namespace

const Subcommand &profileCommand() {
  static const Subcommand command = {
      "profile",
      "Measure what each command of a step takes.",
      "  bessemer profile gpt.bsm --below 8192 --threads 2\n"
      "  bessemer profile lenet.bsm --by kernel --data test.npz\n"
      "Rows are means over the steps (sums of them as JSON); they include the "
      "wait for\nthe slowest thread. GB/s counts each operand once; GFLOP/s is "
      "known for gemm\nkernels and convolutions.\n",
      "MODEL",
      "the .bsm file",
      {{"Profile", flags},
       {"Columns", columnFlags()},
       {"Device", deviceFlags()}},
      run};
  return command;
}

} // namespace bessemer::tool
