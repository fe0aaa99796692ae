// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Marks what libbessemer_runtime.so exports; everything else is hidden.
#pragma once

#define BESSEMER_RUNTIME_EXPORT __attribute__((visibility("default")))
