// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's C interface (bessemer_compiler.h).

#include "bessemer/Emit/ExportOnnx.h"
#include "bessemer/Pipelines/Compile.h"

#include <exception>
#include <new>
#include <nlohmann/json.hpp>

struct bsc_result {
  bessemer::CompileResult result;
  std::string warnings, error;

  void fail(bsc_status status, std::string message) {
    result.status = status;
    result.errors = {std::move(message)};
  }
};

/// Runs `body` with a fresh result; nothing it throws leaves the library.
template <typename Body>
static int guarded(const char *optionsJson, bsc_result **out,
                   const Body &body) {
  if (!out)
    return BSC_USAGE_ERROR;
  auto *result = new (std::nothrow) bsc_result;
  *out = result;
  if (!result)
    return BSC_INTERNAL_ERROR;
  try {
    if (optionsJson)
      body(*result);
    else
      result->fail(BSC_USAGE_ERROR, "options: expected a pointer, got NULL");
  } catch (const std::bad_alloc &) {
    result->fail(BSC_INPUT_ERROR, "not enough memory to compile the model; a "
                                  "smaller batch or smaller dimensions take "
                                  "less");
  } catch (const std::exception &problem) {
    result->fail(BSC_INTERNAL_ERROR,
                 std::string("internal error: ") + problem.what());
  } catch (...) {
    result->fail(BSC_INTERNAL_ERROR, "internal error: unknown exception");
  }
  for (const std::string &line : result->result.warnings)
    result->warnings += line + "\n";
  for (const std::string &line : result->result.errors)
    result->error += (result->error.empty() ? "" : "\n") + line;
  return result->result.status;
}

int bsc_compile(const char *optionsJson, const void *modelBytes,
                size_t modelSize, bsc_result **out) {
  return guarded(optionsJson, out, [&](bsc_result &result) {
    std::string error;
    auto options = bessemer::parseCompileOptions(optionsJson, error);
    if (!options)
      return result.fail(BSC_USAGE_ERROR, error);
    std::optional<llvm::StringRef> bytes;
    if (modelBytes)
      bytes = llvm::StringRef(static_cast<const char *>(modelBytes), modelSize);
    result.result = bessemer::compileModel(*options, bytes);
  });
}

int bsc_export(const char *optionsJson, const void *artifactBytes,
               size_t artifactSize, bsc_result **out) {
  return guarded(optionsJson, out, [&](bsc_result &result) {
    auto options = nlohmann::json::parse(optionsJson, nullptr, false);
    auto text = [&](const char *key) {
      return options.is_object() && options.contains(key) &&
                     options[key].is_string()
                 ? options[key].get<std::string>()
                 : std::string();
    };
    bessemer::ExportOptions exportOptions;
    exportOptions.artifactPath = text("artifact");
    exportOptions.checkpointPath = text("checkpoint");
    exportOptions.outputPath = text("output");
    if (exportOptions.outputPath.empty())
      return result.fail(BSC_USAGE_ERROR, "export: expected 'output'");
    std::optional<llvm::StringRef> bytes;
    if (artifactBytes)
      bytes = llvm::StringRef(static_cast<const char *>(artifactBytes),
                              artifactSize);
    std::string error;
    if (!bessemer::exportTrainedModel(exportOptions, bytes, error))
      result.fail(BSC_INPUT_ERROR, error);
  });
}

const void *bsc_result_artifact(const bsc_result *result, size_t *size) {
  size_t bytes = result ? result->result.artifact.size() : 0;
  if (size)
    *size = bytes;
  return bytes ? result->result.artifact.data() : nullptr;
}

const char *bsc_result_text(const bsc_result *result) {
  return result ? result->result.text.c_str() : "";
}

const char *bsc_result_warnings(const bsc_result *result) {
  return result ? result->warnings.c_str() : "";
}

const char *bsc_result_error(const bsc_result *result) {
  return result ? result->error.c_str() : "";
}

void bsc_result_free(bsc_result *result) { delete result; }
