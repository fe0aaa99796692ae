// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bessemer compile: .onnx to .bsm, or to the text of a level.
#include "CompileFlags.h"
#include "CompilerLibrary.h"
#include "OutputPath.h"
#include "Subcommand.h"

#include "bessemer/runtime/Files.h"

#include <chrono>
#include <cstdio>

namespace bessemer::tool {
namespace {

constexpr Flag flags[] = {
    {"output", FlagKind::Text, "FILE", "the file to write"},
    {"emit", FlagKind::Text, "LEVEL",
     "print the program at this level instead (to the output or the terminal)",
     "graph|kern|exec|llvm"},
};

Expected<int> run(const Arguments &arguments) {
  BESSEMER_RETURN_IF_ERROR(checkSupported(arguments));
  BESSEMER_RETURN_IF_ERROR(checkOptimizer(arguments));
  std::optional<std::string> output = arguments.text("output");
  std::optional<std::string> emit = arguments.text("emit");
  if (!output && !emit)
    return Status::usage("compile needs -o FILE.bsm (or --emit)");
  if (output) {
    std::vector<std::string> inputs = {arguments.positional};
    if (arguments.has("recipe"))
      inputs.push_back(*arguments.text("recipe"));
    BESSEMER_RETURN_IF_ERROR(checkOutputPath(arguments, inputs));
    if (!emit)
      BESSEMER_RETURN_IF_ERROR(runtime::checkArtifactPath(*output));
  }
  Json options = compileOptions(arguments, arguments.positional);
  if (emit)
    options["emit"] = *emit;
  auto start = std::chrono::steady_clock::now();
  Expected<const CompilerLibrary *> compiler = CompilerLibrary::open();
  if (!compiler)
    return compiler.status();
  Expected<CompilerResult> result = (*compiler)->compile(options);
  if (!result)
    return result.status();
  if (emit) {
    std::string text = result->text();
    if (output)
      BESSEMER_RETURN_IF_ERROR(runtime::writeFileAtomically(*output, text));
    else
      std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  std::span<const std::byte> artifact = result->artifact();
  BESSEMER_RETURN_IF_ERROR(runtime::writeArtifact(*output, artifact));
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::printf("%s -> %s: %.1f MB in %.2f s\n", arguments.positional.c_str(),
              output->c_str(), static_cast<double>(artifact.size()) / 1e6,
              seconds.count());
  return 0;
}

} // namespace

const Subcommand &compileCommand() {
  static const Subcommand command = {
      "compile",
      "Compile an ONNX model into one file that trains.",
      "  bessemer compile lenet.onnx -o lenet.bsm --loss cross_entropy \\\n"
      "      --optimizer adamw --lr 1e-3 --batch 64\n"
      "  bessemer compile lenet.onnx --loss cross_entropy --emit=graph\n"
      "Without --loss only `predict` is compiled.\n",
      "MODEL",
      "the .onnx file",
      {{"Output", flags},
       {"Training", trainingFlags()},
       {"Code", codeFlags()},
       {"Debugging", debugFlags()},
       {"Not in this version", laterFlags()}},
      run};
  return command;
}

} // namespace bessemer::tool
