// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
// as 1, 2, 3; SC'11), as graph.random documents its key and counter.

#include "Operations.h"
#include <array>

namespace bessemer::reference {

double uniform(const StepBlock &step, int64_t id, uint64_t element) {
  std::array<uint32_t, 4> counter = {
      static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32),
      static_cast<uint32_t>(step.step), static_cast<uint32_t>(step.step >> 32)};
  std::array<uint32_t, 2> key = {static_cast<uint32_t>(step.seed) ^
                                     static_cast<uint32_t>(id),
                                 static_cast<uint32_t>(step.seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53) * counter[0];
    uint64_t product1 = uint64_t(0xCD9E8D57) * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return (counter[0] >> 8) * 0x1p-24;
}

} // namespace bessemer::reference
