// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checkpoints: a directory with `state.safetensors` (every state, logical and
// row-major, under its name) and `trainer.json` (where the run stood).
#pragma once

#include "bessemer/runtime/BatchLoader.h"
#include "bessemer/runtime/Session.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bessemer::runtime {

/// Where a run stood and what it ran with.
struct TrainerState {
  /// Steps done.
  uint64_t step = 0;
  /// Where the next batch starts.
  Cursor cursor;
  uint64_t seed = 0;
  /// Rows of the training data; a cursor has no meaning in other data.
  uint64_t dataRows = 0;
  /// Settings of the run by flag name: lr, schedule, warmup-steps, steps; as
  /// data a hash of some rows.
  std::map<std::string, std::string> settings;
  /// Best value of the metric of --keep-best so far.
  std::optional<double> best;
  /// The step after which evaluation last ran; 0 when it never did.
  uint64_t evaluatedStep = 0;
  /// Resume is bit-exact with the same ones only.
  std::string target, library;
  int threads = 0;
  /// artifactHash and computationHash of the program that wrote the
  /// checkpoint, the version of its format, and the targets and memory limit
  /// that it has code for; saving sets them.
  std::string artifact, computation, format, variant;
};

/// What a checkpoint gives a session.
enum class Restore {
  /// Every state: training goes on bit by bit.
  All,
  /// Parameters and statistics by name, from a checkpoint of the same model
  /// with any optimizer; the session's other states stay.
  Weights
};

/// 16 hexadecimal digits that tell one artifact from another.
std::string artifactHash(const Program &program);

/// The same for programs of one source model, settings and initial states,
/// whatever targets they have code for and whatever their memory limit. On one
/// target they compute the same bits when one compiler made them.
std::string computationHash(const Program &program);

/// Whether the program, of the checkpoint's computation, differs in more than
/// targets and memory limit account for, as when another version of the
/// compiler, or a plugin, made it.
bool mayComputeOtherBits(const TrainerState &state, const Program &program);

/// Writes all state, and `trainer` unless null, to the directory, whole or not
/// at all: a checkpoint that is already there stays until the new one is
/// durable. A directory that holds anything else is left alone: an error.
Status saveCheckpoint(const std::string &directory, const Session &session,
                      const TrainerState *trainer = nullptr);

/// Reads the state into the session. A missing or extra state, another type, a
/// wrong size or a wrong checksum is an error that names it; the session then
/// keeps its state. The directory may be one that findCheckpoint looks into.
/// Nothing is returned when there is state only. Weights leave out the moments
/// and counters of other optimizers, in the file and in the session.
Expected<std::optional<TrainerState>>
loadCheckpoint(const std::string &directory, Session &session,
               Restore what = Restore::All);

/// The checkpoint that `directory` is, or holds as "last" (as the directory of
/// a training run does); nothing when there is none.
Expected<std::optional<std::string>>
findCheckpoint(const std::string &directory);

/// The path of a checkpoint's state file. After a crash on a file system that
/// cannot exchange directories it is in "DIRECTORY.old".
std::string checkpointStateFile(const std::string &directory);

} // namespace bessemer::runtime
