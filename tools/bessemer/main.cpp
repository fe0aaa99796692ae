// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bessemer: compile, train and run models.
#include "CommandLine.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <new>
#include <unistd.h>

using namespace bessemer::tool;

static Expected<int> dispatch(int argc, char **argv) {
  Expected<ParsedLine> line = parseCommandLine(argc, argv);
  if (!line)
    return line.status();
  if (line->command)
    return line->command->run(line->arguments);
  std::fputs(line->text.c_str(), stdout);
  return 0;
}

/// Files are mapped; reading one that was cut short meanwhile, or whose disk
/// fails, is a signal. Only what is safe in a handler is called.
static void handleBusError(int signal, siginfo_t *info, void *) {
  static constexpr char message[] =
      "error: a file was cut short or became unreadable while it was read\n";
  if (info->si_code == BUS_ADRERR) {
    [[maybe_unused]] ssize_t ignored =
        ::write(STDERR_FILENO, message, sizeof message - 1);
    ::_exit(1);
  }
  std::signal(signal, SIG_DFL);
}

/// Opens what the caller closed of stdin, stdout and stderr, or the first file
/// of ours would get its number and what is printed.
static void openStandardFiles() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0)
      (void)::open("/dev/null", O_RDWR);
}

static void prepareSignals() {
  struct sigaction action = {};
  action.sa_sigaction = handleBusError;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
  // A limit of file sizes becomes an error of the write.
  std::signal(SIGXFSZ, SIG_IGN);
}

int main(int argc, char **argv) {
  openStandardFiles();
  prepareSignals();
  try {
    Expected<int> result = dispatch(argc, argv);
    if (result) {
      // A full disk may show at the end only; a signal says more.
      if (*result != 0 || (std::fflush(stdout) == 0 && !std::ferror(stdout)))
        return *result;
      std::fprintf(stderr, "error: standard output: cannot write: %s\n",
                   std::strerror(errno));
      return 1;
    }
    std::fprintf(stderr, "error: %s\n", result.status().message().c_str());
    return static_cast<int>(result.status().code());
  } catch (const std::bad_alloc &) {
    std::fputs("error: not enough memory\n", stderr);
    return 1;
  } catch (const std::exception &exception) {
    std::fprintf(stderr, "error: bug in bessemer: %s\n", exception.what());
    return 70;
  }
}
