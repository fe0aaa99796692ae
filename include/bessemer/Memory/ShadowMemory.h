// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that knows which write each byte comes from.

#ifndef BESSEMER_MEMORY_SHADOWMEMORY_H
#define BESSEMER_MEMORY_SHADOWMEMORY_H

#include <cstdint>
#include <map>
#include <vector>

namespace bessemer {

/// One arena. Bytes have tags; -1 means that nothing wrote them.
class ShadowMemory {
public:
  static constexpr int64_t kUnwritten = -1;

  struct Segment {
    int64_t begin, end;
    int64_t tag;
  };

  /// Bytes [begin, end) now hold what `tag` stands for.
  void write(int64_t begin, int64_t end, int64_t tag);

  /// What [begin, end) holds, in order, without gaps; neighbours of equal tag
  /// may come apart.
  std::vector<Segment> read(int64_t begin, int64_t end) const;

private:
  struct Piece {
    int64_t end;
    int64_t tag;
  };
  /// Makes `at` a boundary of pieces.
  void split(int64_t at);

  /// Pieces by their first byte; they do not overlap.
  std::map<int64_t, Piece> pieces;
};

} // namespace bessemer

#endif // BESSEMER_MEMORY_SHADOWMEMORY_H
