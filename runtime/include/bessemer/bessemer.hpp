// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C API for C++17: objects own their handles, failures are thrown as
// bessemer::Error. Only this header is C++; the library's interface stays C.
#ifndef BESSEMER_BESSEMER_HPP
#define BESSEMER_BESSEMER_HPP

#include "bessemer/bessemer.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bessemer {

/// A failed call: its status and the library's one line about it.
class Error : public std::runtime_error {
public:
  Error(bsm_status status, const std::string &message)
      : std::runtime_error(message), code(status) {}
  bsm_status status() const { return code; }

private:
  bsm_status code;
};

inline void check(bsm_status status) {
  if (status != BSM_OK)
    throw Error(status, bsm_error_message());
}

/// DLPack's type of a C++ type.
template <typename T> constexpr DLDataType dataType() {
  static_assert(std::is_arithmetic_v<T>, "no element type for this type");
  uint8_t code = std::is_same_v<T, bool>       ? kDLBool
                 : std::is_floating_point_v<T> ? kDLFloat
                 : std::is_signed_v<T>         ? kDLInt
                                               : kDLUInt;
  return {code, uint8_t(8 * sizeof(T)), 1};
}

/// Name and type of an input, an output or a state.
struct Value {
  std::string name;
  DLDataType type;
  std::vector<int64_t> shape;

  int64_t elementCount() const {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    return count;
  }
};

/// Elements that someone else owns: a session's output or state.
template <typename T> class View {
public:
  View(const T *first, size_t count) : first(first), count(count) {}
  const T *data() const { return first; }
  size_t size() const { return count; }
  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  const T &operator[](size_t i) const { return first[i]; }

private:
  const T *first;
  size_t count;
};

/// An input of a call, or a value for a state; the elements stay the caller's.
class Tensor {
public:
  template <typename T>
  Tensor(std::string name, const T *elements, std::vector<int64_t> shape)
      : name(std::move(name)), shape(std::move(shape)), elements(elements),
        type(dataType<T>()) {}

  DLTensor dlpack() const {
    DLTensor tensor{};
    tensor.data = const_cast<void *>(elements);
    tensor.device = {kDLCPU, 0};
    tensor.ndim = int32_t(shape.size());
    tensor.dtype = type;
    tensor.shape = const_cast<int64_t *>(shape.data());
    return tensor;
  }

  std::string name;
  std::vector<int64_t> shape;

private:
  const void *elements;
  DLDataType type;
};

/// A loaded artifact; copies share it.
class Program {
public:
  explicit Program(const std::string &path) {
    bsm_program *program = nullptr;
    check(bsm_program_load(path.c_str(), &program));
    handle.reset(program, bsm_program_free);
  }
  /// From bytes, which are copied; `name` stands for the path in errors.
  Program(const void *bytes, size_t size, const std::string &name) {
    bsm_program *program = nullptr;
    check(bsm_program_load_memory(bytes, size, name.c_str(), &program));
    handle.reset(program, bsm_program_free);
  }

  std::vector<std::string> functions() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < bsm_program_function_count(get()); ++i)
      names.emplace_back(bsm_program_function_name(get(), i));
    return names;
  }
  std::vector<Value> inputs(const std::string &function) const {
    return values(function, bsm_function_input_count, bsm_function_input);
  }
  std::vector<Value> outputs(const std::string &function) const {
    return values(function, bsm_function_output_count, bsm_function_output);
  }
  std::vector<Value> states() const {
    std::vector<Value> result;
    for (size_t i = 0; i < bsm_program_state_count(get()); ++i) {
      bsm_state_info info;
      check(bsm_program_state(get(), i, &info));
      result.push_back(value(info.name, info.type));
    }
    return result;
  }
  /// "" when there is no such setting.
  std::string setting(const std::string &key) const {
    const char *text = bsm_program_setting(get(), key.c_str());
    return text ? text : "";
  }
  bsm_program *get() const { return handle.get(); }

private:
  static Value value(const char *name, const DLTensor &type) {
    return {name, type.dtype, {type.shape, type.shape + type.ndim}};
  }
  template <typename Count, typename Get>
  std::vector<Value> values(const std::string &function, Count count,
                            Get get_) const {
    std::vector<Value> result;
    for (size_t i = 0; i < count(get(), function.c_str()); ++i) {
      const char *name;
      DLTensor type;
      check(get_(get(), function.c_str(), i, &name, &type));
      result.push_back(value(name, type));
    }
    return result;
  }

  std::shared_ptr<bsm_program> handle;
};

/// State of a program and the calls of its functions; one thread at a time.
class Session {
public:
  explicit Session(const Program &program, const std::string &device = "cpu",
                   int threads = 0) {
    bsm_session *session = nullptr;
    check(bsm_session_create(program.get(), device.c_str(), threads, &session));
    handle.reset(session);
  }

  void run(const std::string &function, const std::vector<Tensor> &inputs,
           const bsm_step &step = {}) {
    std::vector<const char *> names;
    std::vector<DLTensor> tensors;
    for (const Tensor &input : inputs) {
      names.push_back(input.name.c_str());
      tensors.push_back(input.dlpack());
    }
    check(bsm_session_run(get(), function.c_str(), inputs.size(), names.data(),
                          tensors.data(), &step));
  }
  /// A result of the function's last run, valid until its next one.
  template <typename T>
  View<T> output(const std::string &function, const std::string &name) const {
    DLTensor tensor;
    check(bsm_session_output(get(), function.c_str(), name.c_str(), &tensor));
    return view<T>(name, tensor);
  }

  /// A state, valid until the next run or write.
  template <typename T> View<T> state(const std::string &name) const {
    DLTensor tensor;
    check(bsm_state_get(get(), name.c_str(), &tensor));
    return view<T>(name, tensor);
  }
  void setState(const Tensor &value) {
    DLTensor tensor = value.dlpack();
    check(bsm_state_set(get(), value.name.c_str(), &tensor));
  }
  void reset() { check(bsm_session_reset(get())); }
  void save(const std::string &directory) const {
    check(bsm_session_save(get(), directory.c_str()));
  }
  void load(const std::string &directory) {
    check(bsm_session_load(get(), directory.c_str()));
  }
  /// Parameters and statistics alone, from a checkpoint with any optimizer.
  void loadWeights(const std::string &directory) {
    check(bsm_session_load_weights(get(), directory.c_str()));
  }
  int threads() const { return bsm_session_threads(get()); }
  std::string target() const { return bsm_session_target(get()); }
  bsm_session *get() const { return handle.get(); }

private:
  struct Free {
    void operator()(bsm_session *session) const { bsm_session_free(session); }
  };
  template <typename T>
  static View<T> view(const std::string &name, const DLTensor &tensor) {
    constexpr DLDataType type = dataType<T>();
    if (tensor.dtype.code != type.code || tensor.dtype.bits != type.bits)
      throw Error(BSM_USAGE, name + ": asked for elements of another type");
    size_t count = 1;
    for (int32_t i = 0; i < tensor.ndim; ++i)
      count *= size_t(tensor.shape[i]);
    return {static_cast<const T *>(tensor.data), count};
  }

  std::unique_ptr<bsm_session, Free> handle;
};

} // namespace bessemer

#endif // BESSEMER_BESSEMER_HPP
