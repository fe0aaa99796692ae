// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.window against loops.

#include "KernelTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bessemer::test;
using llvm::formatv;

namespace {
struct Pool {
  int images, h, w, kh, kw, sh, sw;
  int pads[4] = {0, 0, 0, 0}; // top, left, bottom, right
  int dh = 1, dw = 1;
  bool ceil = false, countPads = false;
  /// Channels of an image, laid out in one block when there are several.
  int block = 1;

  int planes() const { return images * block; }
  static int outputSize(int size, int window, int stride, int pads,
                        int dilation, bool ceil) {
    int reach = size + pads - dilation * (window - 1) - 1;
    return (ceil ? (reach + stride - 1) / stride : reach / stride) + 1;
  }
  int oh() const { return outputSize(h, kh, sh, pads[0] + pads[2], dh, ceil); }
  int ow() const { return outputSize(w, kw, sw, pads[1] + pads[3], dw, ceil); }
  std::string attributes(bool isAverage) const {
    return formatv("{{window = array<i64: {0}, {1}>, strides = array<i64: {2}, "
                   "{3}>, pads = array<i64: {4}, {5}, {6}, {7}>, dilations = "
                   "array<i64: {8}, {9}>{10}}",
                   kh, kw, sh, sw, pads[0], pads[1], pads[2], pads[3], dh, dw,
                   isAverage && countPads ? ", count_include_pad" : "");
  }
  std::string typeOf(int height, int width) const {
    return formatv("tensor<{0}x1x{1}x{2}{3}xf32>", images, height, width,
                   block > 1 ? "x" + std::to_string(block) : "");
  }
  std::string large() const { return typeOf(h, w); }
  std::string small() const { return typeOf(oh(), ow()); }

  /// Planes one after the other as they lie in memory, or back.
  template <typename T>
  std::vector<T> inBlocks(std::vector<T> values, bool back = false) const {
    if (block == 1)
      return values;
    std::vector<T> result(values.size());
    size_t pixels = values.size() / planes();
    for (size_t i = 0; i < values.size(); ++i) {
      size_t plane = i / pixels, pixel = i % pixels;
      size_t image = plane / block, channel = plane % block;
      size_t place = (image * pixels + pixel) * block + channel;
      (back ? result[i] : result[place]) = values[back ? place : i];
    }
    return result;
  }

  struct Window {
    std::vector<int> elements; // offsets in the plane, row-major
    int count;                 // taps that an average divides by
  };
  Window windowAt(int y, int x) const {
    Window window{{}, 0};
    for (int i = 0; i < kh; ++i)
      for (int j = 0; j < kw; ++j) {
        int r = y * sh - pads[0] + i * dh, c = x * sw - pads[1] + j * dw;
        bool inside = r >= 0 && r < h && c >= 0 && c < w;
        if (inside)
          window.elements.push_back(r * w + c);
        bool padded = r >= -pads[0] && r < h + pads[2] && c >= -pads[1] &&
                      c < w + pads[3];
        window.count += countPads ? padded : inside;
      }
    return window;
  }
};
} // namespace

static std::vector<Pool> pools() {
  std::vector<Pool> pools = {
      {3, 28, 28, 2, 2, 2, 2},
      {2, 8, 64, 2, 2, 2, 2},
      {2, 7, 9, 2, 2, 2, 2},
      {1, 2, 2, 2, 2, 2, 2},
      {2, 5, 70, 2, 2, 2, 2},
      {2, 9, 11, 3, 3, 2, 2, {1, 1, 1, 1}},
      {2, 9, 40, 3, 3, 1, 1, {1, 1, 1, 1}, 1, 1, false, true},
      {3, 10, 12, 3, 2, 2, 3, {0, 1, 1, 0}, 2, 1, true, true},
      {1, 12, 13, 3, 3, 2, 2, {0, 0, 0, 0}, 1, 2, true},
      {2, 7, 7, 7, 7, 1, 1},
      {2, 6, 6, 3, 3, 3, 3, {1, 1, 1, 1}, 1, 1, true, true},
  };
  for (size_t i = 0, count = pools.size(); i < count; ++i) {
    pools.push_back(pools[i]);
    pools.back().block = 16;
  }
  return pools;
}

TEST(Window, PoolsAndGradients) {
  std::vector<Pool> cases = pools();
  KernelSet set;
  for (const Pool &pool : cases) {
    auto forward = [&](const std::string &kind) {
      set.add("(%x: " + pool.large() + ")",
              formatv("%y = kern.window {0}(%x) {1} : ({2}) -> {3}", kind,
                      pool.attributes(kind == "average"), pool.large(),
                      pool.small()));
    };
    forward("max");
    forward("average");
    set.add("(%x: " + pool.large() + ", %d: " + pool.small() + ")",
            formatv("%y = kern.window max_grad(%x, %d) {0} : ({1}, {2}) -> {1}",
                    pool.attributes(false), pool.large(), pool.small()));
    set.add("(%d: " + pool.small() + ")",
            formatv("%y = kern.window average_grad(%d) {0} : ({1}) -> {2}",
                    pool.attributes(true), pool.small(), pool.large()));
  }
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < cases.size(); ++i) {
      const Pool &pool = cases[i];
      std::string name = pool.attributes(true) + pool.large();
      int large = pool.h * pool.w, small = pool.oh() * pool.ow();
      auto x = randomFloats(pool.planes() * large, 1);
      // Ties, and a NaN.
      for (size_t e = 0; e < x.size(); e += 3)
        x[e] = 0.5f;
      x[large / 2] = NAN;
      auto dy = randomFloats(pool.planes() * small, 2);
      std::vector<double> largest, average, dMax(x.size(), 0),
          dAverage(x.size(), 0);
      for (int p = 0; p < pool.planes(); ++p)
        for (int oh = 0; oh < pool.oh(); ++oh)
          for (int ow = 0; ow < pool.ow(); ++ow) {
            Pool::Window window = pool.windowAt(oh, ow);
            double sum = 0;
            int best = -1;
            float gradient = dy[p * small + oh * pool.ow() + ow];
            for (int e : window.elements) {
              float value = x[p * large + e];
              float top = best < 0 ? 0 : x[p * large + best];
              if (best < 0 || value > top ||
                  (std::isnan(value) && !std::isnan(top)))
                best = e;
              sum += value;
              dAverage[p * large + e] += gradient / window.count;
            }
            largest.push_back(best < 0 ? -INFINITY : x[p * large + best]);
            average.push_back(sum / window.count);
            if (best >= 0)
              dMax[p * large + best] += gradient;
          }
      auto planar = [&](const BufferPtr &buffer) {
        return pool.inBlocks(buffer->values<float>(), /*back=*/true);
      };
      BufferPtr y = makeFloats(largest.size()), dx = makeFloats(x.size());
      set.run(4 * i, {makeBuffer(pool.inBlocks(x))}, {y});
      expectNear(planar(y), largest, 0, "max " + name);
      set.run(4 * i + 1, {makeBuffer(pool.inBlocks(x))}, {y});
      expectNear(planar(y), average, 1e-6, "average " + name);
      set.run(4 * i + 2,
              {makeBuffer(pool.inBlocks(x)), makeBuffer(pool.inBlocks(dy))},
              {dx});
      expectNear(planar(dx), dMax, 1e-6, "max gradient " + name);
      set.run(4 * i + 3, {makeBuffer(pool.inBlocks(dy))}, {dx});
      expectNear(planar(dx), dAverage, 1e-6, "average gradient " + name);
    }
  }
}
