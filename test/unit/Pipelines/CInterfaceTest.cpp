// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler's C interface with what a careless caller gives: null pointers,
// text that is no JSON, bytes that are no model.
#include "bessemer/bessemer_compiler.h"

#include <functional>
#include <gtest/gtest.h>

namespace {

using Call = std::function<int(const char *options, bsc_result **result)>;

const Call calls[] = {[](const char *options, bsc_result **result) {
                        return bsc_compile(options, nullptr, 0, result);
                      },
                      [](const char *options, bsc_result **result) {
                        return bsc_export(options, nullptr, 0, result);
                      }};

} // namespace

TEST(CompilerInterface, NamesAMissingArgument) {
  for (const Call &call : calls) {
    bsc_result *result = nullptr;
    EXPECT_EQ(call(nullptr, &result), BSC_USAGE_ERROR);
    EXPECT_STREQ(bsc_result_error(result),
                 "options: expected a pointer, got NULL");
    bsc_result_free(result);
    EXPECT_EQ(call("{}", nullptr), BSC_USAGE_ERROR);
    EXPECT_EQ(call(nullptr, nullptr), BSC_USAGE_ERROR);
  }
}

TEST(CompilerInterface, ANullResultHoldsNothing) {
  size_t size = 1;
  EXPECT_EQ(bsc_result_artifact(nullptr, &size), nullptr);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(bsc_result_artifact(nullptr, nullptr), nullptr);
  EXPECT_STREQ(bsc_result_text(nullptr), "");
  EXPECT_STREQ(bsc_result_warnings(nullptr), "");
  EXPECT_STREQ(bsc_result_error(nullptr), "");
  bsc_result_free(nullptr);
}

TEST(CompilerInterface, RefusesOptionsAndBytesThatAreNone) {
  for (const Call &call : calls)
    for (const char *options : {"", "{", "[]", "null", "\"\xff\"", "{}"}) {
      bsc_result *result = nullptr;
      EXPECT_NE(call(options, &result), BSC_OK) << options;
      std::string error = bsc_result_error(result);
      EXPECT_FALSE(error.empty()) << options;
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
      size_t size = 1;
      EXPECT_EQ(bsc_result_artifact(result, &size), nullptr);
      EXPECT_EQ(size, 0u);
      bsc_result_free(result);
    }
  bsc_result *result = nullptr;
  EXPECT_EQ(bsc_compile("{\"model\": \"m.onnx\"}", "\x08", 1, &result),
            BSC_INPUT_ERROR);
  EXPECT_NE(std::string(bsc_result_error(result)), "");
  bsc_result_free(result);
}
