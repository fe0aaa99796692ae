// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bessemer export: a program and a checkpoint to a trained .onnx.
#include "CompileFlags.h"
#include "CompilerLibrary.h"
#include "DataFlags.h"
#include "OutputPath.h"
#include "Subcommand.h"

#include "bessemer/runtime/Checkpoint.h"
#include "bessemer/runtime/Files.h"

#include <cstdio>

namespace bessemer::tool {
namespace {

using namespace runtime;

constexpr Flag flags[] = {
    {"output", FlagKind::Text, "FILE.onnx", "the file to write"},
    {"checkpoint", FlagKind::Text, "DIR",
     "parameters and statistics of a checkpoint, or of the directory of a run, "
     "whatever its optimizer"},
};

Expected<int> run(const Arguments &arguments) {
  std::optional<std::string> output = arguments.text("output");
  if (!output)
    return Status::usage("export needs -o FILE.onnx");
  std::optional<std::string> given = arguments.text("checkpoint");
  if (!given)
    return Status::usage("export needs --checkpoint DIR");
  const std::string inputs[] = {arguments.positional, *given};
  BESSEMER_RETURN_IF_ERROR(checkOutputPath(arguments, inputs));
  BESSEMER_RETURN_IF_ERROR(runtime::checkModelPath(*output));
  auto program = loadProgram(arguments.positional);
  if (!program)
    return program.status();
  // Loading checks names, types and hashes before the exporter reads it.
  auto session = Session::create(*program);
  if (!session)
    return session.status();
  auto loaded = loadCheckpoint(*given, **session, Restore::Weights);
  if (!loaded)
    return loaded.status();
  auto found = findCheckpoint(*given);
  if (!found)
    return found.status();
  Json options = {{"artifact", arguments.positional},
                  {"output", *output},
                  {"checkpoint", checkpointStateFile(**found)}};
  Expected<const CompilerLibrary *> compiler = CompilerLibrary::open();
  if (!compiler)
    return compiler.status();
  Expected<CompilerResult> result =
      (*compiler)->exportModel(options, (*program)->bytes());
  if (!result)
    return result.status();
  std::printf("%s -> %s\n", arguments.positional.c_str(), output->c_str());
  return 0;
}

} // namespace

const Subcommand &exportCommand() {
  static const Subcommand command = {
      "export",
      "Write the trained model as .onnx, for inference anywhere.",
      "  bessemer export run/model.bsm --checkpoint run -o trained.onnx\n"
      "  bessemer export run/model.bsm --checkpoint run/best -o best.onnx\n",
      "MODEL",
      "the .bsm file",
      {{"Export", flags}},
      run};
  return command;
}

} // namespace bessemer::tool
