// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of sines that a model keeps as a buffer, not as a parameter.

#ifndef BESSEMER_LIB_IMPORT_WAVETABLES_H
#define BESSEMER_LIB_IMPORT_WAVETABLES_H

#include "ModelSource.h"

namespace bessemer::ingest {

/// Whether an initializer is what models compute once to tell positions apart:
/// sines and cosines of position times frequency (positional encodings,
/// rotary tables), or those frequencies, falling geometrically from 1. Nobody
/// learns such numbers, and a TorchScript export does not say that they are no
/// parameters.
bool isWaveTable(const Initializer &initializer);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_WAVETABLES_H
