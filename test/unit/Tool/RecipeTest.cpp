// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Damaged recipes: each is read or refused with one line; none crashes, hangs
// or throws.
#include "Recipe.h"
#include "../MutateText.h"

#include <chrono>
#include <gtest/gtest.h>

using namespace bessemer::test;
using namespace bessemer::tool;

namespace {

constexpr std::string_view recipes[] = {
    "loss: cross_entropy\noptimizer: {kind: adamw, lr: 0.001, betas: [0.9, "
    "0.99]}\nbatch: 64\nepochs: 3\n",
    "# comment\ndata:\n  x: train.npy\n  labels: y.npy\nmap:\n  x: images\n"
    "mean: [0.1, 0.2]\nstrict: false\n",
    "data: [a.npz, b.npz]\nschedule: cosine\nwarmup_steps: 100\nlr: 1e-3\n"
    "dims:\n  n: 4\n  m: 8\ntargets: [cpu]\n",
    "loss: 'output:loss'\noptimizer:\n  kind: sgd\n  momentum: 0.9\n  "
    "nesterov: "
    "yes\ntrain: [\"a*\", b]\nclip_norm: 1.0\n"};

/// What means something in YAML, and numbers that break sizes.
constexpr std::string_view tokens[] = {
    "&a ",  "*a",          "<<: *a",
    "- ",   "{",           "}",
    "[",    "]",           "|\n",
    ">-\n", "!!int ",      "!!b ",
    "? ",   ": ",          "---",
    "...",  "%YAML ",      "\t",
    "\"",   "'",           "\\x41",
    "\n",   "  ",          "~",
    "null", ".inf",        ".nan",
    "-1",   "1e400",       "99999999999999999999",
    "0x7f", "\xff\xfe",    "\xef\xbb\xbf",
    "lr: ", "optimizer: ", "kind: "};

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

/// A line removed, doubled, moved, or taken from another recipe.
void mutateLines(std::string &text, Random &random) {
  std::vector<std::string> lines = linesOf(text);
  if (lines.empty())
    return;
  std::vector<std::string> others =
      linesOf(std::string(recipes[below(random, std::size(recipes))]));
  size_t i = below(random, lines.size()), j = below(random, lines.size());
  switch (below(random, 4)) {
  case 0:
    lines.erase(lines.begin() + ptrdiff_t(i));
    break;
  case 1:
    lines.insert(lines.begin() + ptrdiff_t(i), std::string(lines[j]));
    break;
  case 2:
    std::swap(lines[i], lines[j]);
    break;
  default:
    lines[i] = others[below(random, others.size())];
  }
  text.clear();
  for (const std::string &line : lines)
    text += line;
}

constexpr TextFormat yaml{tokens, "[{-&\t ", 20000};

void mutate(std::string &text, Random &random) {
  if (below(random, 4) == 0)
    mutateLines(text, random);
  else
    mutateText(text, yaml, random);
}

} // namespace

TEST(RecipeFuzz, EveryMutantIsReadOrRefused) {
  int accepted = 0, total = 2000;
  for (int round = 0; round < total; ++round) {
    SCOPED_TRACE(round);
    Random random(static_cast<unsigned>(round));
    std::string text(recipes[below(random, std::size(recipes))]);
    for (size_t i = 0, end = 1 + below(random, 4); i < end; ++i)
      mutate(text, random);
    const Subcommand &command = round % 2 ? trainCommand() : compileCommand();
    Arguments arguments;
    auto begin = std::chrono::steady_clock::now();
    Status status;
    EXPECT_NO_THROW(status =
                        applyRecipeText(text, "r.yaml", command, arguments));
    auto seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
    EXPECT_LT(seconds.count(), 5);
    accepted += status.ok();
    if (status.ok())
      continue;
    EXPECT_EQ(status.message().find("r.yaml"), 0u) << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos)
        << status.message();
  }
  // Otherwise only the parser would be tested.
  EXPECT_GT(accepted, total / 20);
  EXPECT_LT(accepted, total * 3 / 4);
}

TEST(Recipe, HoldsWhatFlagsHold) {
  Arguments arguments;
  ASSERT_TRUE(applyRecipeText(std::string(recipes[0]), "r.yaml",
                              compileCommand(), arguments)
                  .ok());
  EXPECT_EQ(arguments.text("optimizer"), "adamw");
  EXPECT_EQ(arguments.numbers("betas"), (std::vector<double>{0.9, 0.99}));
  EXPECT_EQ(arguments.integer("batch"), 64);
  // A flag of train only.
  EXPECT_FALSE(arguments.has("epochs"));
}

TEST(Recipe, NamesTheNearestKey) {
  Arguments arguments;
  Status status = applyRecipeText("lr: 1\noptimiser: sgd\n", "r.yaml",
                                  compileCommand(), arguments);
  EXPECT_EQ(status.message(), "r.yaml:2: unknown key 'optimiser', did you "
                              "mean 'optimizer'?");
}

TEST(Recipe, ADirectoryIsNoRecipe) {
  Arguments arguments;
  EXPECT_EQ(applyRecipe("/tmp", compileCommand(), arguments).message(),
            "/tmp: expected a regular file, got a directory");
}
