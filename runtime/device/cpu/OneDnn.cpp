// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cpu/OneDnn.h"

#include "bessemer/runtime/Session.h"
#include "device/cpu/OpenMp.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

namespace bessemer::runtime {

static constexpr char libraryFile[] = "libdnnl.so.2";

Status dnnlStatus(dnnl_status_t status, const char *call) {
  if (status == dnnl_success)
    return {};
  std::string why = status == dnnl_out_of_memory       ? "out of memory"
                    : status == dnnl_invalid_arguments ? "invalid arguments"
                    : status == dnnl_unimplemented     ? "not implemented"
                    : status == dnnl_runtime_error
                        ? "runtime error"
                        : "status " + std::to_string(int(status));
  return Status::internal(std::string("oneDNN: ") + call + ": " + why);
}

Status OneDnn::load(OneDnn &library) {
#ifndef _OPENMP
  return Status::invalidInput(
      "convolutions need OpenMP, which this runtime was built without");
#endif
  // Another build of the library, or a test's missing one.
  const char *chosen = std::getenv("BESSEMER_ONEDNN");
  const char *file = chosen && *chosen ? chosen : libraryFile;
  void *handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Status::invalidInput(std::string("convolutions need oneDNN 2 (") +
                                file +
                                "; Debian package libdnnl2): " + ::dlerror());
#define BESSEMER_DNNL_LOAD(name)                                               \
  library.name = reinterpret_cast<decltype(library.name)>(                     \
      ::dlsym(handle, "dnnl_" #name));                                         \
  if (!library.name)                                                           \
    return Status::invalidInput(std::string(file) +                            \
                                ": expected oneDNN 2, got a library without "  \
                                "dnnl_" #name);
  BESSEMER_DNNL_FUNCTIONS(BESSEMER_DNNL_LOAD)
#undef BESSEMER_DNNL_LOAD
  const dnnl_version_t *version = library.version();
  library.versionName = "oneDNN " + std::to_string(version->major) + "." +
                        std::to_string(version->minor) + "." +
                        std::to_string(version->patch);
  if (version->major != 2)
    return Status::invalidInput(std::string(file) +
                                ": expected oneDNN 2 (Debian package "
                                "libdnnl2), got " +
                                library.versionName);
  library.file = file;
  return dnnlStatus(library.engine_create(&library.engine, dnnl_cpu, 0),
                    "engine_create");
}

Expected<const OneDnn *> OneDnn::open() {
  static std::mutex mutex;
  static OneDnn library;
  std::lock_guard lock(mutex);
  if (!library.engine)
    BESSEMER_RETURN_IF_ERROR(load(library));
  return &library;
}

Expected<std::unique_ptr<OneDnnStream>> OneDnnStream::create() {
  auto library = OneDnn::open();
  if (!library)
    return library.status();
  std::unique_ptr<OneDnnStream> result(new OneDnnStream);
  result->dnnl = *library;
  result->stream = decltype(result->stream)(**library);
  BESSEMER_RETURN_IF_ERROR(dnnlStatus(
      result->dnnl->stream_create(result->stream.out(), result->dnnl->engine,
                                  dnnl_stream_default_flags),
      "stream_create"));
  return result;
}

Expected<std::string> convolutionLibrary() {
  auto library = OneDnn::open();
  if (!library)
    return library.status();
  return (*library)->versionName + " (" + (*library)->file + ")";
}

OmpThreads::OmpThreads(int threads) : before(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}
OmpThreads::~OmpThreads() { omp_set_num_threads(before); }

} // namespace bessemer::runtime
