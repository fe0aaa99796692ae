// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bessemer train: data in, checkpoints out.
#include "CompileFlags.h"
#include "CompilerLibrary.h"
#include "DataFlags.h"
#include "DirectoryLock.h"
#include "Progress.h"
#include "Subcommand.h"
#include "Text.h"
#include "TrainSettings.h"

#include "bessemer/runtime/Files.h"
#include "bessemer/runtime/Trainer.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace bessemer::tool {
namespace {

using namespace runtime;

constexpr Flag dataFlags[] = {
    {"data", FlagKind::List, "FILES",
     "training data: FILE.npz, or input=FILE,labels=FILE (.npy, .npz:NAME, "
     "IDX, also .gz)"},
    {"eval-data", FlagKind::List, "FILES",
     "evaluate on these after every epoch"},
};

constexpr Flag runFlags[] = {
    {"epochs", FlagKind::Integer, "N", "passes over the data (1)", nullptr, 1},
    {"steps", FlagKind::Integer, "N", "steps instead of epochs", nullptr, 1,
     double(mostSteps)},
    {"seed", FlagKind::Integer, "N", "of shuffling and dropout (0)", nullptr,
     0},
    {"schedule", FlagKind::Text, "KIND",
     "how the learning rate goes (constant)", "constant|cosine"},
    {"warmup-steps", FlagKind::Integer, "N", "rise to --lr linearly first (0)",
     nullptr, 0, double(mostSteps)},
    {"log-every", FlagKind::Integer, "N", "look at the loss each N steps (100)",
     nullptr, 1},
    {"log-dir", FlagKind::Text, "DIR",
     "write metrics.csv and metrics.jsonl; --resume adds to them"},
    {"trace", FlagKind::Text, "FILE", "write a trace (not in this version)"},
};

constexpr Flag checkpointFlags[] = {
    {"checkpoint-dir", FlagKind::Text, "DIR",
     "write DIR/last (and DIR/best); from an .onnx also DIR/model.bsm"},
    {"checkpoint-every", FlagKind::Integer, "N",
     "steps between checkpoints (default: only at the end)", nullptr, 1},
    {"keep-best", FlagKind::Text, "METRIC",
     "keep the checkpoint with the best evaluation", "loss|accuracy"},
    {"resume", FlagKind::Switch, "", "go on from DIR/last"},
};

/// The signal that asked for the end, or 0.
std::atomic<int> stopSignal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

/// The first signal ends the run after its step, a second one at once.
void handleSignal(int signal) {
  stopSignal = signal;
  std::signal(signal, SIG_DFL);
}

/// Nobody reads what is printed any more. What is printed until the end of the
/// step would raise it again.
void handlePipe(int signal) { stopSignal = signal; }

bool isModel(const std::string &path) { return path.ends_with(".onnx"); }

/// Loads a .bsm or compiles an .onnx.
Expected<std::shared_ptr<const Program>>
loadOrCompile(const Arguments &arguments) {
  const std::string &path = arguments.positional;
  if (!isModel(path)) {
    auto program = Program::load(path);
    if (program)
      BESSEMER_RETURN_IF_ERROR(checkCompiledSettings(arguments, **program));
    return program;
  }
  if (!arguments.has("loss"))
    return Status::usage("training " + path +
                         " needs --loss, e.g. --loss cross_entropy");
  BESSEMER_RETURN_IF_ERROR(checkOptimizer(arguments));
  Expected<const CompilerLibrary *> compiler = CompilerLibrary::open();
  if (!compiler)
    return compiler.status();
  Expected<CompilerResult> result =
      (*compiler)->compile(compileOptions(arguments, path));
  if (!result)
    return result.status();
  return Program::fromBytes(result->artifact(), path);
}

/// The run must say whether it goes on from the checkpoint that is there.
Status checkResume(const Arguments &arguments) {
  std::optional<std::string> directory = arguments.text("checkpoint-dir");
  if (!directory)
    return arguments.has("resume") ? Status::usage(arguments.origin("resume") +
                                                   " needs --checkpoint-dir")
                                   : Status();
  // A run may have ended after its first evaluation and before its first save:
  // there is nothing to go on from then.
  for (auto [name, problem] :
       {std::pair("/last", "there is a checkpoint already; go on with "
                           "--resume, or choose another --checkpoint-dir"),
        std::pair("/best", "there is a checkpoint of an earlier run; choose "
                           "another --checkpoint-dir")}) {
    Expected<std::optional<std::string>> found =
        findCheckpoint(*directory + name);
    if (!found)
      return found.status();
    if (!arguments.has("resume") && *found)
      return Status::invalidInput(*directory + name + ": " + problem);
  }
  return {};
}

/// Makes the folder of the metrics and keeps other runs out of it. The
/// checkpoints may lie there, too; keepProgram() then locks it.
Expected<DirectoryLock> lockLog(const Arguments &arguments) {
  std::optional<std::string> directory = arguments.text("log-dir");
  if (!directory)
    return DirectoryLock();
  BESSEMER_RETURN_IF_ERROR(createDirectories(*directory));
  std::error_code absent;
  if (std::filesystem::equivalent(*directory,
                                  arguments.text("checkpoint-dir", ""), absent))
    return DirectoryLock();
  return DirectoryLock::acquire(*directory, "log-dir");
}

/// Makes the folder of the checkpoints, so that one that cannot be written is
/// known before the training, and writes what they belong to: export and eval
/// need it. Called when nothing can refuse the run any more, but another run
/// that writes there.
Expected<DirectoryLock> keepProgram(const Arguments &arguments,
                                    const Program &program) {
  std::optional<std::string> directory = arguments.text("checkpoint-dir");
  if (!directory)
    return DirectoryLock();
  BESSEMER_RETURN_IF_ERROR(createDirectories(*directory));
  if (!std::filesystem::is_directory(*directory))
    return Status::invalidInput(*directory +
                                ": expected a folder for checkpoints");
  if (access(directory->c_str(), W_OK | X_OK) != 0)
    return Status::invalidInput(
        *directory + ": cannot create checkpoints: " + std::strerror(errno));
  Expected<DirectoryLock> lock =
      DirectoryLock::acquire(*directory, "checkpoint-dir");
  if (!lock)
    return lock;
  // Another run may have ended here just now.
  BESSEMER_RETURN_IF_ERROR(checkResume(arguments));
  if (!isModel(arguments.positional))
    return lock;
  BESSEMER_RETURN_IF_ERROR(
      writeArtifact(*directory + "/model.bsm", program.bytes()));
  return lock;
}

/// Images when the first input looks like them.
const char *unitOf(const Program &program) {
  const FunctionInfo *function = program.function("train_step");
  return function->inputs.front().type.shape.size() == 4 ? "images" : "samples";
}

/// Where to go on from; changes the session's state.
Expected<std::optional<TrainerState>> resumeState(const Arguments &arguments,
                                                  Session &session) {
  if (!arguments.has("resume"))
    return std::optional<TrainerState>();
  std::string last = *arguments.text("checkpoint-dir") + "/last";
  Expected<std::optional<TrainerState>> state = loadCheckpoint(last, session);
  if (state && !*state)
    return Status::invalidInput(last + ": has no trainer.json to go on from");
  return state;
}

void printStart(const Session &session, uint64_t totalSteps, int64_t batch,
                const char *unit) {
  std::printf("training %lu steps of %ld %s on %s with %d threads\n",
              static_cast<unsigned long>(totalSteps), static_cast<long>(batch),
              unit, std::string(session.target()).c_str(), session.threads());
  const MemoryReport &memory = session.memory();
  std::printf("memory %s: state %s, work %s, inputs and results %s, scratch "
              "%s\n",
              byteText(memory.total()).c_str(), byteText(memory.state).c_str(),
              byteText(memory.work).c_str(), byteText(memory.values).c_str(),
              byteText(memory.libraryScratch + memory.kernelScratch).c_str());
  std::fflush(stdout);
}

void printSummary(const TrainSummary &summary, uint64_t totalSteps,
                  const char *unit) {
  std::printf("%s at step %lu of %lu",
              summary.interrupted ? "interrupted" : "trained",
              static_cast<unsigned long>(summary.step),
              static_cast<unsigned long>(totalSteps));
  if (!summary.loss && !summary.evaluation) {
    std::printf(", before a step of this run\n");
    return;
  }
  const char *separator = ": ";
  if (summary.loss) {
    std::printf(": loss %s", shortNumber(*summary.loss).c_str());
    separator = ", ";
  }
  if (summary.evaluation) {
    std::printf("%seval loss %s", separator,
                shortNumber(summary.evaluation->loss).c_str());
    if (summary.evaluation->accuracy)
      std::printf(", accuracy %.2f %%", *summary.evaluation->accuracy * 100);
  }
  std::printf("; %.1f s of steps, %.0f %s/s\n", summary.seconds,
              summary.samplesPerSecond, unit);
}

Expected<int> run(const Arguments &arguments) {
  BESSEMER_RETURN_IF_ERROR(checkSupported(arguments));
  if (arguments.has("trace"))
    return Status::usage(arguments.origin("trace") +
                         ": is not supported in this version");
  if (!arguments.has("data"))
    return Status::usage("train needs --data FILES");
  BESSEMER_RETURN_IF_ERROR(checkResume(arguments));
  Expected<std::shared_ptr<const Program>> program = loadOrCompile(arguments);
  if (!program)
    return program.status();
  auto data = bindData(arguments, "data", **program, "train_step", false);
  if (!data)
    return data.status();
  std::shared_ptr<const BoundData> evalData;
  if (arguments.has("eval-data")) {
    auto bound =
        bindData(arguments, "eval-data", **program, "eval_step", false);
    if (!bound)
      return bound.status();
    evalData = *bound;
  }
  Expected<std::unique_ptr<Session>> session =
      createSession(arguments, *program);
  if (!session)
    return session.status();
  Expected<std::optional<TrainerState>> resume =
      resumeState(arguments, **session);
  if (!resume)
    return resume.status();
  Expected<TrainerOptions> options =
      trainerOptions(arguments, **session, **data, *resume);
  if (!options)
    return options.status();
  options->stop = &stopSignal;
  BESSEMER_RETURN_IF_ERROR(
      checkTraining(**session, **data, evalData.get(), *options, *resume));
  Expected<DirectoryLock> logLock = lockLog(arguments);
  if (!logLock)
    return logLock.status();
  Expected<DirectoryLock> lock = keepProgram(arguments, **program);
  if (!lock)
    return lock.status();

  uint64_t totalSteps = options->schedule.totalSteps;
  uint64_t batches = std::max<uint64_t>((*data)->rows() / (*data)->batch(), 1);
  const char *unit = unitOf(**program);
  std::signal(SIGINT, handleSignal);
  std::signal(SIGTERM, handleSignal);
  std::signal(SIGPIPE, handlePipe);
  // A terminal that is gone, unless nohup lets it.
  if (std::signal(SIGHUP, handleSignal) == SIG_IGN)
    std::signal(SIGHUP, SIG_IGN);
  printStart(**session, totalSteps, (*data)->batch(), unit);
  uint64_t firstStep = *resume ? (*resume)->step : 0;
  // A run may have ended in its last evaluation.
  bool isEvaluated =
      !evalData || (*resume && (*resume)->evaluatedStep == firstStep);
  if (firstStep >= totalSteps && isEvaluated) {
    std::printf("nothing to do: the checkpoint is at step %lu\n",
                static_cast<unsigned long>(firstStep));
    return 0;
  }
  Progress progress(unit, totalSteps, batches, firstStep);
  Expected<TrainSummary> summary =
      train(**session, *data, evalData, *options, *resume, progress);
  progress.clear();
  if (!summary)
    return summary.status();
  printSummary(*summary, totalSteps, unit);
  return summary->interrupted ? 128 + stopSignal.load() : 0;
}

} // namespace

const Subcommand &trainCommand() {
  static const Subcommand command = {
      "train",
      "Train a model (.onnx, compiled first, or .bsm) on data.",
      "  bessemer train lenet.onnx --loss cross_entropy --optimizer adamw \\\n"
      "      --lr 1e-3 --batch 64 --epochs 3 --checkpoint-dir run \\\n"
      "      --data x=train-images-idx3-ubyte.gz,labels=train-labels-idx1-"
      "ubyte.gz \\\n"
      "      --eval-data x=t10k-images-idx3-ubyte.gz,labels=t10k-labels-idx1-"
      "ubyte.gz\n"
      "  bessemer train lenet.bsm --data train.npz --steps 1000 --schedule "
      "cosine \\\n"
      "      --warmup-steps 100 --checkpoint-dir run --resume\n",
      "MODEL",
      "the .onnx or .bsm file",
      {{"Data", dataFlags},
       {"Columns", columnFlags()},
       {"Run", runFlags},
       {"Checkpoints", checkpointFlags},
       {"Device", deviceFlags()},
       {"Training (fixed in a .bsm, except --lr)", trainingFlags()},
       {"Code (fixed in a .bsm)", codeFlags()},
       {"Debugging", debugFlags()},
       {"Not in this version", laterFlags()}},
      run};
  return command;
}

} // namespace bessemer::tool
