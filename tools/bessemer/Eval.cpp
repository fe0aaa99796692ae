// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bessemer eval: loss and accuracy of a checkpoint on a data set.
#include "DataFlags.h"
#include "Subcommand.h"

#include "bessemer/runtime/Trainer.h"

#include <nlohmann/json.hpp>

namespace bessemer::tool {
namespace {

using namespace runtime;

constexpr Flag flags[] = {
    {"data", FlagKind::List, "FILES",
     "FILE.npz, or input=FILE,labels=FILE (.npy, .npz:NAME, IDX, also .gz)"},
    {"checkpoint", FlagKind::Text, "DIR",
     "parameters and statistics of a checkpoint, or of the directory of a run, "
     "whatever its optimizer (default: initial weights)"},
    {"json", FlagKind::Switch, "", "print one JSON object"},
};

Expected<int> run(const Arguments &arguments) {
  if (!arguments.has("data"))
    return Status::usage("eval needs --data FILES");
  auto program = loadProgram(arguments.positional);
  if (!program)
    return program.status();
  bool json = arguments.has("json");
  auto data = bindData(arguments, "data", **program, "eval_step", json);
  if (!data)
    return data.status();
  auto session = createSession(arguments, *program);
  if (!session)
    return session.status();
  if (std::optional<std::string> directory = arguments.text("checkpoint")) {
    auto loaded = loadCheckpoint(*directory, **session, Restore::Weights);
    if (!loaded)
      return loaded.status();
  }
  Expected<Evaluation> result = evaluate(**session, *data);
  if (!result)
    return result.status();
  if (Status finite = requireFiniteLoss(*result, **data); !finite.ok())
    return Status::invalidInput("eval: " + finite.message());
  if (json) {
    nlohmann::ordered_json object = {{"loss", result->loss},
                                     {"count", result->count}};
    if (result->accuracy)
      object["accuracy"] = *result->accuracy;
    std::printf("%s\n", object.dump().c_str());
    return 0;
  }
  std::printf("loss %.6g", result->loss);
  if (result->accuracy)
    std::printf("  accuracy %.2f %% (%.0f of %.0f)", *result->accuracy * 100,
                *result->accuracy * result->count, result->count);
  std::printf("\n");
  return 0;
}

} // namespace

const Subcommand &evalCommand() {
  static const Subcommand command = {
      "eval",
      "Measure loss and accuracy on data.",
      "  bessemer eval run/model.bsm --checkpoint run \\\n"
      "      --data x=t10k-images-idx3-ubyte.gz,labels=t10k-labels-idx1-ubyte."
      "gz\n",
      "MODEL",
      "the .bsm file",
      {{"Data", flags}, {"Columns", columnFlags()}, {"Device", deviceFlags()}},
      run};
  return command;
}

} // namespace bessemer::tool
