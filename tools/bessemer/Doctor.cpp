// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bessemer doctor: what this machine and this installation have.
#include "CompilerLibrary.h"
#include "Subcommand.h"

#include "bessemer/runtime/Session.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace bessemer::tool {
namespace {

void print(const char *what, const std::string &found) {
  std::printf("%-10s %s\n", what, found.c_str());
}

std::string cpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      return line.substr(line.find(':') + 2);
  return "unknown";
}

/// The levels that programs are compiled for.
std::string isaLevel() {
  if (__builtin_cpu_supports("x86-64-v4"))
    return "x86-64-v4 (AVX-512)";
  if (__builtin_cpu_supports("x86-64-v3"))
    return "x86-64-v3 (AVX2)";
  return "";
}

std::string cudaDriver() {
  constexpr const char *name = "libcuda.so.1";
  void *handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (!handle)
    return "not found; this version runs on the CPU only";
  using VersionFunction = int (*)(int *);
  auto version =
      reinterpret_cast<VersionFunction>(::dlsym(handle, "cuDriverGetVersion"));
  int number = 0;
  if (!version || version(&number) != 0)
    return name;
  return std::string(name) + ", CUDA " + std::to_string(number / 1000) + "." +
         std::to_string(number % 1000 / 10) +
         "; this version runs on the CPU only";
}

Expected<int> run(const Arguments &) {
  print("bessemer", BESSEMER_VERSION);
  print("cpu", cpuName());
  std::string isa = isaLevel();
  print("isa",
        isa.empty() ? "below x86-64-v3: programs will not run here" : isa);
  long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  const char *limit = std::getenv("OMP_NUM_THREADS");
  print("threads",
        std::to_string(std::thread::hardware_concurrency()) + " of " +
            std::to_string(cores) + " cores" +
            (limit ? std::string(", OMP_NUM_THREADS=") + limit : ""));
  print("memory", std::to_string((::sysconf(_SC_PHYS_PAGES) / 1024) *
                                 (::sysconf(_SC_PAGESIZE)) / 1024) +
                      " MiB");
  Expected<std::string> library = runtime::convolutionLibrary();
  print("oneDNN", library ? *library : library.status().message());
  print("cuda", cudaDriver());
  Expected<const CompilerLibrary *> compiler = CompilerLibrary::open();
  print("compiler",
        compiler ? (*compiler)->path() : compiler.status().message());
  return isa.empty() ? 1 : 0;
}

} // namespace

const Subcommand &doctorCommand() {
  static const Subcommand command = {
      "doctor",
      "Show what this machine and this installation have.",
      "  bessemer doctor\n",
      nullptr,
      nullptr,
      {},
      run};
  return command;
}

} // namespace bessemer::tool
