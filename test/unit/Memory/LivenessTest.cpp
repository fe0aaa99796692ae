// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where values lie and how long: every rule of planStorage with a case in which
// it holds and one in which it must not.

#include "bessemer/Memory/Liveness.h"
#include "ProblemBuilder.h"
#include "gtest/gtest.h"

using namespace bessemer;

namespace {
StoragePlan plan(const MemoryProblem &problem) {
  return planStorage(problem, programOrder(problem));
}

TEST(Liveness, AChainNeedsTwoBuffersAtATime) {
  ProblemBuilder b;
  unsigned x = b.input(100);
  unsigned a = b.node({x}, 100);
  unsigned c = b.node({a}, 200);
  unsigned d = b.node({c}, 50);
  b.node({d}, 4);
  StoragePlan p = plan(b.problem);
  ASSERT_EQ(p.buffers.size(), 4u);
  EXPECT_EQ(p.storage[x].kind, Storage::External);
  EXPECT_EQ(p.buffers[0].first, 0);
  EXPECT_EQ(p.buffers[0].last, 1);
  // a and c (300), not c and d (250); rounded to 64: 128 + 256.
  EXPECT_EQ(p.bound, 300);
  EXPECT_EQ(p.alignedBound, 384);
}

TEST(Liveness, AResultTakesTheBufferOfADyingOperand) {
  ProblemBuilder b;
  unsigned a = b.node({b.input(64)}, 64);
  unsigned c = b.node({a}, 64, {{0, 0}});
  b.node({c}, 4);
  StoragePlan p = plan(b.problem);
  EXPECT_EQ(p.storage[a], p.storage[c]);
  EXPECT_EQ(p.buffers[p.storage[c].index].last, 2);
}

TEST(Liveness, ButNotOfOneThatLivesOn) {
  ProblemBuilder b;
  unsigned a = b.node({b.input(64)}, 64);
  unsigned c = b.node({a}, 64, {{0, 0}});
  b.node({a, c}, 4);
  StoragePlan p = plan(b.problem);
  EXPECT_NE(p.storage[a], p.storage[c]);
}

TEST(Liveness, NorOfOneThatTheKernelAlsoReadsElsewhere) {
  // x * transpose(x): the same value as two operands, only one of which is
  // read where it is overwritten.
  ProblemBuilder b;
  unsigned a = b.node({b.input(64)}, 64);
  unsigned c = b.node({a, a}, 64, {{0, 0}});
  StoragePlan p = plan(b.problem);
  EXPECT_NE(p.storage[a], p.storage[c]);
}

TEST(Liveness, NorOfAnotherSize) {
  ProblemBuilder b;
  unsigned a = b.node({b.input(64)}, 128);
  unsigned c = b.node({a}, 64, {{0, 0}});
  StoragePlan p = plan(b.problem);
  EXPECT_NE(p.storage[a], p.storage[c]);
}

TEST(Liveness, TwoResultsDoNotTakeTheSameBuffer) {
  ProblemBuilder b;
  unsigned a = b.node({b.input(64)}, 64);
  auto [c, d] = b.node2({a}, 64, 64, {{0, 0}, {0, 1}});
  StoragePlan p = plan(b.problem);
  EXPECT_EQ(p.storage[a], p.storage[c]);
  EXPECT_NE(p.storage[a], p.storage[d]);
}

TEST(Liveness, InputsAreNeverOverwritten) {
  ProblemBuilder b;
  unsigned x = b.input(64);
  unsigned a = b.node({x}, 64, {{0, 0}});
  StoragePlan p = plan(b.problem);
  EXPECT_EQ(p.storage[a].kind, Storage::Work);
}

TEST(Liveness, AnOutputIsComputedWhereItBelongs) {
  ProblemBuilder b;
  unsigned a = b.node({b.input(64)}, 64);
  b.output(a, 0);
  StoragePlan p = plan(b.problem);
  EXPECT_EQ(p.storage[a], (Storage{Storage::Output, 0}));
  EXPECT_TRUE(p.buffers.empty());
  EXPECT_EQ(p.copiedBytes, 0);
}

TEST(Liveness, SoIsWhatItIsComputedInPlaceOf) {
  ProblemBuilder b;
  unsigned a = b.node({b.input(64)}, 64);
  unsigned c = b.node({a}, 64, {{0, 0}});
  b.output(c, 0);
  StoragePlan p = plan(b.problem);
  EXPECT_EQ(p.storage[a], (Storage{Storage::Output, 0}));
  EXPECT_TRUE(p.buffers.empty());
}

TEST(Liveness, AnOutputReturnedTwiceIsCopied) {
  ProblemBuilder b;
  unsigned a = b.node({b.input(64)}, 64);
  b.output(a, 0);
  b.output(a, 1);
  StoragePlan p = plan(b.problem);
  ASSERT_EQ(p.finalCopies.size(), 1u);
  EXPECT_EQ(p.finalCopies[0].to, (Storage{Storage::Output, 1}));
}

TEST(Liveness, AReturnedInputIsCopiedFirst) {
  // First, so that a state may be overwritten afterwards.
  ProblemBuilder b;
  unsigned old = b.state(64);
  b.output(old, 0);
  unsigned now = b.node({b.input(64)}, 64);
  b.write(now, 0);
  StoragePlan p = plan(b.problem);
  ASSERT_EQ(p.entryCopies.size(), 1u);
  EXPECT_EQ(p.entryCopies[0].value, old);
  EXPECT_EQ(p.storage[now], (Storage{Storage::State, 0}));
}

TEST(Liveness, AnUpdateIsComputedInTheState) {
  ProblemBuilder b;
  unsigned old = b.state(64);
  unsigned gradient = b.node({b.input(64), old}, 64);
  unsigned now = b.node({old, gradient}, 64, {{0, 0}, {1, 0}});
  b.write(now, 0);
  StoragePlan p = plan(b.problem);
  EXPECT_EQ(p.storage[now], (Storage{Storage::State, 0}));
  EXPECT_TRUE(p.finalCopies.empty());
  EXPECT_EQ(p.bound, 64);
}

TEST(Liveness, NotWhenTheKernelReadsOtherElementsOfTheOldValue) {
  ProblemBuilder b;
  unsigned old = b.state(64);
  unsigned now = b.node({old}, 64);
  b.write(now, 0);
  StoragePlan p = plan(b.problem);
  EXPECT_EQ(p.storage[now].kind, Storage::Work);
  ASSERT_EQ(p.finalCopies.size(), 1u);
  EXPECT_EQ(p.finalCopies[0].to, (Storage{Storage::State, 0}));
  // Kept to the final copy, behind the last node.
  EXPECT_EQ(p.buffers[0].last, 1);
}

TEST(Liveness, NorWhenTheOldValueIsReadLater) {
  ProblemBuilder b;
  unsigned old = b.state(64);
  unsigned now = b.node({old}, 64, {{0, 0}});
  b.write(now, 0);
  b.node({old}, 4);
  StoragePlan p = plan(b.problem);
  EXPECT_EQ(p.storage[now].kind, Storage::Work);
  EXPECT_EQ(p.finalCopies.size(), 1u);
}

TEST(Liveness, ANewValueMayBeReadFromTheState) {
  ProblemBuilder b;
  unsigned old = b.state(64);
  unsigned now = b.node({old}, 64, {{0, 0}});
  b.write(now, 0);
  unsigned later = b.node({now}, 64, {{0, 0}});
  StoragePlan p = plan(b.problem);
  EXPECT_EQ(p.storage[now], (Storage{Storage::State, 0}));
  // The state keeps it, so nothing takes its place.
  EXPECT_EQ(p.storage[later].kind, Storage::Work);
}

TEST(Liveness, AValueWrittenToTwoStatesIsCopiedToTheSecond) {
  ProblemBuilder b;
  b.state(64);
  b.state(64);
  unsigned now = b.node({b.input(64)}, 64);
  b.write(now, 0);
  b.write(now, 1);
  b.output(now, 0);
  StoragePlan p = plan(b.problem);
  EXPECT_EQ(p.storage[now], (Storage{Storage::State, 0}));
  ASSERT_EQ(p.finalCopies.size(), 2u);
  EXPECT_EQ(p.finalCopies[0].to, (Storage{Storage::State, 1}));
  EXPECT_EQ(p.finalCopies[1].to, (Storage{Storage::Output, 0}));
  EXPECT_EQ(p.copiedBytes, 128);
}

TEST(Liveness, WritingAStateBackIsNothing) {
  ProblemBuilder b;
  unsigned old = b.state(64);
  b.write(old, 0);
  StoragePlan p = plan(b.problem);
  EXPECT_TRUE(p.finalCopies.empty());
}
} // namespace
