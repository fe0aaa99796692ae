// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bessemer inspect: what an artifact holds.
#include "CompileFlags.h"
#include "CompilerLibrary.h"
#include "InspectProgram.h"
#include "Subcommand.h"
#include "Text.h"

#include <cstdio>
#include <set>

namespace bessemer::tool {
namespace {

using namespace runtime;

constexpr Flag flags[] = {
    {"params", FlagKind::Switch, "",
     "list every state with its role, whether it is trained, and why"},
    {"commands", FlagKind::Switch, "", "list the commands of every function"},
    {"json", FlagKind::Switch, "", "print everything as one JSON object"},
};

const char *text(const Json &value) {
  return value.get_ref<const std::string &>().c_str();
}

std::string valueList(const Json &values) {
  std::string line;
  for (const Json &value : values)
    line += (line.empty() ? "" : ", ") + std::string(text(value["name"])) +
            " " + text(value["type"]);
  return line;
}

void printFunctions(const Json &program) {
  std::printf("\nfunctions\n");
  for (const Json &function : program["functions"])
    std::printf("  %s(%s) -> (%s)\n", text(function["name"]),
                valueList(function["inputs"]).c_str(),
                valueList(function["outputs"]).c_str());
  // The same in every function.
  std::set<std::string> shown;
  for (const Json &function : program["functions"])
    for (const Json &input : function["inputs"])
      for (const Json &range : input.value("ranges", Json::array()))
        if (std::string line =
                std::string(text(input["name"])) + ": " + text(range);
            shown.insert(line).second)
          std::printf("  %s\n", line.c_str());
}

void printStates(const Json &program, bool all) {
  struct Sum {
    uint64_t count = 0, trained = 0, bytes = 0;
  };
  std::map<std::string, Sum> sums;
  uint64_t total = 0;
  for (const Json &state : program["states"]) {
    Sum &sum = sums[text(state["role"])];
    ++sum.count;
    sum.trained += state["trainable"].get<bool>();
    sum.bytes += state["bytes"].get<uint64_t>();
    total += state["bytes"].get<uint64_t>();
  }
  std::printf("\nstate: %s\n", byteText(total).c_str());
  for (const auto &[role, sum] : sums) {
    std::printf("  %-10s %lu, %s", role.c_str(),
                static_cast<unsigned long>(sum.count),
                byteText(sum.bytes).c_str());
    if (role == "parameter")
      std::printf(", %lu trained", static_cast<unsigned long>(sum.trained));
    std::printf("\n");
  }
  if (!all)
    return;
  std::printf("\n");
  for (const Json &state : program["states"])
    std::printf("  %-32s %-10s %-9s %-20s %s\n", text(state["name"]),
                text(state["role"]),
                state["trainable"].get<bool>() ? "trained" : "-",
                text(state["type"]), text(state["why"]));
  for (const Json &constant : program["constants"])
    std::printf("  %-32s %-10s %-9s %-20s %s\n", text(constant["name"]),
                "constant", "-", text(constant["type"]), text(constant["why"]));
}

void printMemory(const Json &program) {
  std::printf("\nmemory (work arena, packed / liveness bound)\n");
  for (const Json &exec : program["programs"])
    std::printf("  %-12s %-10s %s / %s, gap %.2f %%, %zu commands\n",
                text(exec["function"]), text(exec["target"]),
                byteText(exec["packed_peak"].get<uint64_t>()).c_str(),
                byteText(exec["liveness_bound"].get<uint64_t>()).c_str(),
                exec["gap"].get<double>() * 100, exec["commands"].size());
}

void printArenas(const Json &exec) {
  for (const Json &arena : exec["arenas"]) {
    std::string name = text(arena["kind"]);
    if (arena.contains("value"))
      name += std::to_string(arena["value"].get<uint64_t>());
    std::printf("    arena %-10s %s\n", name.c_str(),
                byteText(arena["bytes"].get<uint64_t>()).c_str());
  }
}

void printCommands(const Json &program) {
  for (const Json &exec : program["programs"]) {
    std::printf("\n%s on %s\n", text(exec["function"]), text(exec["target"]));
    printArenas(exec);
    size_t number = 0;
    for (const Json &command : exec["commands"]) {
      std::string line = text(command["kind"]);
      if (command.contains("kernel"))
        line += std::string(" ") + text(command["kernel"]) +
                " tiles=" + std::to_string(command["tiles"].get<uint64_t>());
      if (command.contains("library"))
        line += std::string(" ") + text(command["library"]) + " " +
                text(command["operation"]);
      for (const Json &operand : command["operands"])
        line += std::string(" ") + text(operand);
      std::printf("  %4zu %s", number++, line.c_str());
      if (command.contains("label"))
        std::printf("  ; %s", text(command["label"]));
      std::printf("\n");
    }
  }
}

void printKernels(const Json &program) {
  std::printf("\nkernels: %zu", program["kernels"].size());
  for (const auto &[target, size] : program["code"].items())
    std::printf(", %s %s", target.c_str(),
                byteText(size.get<uint64_t>()).c_str());
  std::printf("\n");
  for (const Json &kernel : program["kernels"]) {
    uint64_t scratch = 0;
    for (const auto &[target, size] : kernel["scratch"].items())
      scratch = std::max(scratch, size.get<uint64_t>());
    std::printf("  %s", text(kernel["name"]));
    if (scratch)
      std::printf("  (scratch %s per thread)", byteText(scratch).c_str());
    std::printf("\n");
  }
}

Expected<std::shared_ptr<const Program>> load(const Arguments &arguments) {
  if (!arguments.positional.ends_with(".onnx")) {
    auto program = Program::load(arguments.positional);
    if (program) // An inspection looks at everything.
      BESSEMER_RETURN_IF_ERROR((*program)->verifyBlobs());
    return program;
  }
  BESSEMER_RETURN_IF_ERROR(checkSupported(arguments));
  BESSEMER_RETURN_IF_ERROR(checkOptimizer(arguments));
  Expected<const CompilerLibrary *> compiler = CompilerLibrary::open();
  if (!compiler)
    return compiler.status();
  Expected<CompilerResult> result =
      (*compiler)->compile(compileOptions(arguments, arguments.positional));
  if (!result)
    return result.status();
  return Program::fromBytes(result->artifact(), arguments.positional);
}

Expected<int> run(const Arguments &arguments) {
  auto loaded = load(arguments);
  if (!loaded)
    return loaded.status();
  Json program = describeProgram(**loaded);
  if (arguments.has("json")) {
    std::printf("%s\n", printable(program, 2).c_str());
    return 0;
  }
  std::printf("%s: %s, by %s, format %s\n", text(program["program"]),
              byteText(program["bytes"].get<uint64_t>()).c_str(),
              text(program["producer"]), text(program["format"]));
  std::printf("\nsettings\n");
  for (const auto &[key, value] : program["settings"].items())
    std::printf("  %-18s %s\n", key.c_str(), text(value));
  printFunctions(program);
  printStates(program, arguments.has("params"));
  printMemory(program);
  printKernels(program);
  if (arguments.has("commands"))
    printCommands(program);
  return 0;
}

} // namespace

const Subcommand &inspectCommand() {
  static const Subcommand command = {
      "inspect",
      "Show functions, state, memory, kernels and commands.",
      "  bessemer inspect lenet.bsm --params\n"
      "  bessemer inspect lenet.onnx --loss cross_entropy --batch 64 "
      "--commands\n"
      "An .onnx is compiled first (in memory), with the flags of `compile`.\n",
      "MODEL",
      "the .bsm or .onnx file",
      {{"What", flags},
       {"Training", trainingFlags()},
       {"Code", codeFlags()},
       {"Debugging", debugFlags()},
       {"Not in this version", laterFlags()}},
      run};
  return command;
}

} // namespace bessemer::tool
