// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// oneDNN 2, opened when the first convolution is prepared: an artifact without
// convolutions needs no library, and building needs only its header.
#pragma once

#include "bessemer/runtime/Status.h"

#include <memory>
#include <oneapi/dnnl/dnnl.h>
#include <string>
#include <utility>

namespace bessemer::runtime {

/// The functions of the C API that we call, by name.
#define BESSEMER_DNNL_FUNCTIONS(X)                                             \
  X(version)                                                                   \
  X(engine_create)                                                             \
  X(stream_create)                                                             \
  X(stream_destroy)                                                            \
  X(memory_create)                                                             \
  X(memory_destroy)                                                            \
  X(memory_set_data_handle_v2)                                                 \
  X(memory_desc_init_by_tag)                                                   \
  X(memory_desc_init_submemory)                                                \
  X(memory_desc_equal)                                                         \
  X(memory_desc_get_size)                                                      \
  X(primitive_attr_create)                                                     \
  X(primitive_attr_destroy)                                                    \
  X(primitive_attr_set_scratchpad_mode)                                        \
  X(primitive_desc_create)                                                     \
  X(primitive_desc_destroy)                                                    \
  X(primitive_desc_query_md)                                                   \
  X(reorder_primitive_desc_create)                                             \
  X(dilated_convolution_forward_desc_init)                                     \
  X(dilated_convolution_backward_data_desc_init)                               \
  X(dilated_convolution_backward_weights_desc_init)                            \
  X(primitive_create)                                                          \
  X(primitive_destroy)                                                         \
  X(primitive_execute)

/// The library, its functions and the CPU engine; one per process, never
/// closed.
struct OneDnn {
  static Expected<const OneDnn *> open();

#define BESSEMER_DNNL_MEMBER(name) decltype(&::dnnl_##name) name = nullptr;
  BESSEMER_DNNL_FUNCTIONS(BESSEMER_DNNL_MEMBER)
#undef BESSEMER_DNNL_MEMBER
  dnnl_engine_t engine = nullptr;
  /// "oneDNN 2.6.3".
  std::string versionName;
  /// What was opened.
  std::string file;

private:
  static Status load(OneDnn &library);
};

/// Success, or an error that names the call.
Status dnnlStatus(dnnl_status_t status, const char *call);

/// Owns an object of the library; `destroy` is its entry in OneDnn.
template <typename T, auto destroy> class DnnlHandle {
public:
  DnnlHandle() = default;
  explicit DnnlHandle(const OneDnn &library) : library(&library) {}
  DnnlHandle(DnnlHandle &&other) noexcept { *this = std::move(other); }
  DnnlHandle &operator=(DnnlHandle &&other) noexcept {
    std::swap(library, other.library);
    std::swap(object, other.object);
    return *this;
  }
  ~DnnlHandle() {
    if (object)
      (library->*destroy)(object);
  }
  /// For the library's creating functions; the handle must be empty.
  T *out() { return &object; }
  T get() const { return object; }
  explicit operator bool() const { return object != nullptr; }

private:
  const OneDnn *library = nullptr;
  T object = nullptr;
};

using DnnlMemory = DnnlHandle<dnnl_memory_t, &OneDnn::memory_destroy>;
using DnnlAttr =
    DnnlHandle<dnnl_primitive_attr_t, &OneDnn::primitive_attr_destroy>;
using DnnlPrimitive = DnnlHandle<dnnl_primitive_t, &OneDnn::primitive_destroy>;
using DnnlPrimitiveDesc =
    DnnlHandle<dnnl_primitive_desc_t, &OneDnn::primitive_desc_destroy>;

/// A session's own stream.
class OneDnnStream {
public:
  static Expected<std::unique_ptr<OneDnnStream>> create();

  const OneDnn &library() const { return *dnnl; }
  const std::string &libraryName() const { return dnnl->versionName; }
  dnnl_stream_t get() const { return stream.get(); }

private:
  OneDnnStream() = default;
  const OneDnn *dnnl = nullptr;
  DnnlHandle<dnnl_stream_t, &OneDnn::stream_destroy> stream;
};

/// Makes OpenMP's default thread count of this thread the session's: oneDNN
/// plans and runs with the default, and both must agree.
class OmpThreads {
public:
  explicit OmpThreads(int threads);
  ~OmpThreads();
  OmpThreads(const OmpThreads &) = delete;
  OmpThreads &operator=(const OmpThreads &) = delete;

private:
  int before;
};

} // namespace bessemer::runtime
