// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An interval map of tags.

#include "bessemer/Memory/ShadowMemory.h"
#include <algorithm>

using namespace bessemer;

void ShadowMemory::split(int64_t at) {
  auto piece = pieces.lower_bound(at);
  if (piece == pieces.begin())
    return;
  --piece;
  if (piece->second.end <= at)
    return;
  pieces[at] = piece->second;
  piece->second.end = at;
}

void ShadowMemory::write(int64_t begin, int64_t end, int64_t tag) {
  if (begin >= end)
    return;
  split(begin);
  split(end);
  pieces.erase(pieces.lower_bound(begin), pieces.lower_bound(end));
  pieces[begin] = {end, tag};
}

std::vector<ShadowMemory::Segment> ShadowMemory::read(int64_t begin,
                                                      int64_t end) const {
  std::vector<Segment> segments;
  auto piece = pieces.upper_bound(begin);
  if (piece != pieces.begin())
    --piece;
  int64_t at = begin;
  for (; at < end && piece != pieces.end() && piece->first < end; ++piece) {
    if (piece->second.end <= at)
      continue;
    if (piece->first > at)
      segments.push_back({at, piece->first, kUnwritten});
    int64_t from = std::max(at, piece->first);
    at = std::min(end, piece->second.end);
    segments.push_back({from, at, piece->second.tag});
  }
  if (at < end)
    segments.push_back({at, end, kUnwritten});
  return segments;
}
