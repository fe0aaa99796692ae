// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Location -> label.

#include "Labels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

static void collect(Location location, SmallVectorImpl<std::string> &parts) {
  if (auto named = dyn_cast<NameLoc>(location)) {
    std::string text = named.getName().str();
    if (auto line = named.getChildLoc()->findInstanceOf<FileLineColLoc>())
      text += " (" + line.getFilename().str() + ":" +
              std::to_string(line.getLine()) + ")";
    if (!llvm::is_contained(parts, text))
      parts.push_back(text);
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collect(part, parts);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collect(call.getCallee(), parts);
  } else if (auto opaque = dyn_cast<OpaqueLoc>(location)) {
    collect(opaque.getFallbackLocation(), parts);
  }
}

std::string bessemer::labelOf(Location location) {
  constexpr size_t mostParts = 4;
  SmallVector<std::string> parts;
  collect(location, parts);
  std::string label;
  llvm::raw_string_ostream stream(label);
  llvm::interleaveComma(ArrayRef(parts).take_front(mostParts), stream);
  if (parts.size() > mostParts)
    stream << ", and " << parts.size() - mostParts << " more";
  return label;
}
