// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recipes, as the command line reads them.
#pragma once

#include "bessemer/runtime/Status.h"

#include <string>

/// The compile options of a recipe as JSON, without those it does not give.
bessemer::runtime::Expected<std::string> readRecipe(const std::string &path);
