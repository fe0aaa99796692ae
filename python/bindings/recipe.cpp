// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recipe.h"

#include "CompileFlags.h"
#include "Recipe.h"

using namespace bessemer::tool;

Expected<std::string> readRecipe(const std::string &path) {
  Arguments arguments;
  BESSEMER_RETURN_IF_ERROR(applyRecipe(path, compileCommand(), arguments));
  BESSEMER_RETURN_IF_ERROR(checkSupported(arguments));
  BESSEMER_RETURN_IF_ERROR(checkOptimizer(arguments));
  Json options = compileOptions(arguments, "");
  options.erase("model");
  return options.dump();
}
