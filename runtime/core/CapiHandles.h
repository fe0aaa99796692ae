// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the entries of the C API share: statuses and messages, and the table of
// live handles, which tells a freed one from a good one without touching it.
#pragma once

#include "bessemer/bessemer.h"
#include "bessemer/runtime/Session.h"

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_map>

struct bsm_program {
  std::shared_ptr<const bessemer::runtime::Program> program;
};
struct bsm_session {
  std::unique_ptr<bessemer::runtime::Session> session;
  std::atomic<bool> inUse{false};
};

namespace bessemer::runtime::capi {

/// Keeps the message for this thread and gives the code.
bsm_status report(const Status &status) noexcept;
/// The same for what `catch` caught.
bsm_status reportException() noexcept;

/// Runs `body`, which gives a Status; nothing it throws leaves the library.
template <typename F> bsm_status guarded(F body) noexcept {
  try {
    return report(body());
  } catch (...) {
    return reportException();
  }
}

/// An error when the argument called `name` is null.
inline Status require(const void *argument, const char *name) {
  return argument ? Status()
                  : Status::usage(std::string(name) +
                                  ": expected a pointer, got NULL");
}

/// The live handles of one kind. A call holds its object, so that one that is
/// freed meanwhile goes when the call ends.
template <typename Handle> class Handles {
public:
  static Handles &get() {
    // Never destroyed: handles may outlive static objects.
    static auto *table = new Handles;
    return *table;
  }

  Handle *add(std::shared_ptr<Handle> object) {
    std::lock_guard lock(mutex);
    Handle *handle = object.get();
    live.emplace(handle, std::move(object));
    return handle;
  }

  /// Null for a handle that is none.
  std::shared_ptr<Handle> find(const Handle *handle) {
    std::lock_guard lock(mutex);
    auto entry = live.find(handle);
    return entry == live.end() ? nullptr : entry->second;
  }

  Status remove(const Handle *handle, const char *kind) {
    if (!handle)
      return {};
    std::shared_ptr<Handle> object;
    {
      std::lock_guard lock(mutex);
      if (auto entry = live.find(handle); entry != live.end()) {
        object = std::move(entry->second);
        live.erase(entry);
      }
    }
    return object ? Status() : unknown(handle, kind);
  }

  static Status unknown(const Handle *handle, const char *kind) {
    return Status::usage(
        std::string(kind) + ": expected a handle, got " +
        (handle ? "one that is not live; was it freed?" : "NULL"));
  }

private:
  std::mutex mutex;
  std::unordered_map<const Handle *, std::shared_ptr<Handle>> live;
};

inline std::shared_ptr<bsm_program> find(const bsm_program *program) {
  return Handles<bsm_program>::get().find(program);
}
inline Status unknown(const bsm_program *program) {
  return Handles<bsm_program>::unknown(program, "program");
}

/// A session for the time of a call; no other thread is in it.
class SessionUse {
public:
  explicit SessionUse(const bsm_session *handle);
  ~SessionUse();
  SessionUse(const SessionUse &) = delete;
  SessionUse &operator=(const SessionUse &) = delete;

  const Status &status() const { return problem; }
  Session *operator->() const { return held->session.get(); }
  Session &operator*() const { return *held->session; }

private:
  std::shared_ptr<bsm_session> held;
  Status problem;
};

} // namespace bessemer::runtime::capi
