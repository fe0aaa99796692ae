// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What fusion saves and what it costs: bytes moved against work repeated.

#ifndef BESSEMER_LIB_FUSION_COSTMODEL_H
#define BESSEMER_LIB_FUSION_COSTMODEL_H

#include "Kernel.h"

namespace bessemer::fusion {

/// Work of one iteration of a kernel's region, in units of one addition.
int64_t workPerIteration(const Kernel &kernel);

/// Whether the results of `producer` are better computed again by everyone who
/// uses them than stored: they are cheap, and to compute them reads no more
/// bytes than to load them, or they come from nothing (random numbers,
/// indices).
bool worthDuplicating(const Kernel &producer);

/// Whether merging, with `embedding`, repeats no more work than it is worth.
/// The work of `first` repeats along dimensions that it lacks, and in every
/// phase of a fold that needs it.
bool worthMerging(const Kernel &first, const Kernel &second,
                  const Embedding &embedding);

/// Bytes that need not be read when the two share a kernel: results of `first`
/// that `second` reads, and inputs that both read.
int64_t bytesSaved(const Kernel &first, const Kernel &second);

/// A quick look before embedding: whether worthPairing is possible at all.
bool mayPair(const Kernel &first, const Kernel &second);

/// Why two kernels that do not depend on each other should share one.
enum class Pairing {
  None,
  SharedInput, ///< they read the same tensor in the same way
  Tiny         ///< a launch costs more than both of them
};
Pairing worthPairing(const Kernel &first, const Kernel &second,
                     const Embedding &embedding);

} // namespace bessemer::fusion

#endif // BESSEMER_LIB_FUSION_COSTMODEL_H
