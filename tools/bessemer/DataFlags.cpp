// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DataFlags.h"

#include <cstdio>

namespace bessemer::tool {
namespace {

using namespace runtime;

constexpr Flag columns[] = {
    {"window", FlagKind::Integer, "N",
     "cut one column of tokens into rows of N; labels are the tokens that "
     "follow",
     nullptr, 1},
    {"map", FlagKind::Pairs, "INPUT=COLUMN",
     "which data column feeds which input (default: the one of its name)"},
    {"scale", FlagKind::Number, "X",
     "multiply float inputs, never labels (default: 1; for uint8 columns "
     "1/255, but run then wants it said)"},
    {"mean", FlagKind::Numbers, "X,...",
     "then subtract: one number, or one per channel"},
    {"std", FlagKind::Numbers, "X,...",
     "then divide: one number, or one per channel"},
};

static_assert(mostThreads == 4096, "the help of --threads says so");

constexpr Flag device[] = {
    {"device", FlagKind::Text, "DEVICE",
     "cpu, or cpu:x86-64-v3, cpu:x86-64-v4 (cpu)"},
    {"threads", FlagKind::Integer, "N",
     "threads, up to 4096 (default: 0, which takes all cores)", nullptr, 0,
     mostThreads},
};

} // namespace

std::span<const Flag> columnFlags() { return columns; }
std::span<const Flag> normalizationFlags() {
  return std::span(columns).subspan(2);
}
std::span<const Flag> deviceFlags() { return device; }

Normalization normalizationOf(const Arguments &arguments) {
  return {arguments.number("scale"), arguments.numbers("mean"),
          arguments.numbers("std")};
}

Expected<std::shared_ptr<const Program>> loadProgram(const std::string &path) {
  if (path.ends_with(".onnx"))
    return Status::invalidInput(path + ": expected a compiled model, got an "
                                       "ONNX model; see 'bessemer compile "
                                       "--help'");
  return Program::load(path);
}

Expected<const FunctionInfo *> findFunction(const Program &program,
                                            const std::string &name) {
  if (const FunctionInfo *function = program.function(name))
    return function;
  std::string names;
  for (const FunctionInfo &function : program.functions())
    names += (names.empty() ? "" : ", ") + function.name;
  std::string hint = name == "train_step" || name == "eval_step"
                         ? "; compile it with --loss to train and evaluate"
                         : "";
  return Status::invalidInput(program.name() + ": has no function '" + name +
                              "', only " + names + hint);
}

Expected<std::shared_ptr<const BoundData>>
bindData(const Arguments &arguments, const char *flag, const Program &program,
         const char *function, bool quiet) {
  Expected<const FunctionInfo *> info = findFunction(program, function);
  if (!info)
    return info.status();
  Expected<DataSet> data = DataSet::open(arguments.list(flag));
  if (!data)
    return data.status();
  if (std::optional<int64_t> window = arguments.integer("window"))
    BESSEMER_RETURN_IF_ERROR(
        data->cutWindows(*window, arguments.origin("window")));
  BindOptions options;
  for (const auto &[input, column] : arguments.pairs("map"))
    options.columns[input] = column;
  if (arguments.has("map"))
    options.columnsOption = arguments.origin("map");
  options.normalization = normalizationOf(arguments);
  Expected<std::shared_ptr<const BoundData>> bound =
      BoundData::bind(*data, (*info)->inputs, options);
  if (bound && !quiet)
    for (const std::string &line : (*bound)->describe())
      std::printf("%s: %s\n", flag, line.c_str());
  return bound;
}

Expected<std::unique_ptr<Session>>
createSession(const Arguments &arguments,
              std::shared_ptr<const Program> program) {
  SessionOptions options;
  options.device = arguments.text("device", "cpu");
  options.threads = static_cast<int>(arguments.integer("threads", 0));
  return Session::create(std::move(program), options);
}

} // namespace bessemer::tool
