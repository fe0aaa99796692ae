// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recipes: YAML into the flags of `compile` and `train`.
#include "Recipe.h"
#include "TemporaryFile.h"

using namespace bessemer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::TemporaryFile file(data, size);
  for (const tool::Subcommand *command :
       {&tool::compileCommand(), &tool::trainCommand()}) {
    tool::Arguments arguments;
    (void)tool::applyRecipe(file.path(), *command, arguments);
  }
  return 0;
}
