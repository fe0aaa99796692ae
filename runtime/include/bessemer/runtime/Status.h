// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the runtime reports errors: no exception leaves it.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace bessemer::runtime {

/// The values are the exit statuses of the command-line tools.
enum class StatusCode : int {
  Ok = 0,
  /// The input's fault: a damaged file, a wrong name, shape or type.
  InvalidInput = 1,
  /// The caller asked for something that does not exist, e.g. a device.
  Usage = 2,
  /// Our bug, or the machine ran out of something.
  Internal = 70
};

/// Success, or a code and one lower-case line for the user.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {
    assert(code != StatusCode::Ok);
  }

  static Status invalidInput(std::string message) {
    return {StatusCode::InvalidInput, std::move(message)};
  }
  static Status usage(std::string message) {
    return {StatusCode::Usage, std::move(message)};
  }
  static Status internal(std::string message) {
    return {StatusCode::Internal, std::move(message)};
  }

  bool ok() const { return code_ == StatusCode::Ok; }
  StatusCode code() const { return code_; }
  const std::string &message() const { return message_; }

  /// The same with spaces for line breaks and other control characters, which
  /// names from a file may hold.
  Status onOneLine() && {
    for (char &letter : message_)
      if (static_cast<unsigned char>(letter) < ' ')
        letter = ' ';
    return std::move(*this);
  }

private:
  StatusCode code_ = StatusCode::Ok;
  std::string message_;
};

/// A value or the status that says why there is none.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Expected(Status status) : state(std::in_place_index<1>, std::move(status)) {
    assert(!std::get<1>(state).ok());
  }

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }

  T &operator*() & { return std::get<0>(state); }
  const T &operator*() const & { return std::get<0>(state); }
  T &&operator*() && { return std::move(std::get<0>(state)); }
  T *operator->() { return &std::get<0>(state); }
  const T *operator->() const { return &std::get<0>(state); }

  /// The error; an ok status when there is a value.
  Status status() const { return ok() ? Status() : std::get<1>(state); }

private:
  std::variant<T, Status> state;
};

/// Leaves the function with the status of `expression` when it is an error.
#define BESSEMER_RETURN_IF_ERROR(expression)                                   \
  do {                                                                         \
    if (::bessemer::runtime::Status bessemerStatus = (expression);             \
        !bessemerStatus.ok())                                                  \
      return bessemerStatus;                                                   \
  } while (false)

} // namespace bessemer::runtime
