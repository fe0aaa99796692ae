// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// eval_step over a data set: sums and counts become means.
#include "bessemer/runtime/Trainer.h"
#include "train/Scalars.h"

#include <algorithm>
#include <cmath>

namespace bessemer::runtime {

using train_detail::hasOutput;
using train_detail::readScalar;

Status checkEvaluation(const Session &session, const BoundData &data) {
  if (session.program().setting("loss") != "output" ||
      data.rows() % data.batch() == 0)
    return {};
  return Status::invalidInput(
      "eval_step: the model computes its loss itself, over whole batches: "
      "expected a multiple of " +
      std::to_string(data.batch()) + " rows, got " +
      std::to_string(data.rows()));
}

Expected<Evaluation> evaluate(Session &session,
                              std::shared_ptr<const BoundData> data,
                              const std::atomic<int> *stop) {
  constexpr std::string_view function = "eval_step";
  BESSEMER_RETURN_IF_ERROR(checkEvaluation(session, *data));
  BatchOptions options;
  options.mode = BatchOptions::Mode::Evaluate;
  Expected<std::unique_ptr<BatchLoader>> loader =
      BatchLoader::create(std::move(data), options);
  if (!loader)
    return loader.status();
  bool classifies = hasOutput(session, function, "correct");
  Evaluation result;
  double loss = 0, count = 0, correct = 0;
  for (uint64_t index = 0;; ++index) {
    if (stop && *stop)
      return Status::invalidInput("evaluation was interrupted");
    Expected<const Batch *> batch = (*loader)->next();
    if (!batch)
      return batch.status();
    if (!*batch)
      break;
    StepBlock block;
    block.step = stepOfBatch(0, index);
    block.validRows = (*batch)->validRows;
    BESSEMER_RETURN_IF_ERROR(session.run(function, (*batch)->inputs, block));
    // Sums of a batch are f32; over batches they add up in f64.
    Expected<double> lossSum = readScalar(session, function, "loss_sum");
    if (!lossSum)
      return lossSum.status();
    Expected<double> rows = readScalar(session, function, "count");
    if (!rows)
      return rows.status();
    if (!std::isfinite(*lossSum) && !result.nonfiniteBatch)
      result.nonfiniteBatch = index;
    loss += *lossSum;
    count += *rows;
    if (classifies) {
      Expected<double> hits = readScalar(session, function, "correct");
      if (!hits)
        return hits.status();
      correct += *hits;
    }
  }
  if (count == 0)
    return Status::invalidInput("evaluation: no row counts; every label is "
                                "the ignored one");
  result.loss = loss / count;
  result.count = count;
  if (classifies)
    result.accuracy = correct / count;
  return result;
}

Status requireFiniteLoss(const Evaluation &result, const BoundData &data) {
  if (std::isfinite(result.loss))
    return {};
  std::string where;
  if (result.nonfiniteBatch) {
    auto first = static_cast<int64_t>(*result.nonfiniteBatch) * data.batch();
    int64_t last = std::min(first + data.batch(), data.rows()) - 1;
    where = ", first in rows " + std::to_string(first) + " to " +
            std::to_string(last) + " (from 0)";
  }
  return Status::invalidInput(
      "the loss is not finite" + where +
      "; look for NaN in the data and in the weights, and for indices that the "
      "model computes outside of their table");
}

} // namespace bessemer::runtime
