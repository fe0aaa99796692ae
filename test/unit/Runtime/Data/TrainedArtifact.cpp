// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TrainedArtifact.h"

#include <cmath>

namespace bessemer::test {

namespace {
using Type = format::ElementType;
const std::vector<int64_t> shape = {trainedBatch, 16};
constexpr uint64_t bytes = trainedBatch * 16 * sizeof(float);
} // namespace

TestArtifact trainedArtifact(double nonfiniteStep) {
  TestArtifact artifact;
  uint64_t p = artifact.addState("p", Type::f32, shape, 1);
  uint64_t seen = artifact.addState("seen", Type::i64, {}, 0);
  artifact.addState("nonfinite_step", Type::i64, {}, nonfiniteStep);
  uint32_t multiply = artifact.addKernel(multiplyOne);
  uint32_t apply = artifact.addKernel(applyGradient);
  uint32_t count = artifact.addKernel(addStep);

  auto train = artifact.addFunction("train_step", {{"x", Type::f32, shape}},
                                    {{"loss", Type::f32, {}}});
  uint32_t scratch = train.addWork(16);
  train.launch(multiply, 1,
               {train.operand(train.slice(train.input(0), 0, 4)),
                train.operand(train.slice(train.state, p, 4)),
                train.operand(train.slice(train.output(0)))});
  train.launch(apply, trainedBatch,
               {train.operand(train.slice(train.state, p, bytes)),
                train.operand(train.slice(train.input(0))),
                train.operand(train.slice(train.step))});
  train.launch(count, 1,
               {train.operand(train.slice(train.state, seen, 8)),
                train.operand(train.slice(train.step)),
                train.operand(train.slice(scratch))});

  auto eval = artifact.addFunction("eval_step", {{"x", Type::f32, shape}},
                                   {{"loss_sum", Type::f32, {}},
                                    {"count", Type::f32, {}},
                                    {"correct", Type::f32, {}}});
  uint32_t four = eval.addConstant(artifact.addBlob(std::vector<float>{4}), 4);
  uint32_t three = eval.addConstant(artifact.addBlob(std::vector<float>{3}), 4);
  eval.launch(multiply, 1,
              {eval.operand(eval.slice(eval.input(0), 0, 4)),
               eval.operand(eval.slice(eval.state, p, 4)),
               eval.operand(eval.slice(eval.output(0)))});
  eval.copy(eval.slice(four), eval.slice(eval.output(1)));
  eval.copy(eval.slice(three), eval.slice(eval.output(2)));
  return artifact;
}

std::shared_ptr<const runtime::BoundData>
trainingData(const runtime::Session &session, const std::string &function,
             int64_t rows, int64_t nanRow) {
  static TemporaryFolder folder;
  std::vector<float> values(rows * 16);
  for (int64_t i = 0; i < rows * 16; ++i)
    values[i] = float((i * 7919) % 101 - 50) / 64;
  if (nanRow >= 0)
    values[nanRow * 16] = NAN;
  std::vector<int64_t> rowsShape = {rows, 16};
  EXPECT_TRUE(runtime::writeNpy(folder / "x.npy", {runtime::ElementType::F32,
                                                   rowsShape, values.data()})
                  .ok());
  auto set = runtime::DataSet::open(std::vector<std::string>{folder / "x.npy"});
  EXPECT_TRUE(set.ok()) << set.status().message();
  auto bound = runtime::BoundData::bind(
      *set, session.program().function(function)->inputs, {});
  EXPECT_TRUE(bound.ok()) << bound.status().message();
  return *bound;
}

} // namespace bessemer::test
