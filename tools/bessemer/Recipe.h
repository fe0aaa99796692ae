// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recipes: a YAML file that holds what the flags hold.
#pragma once

#include "Subcommand.h"

namespace bessemer::tool {

/// Adds what the recipe says to `arguments`, except flags that are given
/// already. Keys are flag names ("warmup-steps" or "warmup_steps"); lists and
/// NAME=VALUE flags may be YAML lists and maps; `optimizer` may be a map with
/// `kind` and its constants. One recipe serves `compile` and `train`: flags of
/// the other one are read over. Any other key is an error that names the key,
/// its line and the nearest key there is. Like a wrong flag it is a usage
/// error, but a file that cannot be read is the input's fault.
Status applyRecipe(const std::string &path, const Subcommand &command,
                   Arguments &arguments);

/// The same for a recipe that is read already; `path` stands for it in errors.
Status applyRecipeText(const std::string &text, const std::string &path,
                       const Subcommand &command, Arguments &arguments);

} // namespace bessemer::tool
