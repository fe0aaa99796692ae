// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// oneDNN's convolutions against plain loops in double precision.
#include "TestArtifact.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gmock/gmock.h>
#include <random>

using namespace bessemer::test;
using namespace bessemer::runtime;
using bessemer::format::ConvolutionKind;
using Type = bessemer::format::ElementType;

namespace {
struct Case {
  const char *name;
  int64_t batch, channels, height, width, outputs, kernelHeight, kernelWidth;
  int64_t groups = 1;
  std::array<int64_t, 2> strides = {1, 1}, dilations = {1, 1};
  /// Top, left, bottom, right.
  std::array<int64_t, 4> pads = {0, 0, 0, 0};

  std::vector<int64_t> x() const { return {batch, channels, height, width}; }
  std::vector<int64_t> w() const {
    return {outputs, channels / groups, kernelHeight, kernelWidth};
  }
  std::vector<int64_t> y() const {
    auto extent = [&](int d, int64_t size, int64_t taps) {
      int64_t reach = (taps - 1) * dilations[d] + 1;
      return (size + pads[d] + pads[d + 2] - reach) / strides[d] + 1;
    };
    return {batch, outputs, extent(0, height, kernelHeight),
            extent(1, width, kernelWidth)};
  }
};

int64_t product(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// Visits (index in x, index in w, index in y) of every product.
template <typename F> void forEachProduct(const Case &c, F visit) {
  auto y = c.y();
  int64_t perGroup = c.channels / c.groups;
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t o = 0; o < c.outputs; ++o)
      for (int64_t i = 0; i < perGroup; ++i)
        for (int64_t oh = 0; oh < y[2]; ++oh)
          for (int64_t ow = 0; ow < y[3]; ++ow)
            for (int64_t kh = 0; kh < c.kernelHeight; ++kh)
              for (int64_t kw = 0; kw < c.kernelWidth; ++kw) {
                int64_t h = oh * c.strides[0] + kh * c.dilations[0] - c.pads[0];
                int64_t w = ow * c.strides[1] + kw * c.dilations[1] - c.pads[1];
                if (h < 0 || h >= c.height || w < 0 || w >= c.width)
                  continue;
                int64_t channel = o / (c.outputs / c.groups) * perGroup + i;
                visit(((n * c.channels + channel) * c.height + h) * c.width + w,
                      ((o * perGroup + i) * c.kernelHeight + kh) *
                              c.kernelWidth +
                          kw,
                      ((n * c.outputs + o) * y[2] + oh) * y[3] + ow);
              }
}

std::vector<float> noise(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = float(engine() % 2001) / 1000.0f - 1.0f;
  return values;
}

/// A sum in double, and the sum of magnitudes, which bounds rounding in f32.
struct Sums {
  explicit Sums(int64_t count) : value(count), magnitude(count) {}
  void add(int64_t i, double term) {
    value[i] += term;
    magnitude[i] += std::fabs(term);
  }
  void expectNear(std::span<const float> got) const {
    ASSERT_EQ(got.size(), value.size());
    for (size_t i = 0; i < value.size(); ++i)
      // Sixteen units in the last place of f32 of the magnitudes: blocked sums
      // of these lengths stay well inside, a wrong term does not.
      ASSERT_NEAR(got[i], value[i], magnitude[i] * 16 * 0x1p-24 + 1e-30)
          << "element " << i;
  }
  /// Winograd's F(4x4, 3x3) mixes the elements of a tile with coefficients up
  /// to 8, so that small elements have errors as large as their neighbours'.
  void expectNearInTiles(std::span<const float> got) const {
    ASSERT_EQ(got.size(), value.size());
    double largest = *std::max_element(magnitude.begin(), magnitude.end());
    for (size_t i = 0; i < value.size(); ++i)
      ASSERT_NEAR(got[i], value[i], largest * 16 * 0x1p-24) << "element " << i;
  }
  std::vector<double> value, magnitude;
};

class ConvolutionTest : public testing::TestWithParam<Case> {
public:
  static std::unique_ptr<bessemer::format::ConvolutionT>
  describe(const Case &c, ConvolutionKind kind, bool bias = false) {
    auto conv = std::make_unique<bessemer::format::ConvolutionT>();
    conv->kind = kind;
    conv->has_bias = bias;
    conv->x = c.x();
    conv->w = c.w();
    conv->y = c.y();
    conv->strides.assign(c.strides.begin(), c.strides.end());
    conv->dilations.assign(c.dilations.begin(), c.dilations.end());
    conv->pads.assign(c.pads.begin(), c.pads.end());
    conv->groups = c.groups;
    conv->x_layout = "row";
    return conv;
  }
};
} // namespace

TEST_P(ConvolutionTest, MatchesPlainLoops) {
  const Case &c = GetParam();
  auto x = noise(product(c.x()), 1), w = noise(product(c.w()), 2),
       dy = noise(product(c.y()), 3), bias = noise(c.outputs, 4);

  TestArtifact artifact;
  auto exec = artifact.addFunction("predict",
                                   {{"x", Type::f32, c.x()},
                                    {"w", Type::f32, c.w()},
                                    {"dy", Type::f32, c.y()},
                                    {"bias", Type::f32, {c.outputs}}},
                                   {{"y", Type::f32, c.y()},
                                    {"y_bias", Type::f32, c.y()},
                                    {"dx", Type::f32, c.x()},
                                    {"dw", Type::f32, c.w()}});
  auto in = [&](int i) { return exec.slice(exec.input(i)); };
  auto out = [&](int i) { return exec.slice(exec.output(i)); };
  exec.convolution(*describe(c, ConvolutionKind::forward),
                   {in(0), in(1), out(0)});
  exec.convolution(*describe(c, ConvolutionKind::forward, true),
                   {in(0), in(1), in(3), out(1)});
  exec.convolution(*describe(c, ConvolutionKind::input_gradient),
                   {in(2), in(1), out(2)});
  exec.convolution(*describe(c, ConvolutionKind::weight_gradient),
                   {in(0), in(2), out(3)});
  // Again, and through the same plan: scratch is shared and must be clean.
  exec.convolution(*describe(c, ConvolutionKind::forward),
                   {in(0), in(1), out(0)});

  Sums y(product(c.y())), dx(product(c.x())), dw(product(c.w()));
  forEachProduct(c, [&](int64_t xi, int64_t wi, int64_t yi) {
    y.add(yi, double(x[xi]) * w[wi]);
    dx.add(xi, double(dy[yi]) * w[wi]);
    dw.add(wi, double(dy[yi]) * x[xi]);
  });
  Sums withBias = y;
  int64_t pixels = c.y()[2] * c.y()[3];
  for (size_t i = 0; i < y.value.size(); ++i)
    withBias.add(int64_t(i), bias[int64_t(i) / pixels % c.outputs]);

  for (int threads : {1, 2}) {
    auto session = artifact.session(threads);
    ASSERT_TRUE(session);
    // Twice what the planner aims at, as weights come on top.
    EXPECT_LE(session->memory().libraryScratch, uint64_t(threads) << 21);
    EXPECT_THAT(std::string(session->library()),
                testing::StartsWith("oneDNN 2."));
    auto xs = c.x(), ws = c.w(), ys = c.y();
    std::vector<int64_t> bs = {c.outputs};
    for (int call = 0; call < 2; ++call) {
      // Other addresses in each call.
      auto ownX = x, ownDy = dy;
      NamedTensor inputs[] = {{"x", view(ownX, xs)},
                              {"w", view(w, ws)},
                              {"dy", view(ownDy, ys)},
                              {"bias", view(bias, bs)}};
      Status status = session->run("predict", inputs, {});
      ASSERT_TRUE(status.ok()) << status.message();
      auto got = [&](const char *name) {
        return session->output("predict", name)->elements<float>();
      };
      y.expectNear(got("y"));
      withBias.expectNear(got("y_bias"));
      dx.expectNear(got("dx"));
      dw.expectNear(got("dw"));
    }
  }
}

/// Elements of an image [n, c, h, w] as [n, c / 16, h, w, 16], or back.
static std::vector<float> inBlocks(std::span<const float> image,
                                   const std::vector<int64_t> &shape,
                                   bool back = false) {
  std::vector<float> result(image.size());
  int64_t channels = shape[1], pixels = shape[2] * shape[3];
  for (int64_t i = 0; i < int64_t(image.size()); ++i) {
    int64_t pixel = i % pixels, c = i / pixels % channels;
    int64_t n = i / pixels / channels;
    int64_t block = ((n * channels / 16 + c / 16) * pixels + pixel) * 16;
    (back ? result[i] : result[block + c % 16]) =
        image[back ? block + c % 16 : i];
  }
  return result;
}

/// Weights [o, i, h, w] as [o / 16, i / 16, h, w, 16 of i, 16 of o], or back.
static std::vector<float> weightsInBlocks(std::span<const float> weights,
                                          const std::vector<int64_t> &shape,
                                          bool back = false) {
  std::vector<float> result(weights.size());
  int64_t inputs = shape[1], pixels = shape[2] * shape[3];
  for (int64_t row = 0; row < int64_t(weights.size()); ++row) {
    int64_t pixel = row % pixels, i = row / pixels % inputs;
    int64_t o = row / pixels / inputs;
    int64_t block = (o / 16 * (inputs / 16) + i / 16) * pixels + pixel;
    int64_t blocked = (block * 16 + i % 16) * 16 + o % 16;
    (back ? result[row] : result[blocked]) = weights[back ? blocked : row];
  }
  return result;
}

/// Every kind of convolution on the images that can be in blocks, with weights
/// in blocks or not.
static void checkInBlocks(const Case &c, bool winograd, bool blockedW) {
  bool blockedX = c.channels % 16 == 0, blockedY = c.outputs % 16 == 0;
  auto x = noise(product(c.x()), 1), w = noise(product(c.w()), 2),
       dy = noise(product(c.y()), 3);
  Sums y(product(c.y())), dx(product(c.x())), dw(product(c.w()));
  forEachProduct(c, [&](int64_t xi, int64_t wi, int64_t yi) {
    y.add(yi, double(x[xi]) * w[wi]);
    dx.add(xi, double(dy[yi]) * w[wi]);
    dw.add(wi, double(dy[yi]) * x[xi]);
  });
  TestArtifact artifact;
  auto exec = artifact.addFunction("predict",
                                   {{"x", Type::f32, c.x()},
                                    {"w", Type::f32, c.w()},
                                    {"dy", Type::f32, c.y()}},
                                   {{"y", Type::f32, c.y()},
                                    {"dx", Type::f32, c.x()},
                                    {"dw", Type::f32, c.w()}});
  auto in = [&](int i) { return exec.slice(exec.input(i)); };
  auto out = [&](int i) { return exec.slice(exec.output(i)); };
  auto convolution = [&](ConvolutionKind kind) {
    auto conv = ConvolutionTest::describe(c, kind);
    conv->x_layout = blockedX ? "nChw16c" : "row";
    conv->w_layout = blockedW ? "OIhw16i16o" : "row";
    conv->y_layout = blockedY ? "nChw16c" : "row";
    conv->winograd = winograd;
    return conv;
  };
  exec.convolution(*convolution(ConvolutionKind::forward),
                   {in(0), in(1), out(0)});
  exec.convolution(*convolution(ConvolutionKind::input_gradient),
                   {in(2), in(1), out(1)});
  exec.convolution(*convolution(ConvolutionKind::weight_gradient),
                   {in(0), in(2), out(2)});
  auto givenX = blockedX ? inBlocks(x, c.x()) : x;
  auto givenW = blockedW ? weightsInBlocks(w, c.w()) : w;
  auto givenDy = blockedY ? inBlocks(dy, c.y()) : dy;
  for (int threads : {1, 2}) {
    auto session = artifact.session(threads);
    ASSERT_TRUE(session);
    auto xs = c.x(), ws = c.w(), ys = c.y();
    NamedTensor inputs[] = {{"x", view(givenX, xs)},
                            {"w", view(givenW, ws)},
                            {"dy", view(givenDy, ys)}};
    // Twice: nothing may be left over in scratch.
    for (int call = 0; call < 2; ++call) {
      Status status = session->run("predict", inputs, {});
      ASSERT_TRUE(status.ok()) << status.message();
    }
    auto got = [&](const char *name) {
      return session->output("predict", name)->elements<float>();
    };
    auto image = [&](const char *name, const std::vector<int64_t> &shape,
                     bool isBlocked) {
      return isBlocked ? inBlocks(got(name), shape, /*back=*/true)
                       : std::vector<float>(got(name).begin(), got(name).end());
    };
    auto check = [&](const Sums &sums, const std::vector<float> &elements) {
      winograd ? sums.expectNearInTiles(elements) : sums.expectNear(elements);
    };
    check(y, image("y", c.y(), blockedY));
    check(dx, image("dx", c.x(), blockedX));
    check(dw, blockedW
                  ? weightsInBlocks(got("dw"), c.w(), /*back=*/true)
                  : std::vector<float>(got("dw").begin(), got("dw").end()));
  }
}

// The images that can be lie in blocks, and Winograd's algorithm is allowed.
TEST_P(ConvolutionTest, TakesImagesInBlocks) {
  const Case &c = GetParam();
  if (c.channels % 16 && c.outputs % 16)
    GTEST_SKIP() << "no image of whole blocks";
  for (bool winograd : {false, true})
    checkInBlocks(c, winograd, /*blockedW=*/false);
}

TEST_P(ConvolutionTest, TakesWeightsInBlocks) {
  const Case &c = GetParam();
  if (c.channels / c.groups % 16 || c.outputs / c.groups % 16)
    GTEST_SKIP() << "no weights of whole blocks";
  for (bool winograd : {false, true})
    checkInBlocks(c, winograd, /*blockedW=*/true);
}

// Winograd's weight gradient of so many channels takes too much scratch at
// once.
TEST(Convolution, ComputesWeightGradientsInParts) {
  Case c{"parts", 2, 512, 6, 6, 512, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  for (bool blockedW : {false, true})
    checkInBlocks(c, /*winograd=*/true, blockedW);
}

// Parts of the output channels would mix groups.
TEST(Convolution, ComputesGroupedWeightGradientsWhole) {
  Case c{"groups", 2, 512, 6, 6, 512, 3, 3, 2, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  for (bool blockedW : {false, true})
    checkInBlocks(c, /*winograd=*/true, blockedW);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvolutionTest,
    testing::Values(
        Case{"lenet1", 4, 1, 28, 28, 6, 5, 5, 1, {1, 1}, {1, 1}, {2, 2, 2, 2}},
        Case{"lenet2", 4, 6, 14, 14, 16, 5, 5},
        Case{"image", 2, 3, 17, 15, 32, 3, 3, 1, {2, 2}, {1, 1}, {1, 1, 1, 1}},
        Case{"wide", 2, 32, 9, 9, 48, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        Case{"tiles", 8, 32, 12, 12, 48, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        Case{"blocked_depthwise",
             2,
             32,
             10,
             10,
             32,
             3,
             3,
             32,
             {1, 1},
             {1, 1},
             {1, 1, 1, 1}},
        Case{"odd", 3, 5, 7, 11, 7, 2, 3, 1, {1, 2}, {1, 1}, {0, 1, 1, 2}},
        Case{"pointwise", 2, 20, 6, 6, 24, 1, 1},
        Case{"downsample", 2, 16, 8, 8, 32, 1, 1, 1, {2, 2}},
        Case{"dilated",
             2,
             16,
             12,
             12,
             16,
             3,
             3,
             1,
             {1, 1},
             {2, 3},
             {2, 3, 2, 3}},
        Case{"grouped_blocks",
             2,
             32,
             8,
             8,
             64,
             3,
             3,
             2,
             {1, 1},
             {1, 1},
             {1, 1, 1, 1}},
        Case{"grouped", 2, 12, 8, 8, 20, 3, 3, 4, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        Case{"depthwise",
             2,
             24,
             10,
             10,
             24,
             3,
             3,
             24,
             {2, 1},
             {1, 1},
             {1, 1, 1, 1}},
        Case{"depthwise_odd",
             1,
             5,
             9,
             9,
             10,
             5,
             5,
             5,
             {1, 1},
             {1, 1},
             {2, 2, 2, 2}},
        // Large enough to be computed some images at a time.
        Case{
            "chunked", 64, 1, 28, 28, 6, 5, 5, 1, {1, 1}, {1, 1}, {2, 2, 2, 2}},
        Case{"chunked_depthwise",
             8,
             64,
             32,
             32,
             64,
             3,
             3,
             64,
             {1, 1},
             {1, 1},
             {1, 1, 1, 1}},
        Case{"chunked_prime",
             5,
             16,
             40,
             40,
             32,
             3,
             3,
             1,
             {1, 1},
             {1, 1},
             {1, 1, 1, 1}},
        Case{"ragged", 1, 4, 10, 10, 4, 3, 3, 1, {3, 3}, {1, 1}, {0, 0, 1, 1}}),
    [](const auto &info) { return std::string(info.param.name); });

namespace {
std::unique_ptr<TestArtifact> oneConvolution() {
  auto artifact = std::make_unique<TestArtifact>();
  auto exec = artifact->addFunction("predict", {{"x", Type::f32, {1}}},
                                    {{"y", Type::f32, {1}}});
  bessemer::format::ConvolutionT conv;
  conv.x = conv.w = conv.y = {1, 1, 1, 1};
  conv.strides = conv.dilations = {1, 1};
  conv.pads = {0, 0, 0, 0};
  exec.convolution(conv, {exec.slice(exec.input(0)), exec.slice(exec.input(0)),
                          exec.slice(exec.output(0))});
  return artifact;
}
} // namespace

// Each statement runs in a process of its own, as a library once opened stays.
TEST(OneDnnDeathTest, NamesTheMissingLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto artifact = oneConvolution();
  auto program = artifact->load();
  auto tryWith = [&](const char *library) {
    ::setenv("BESSEMER_ONEDNN", library, 1);
    auto session = Session::create(program);
    std::fprintf(stderr, "%s\n", session.status().message().c_str());
    std::exit(int(session.status().code()));
  };
  EXPECT_EXIT(tryWith("/nowhere/libdnnl.so.2"), testing::ExitedWithCode(1),
              "test.bsm: 'a convolution': convolutions need oneDNN 2 "
              "\\(/nowhere/libdnnl.so.2; Debian package libdnnl2\\): ");
  EXPECT_EXIT(tryWith("libz.so.1"), testing::ExitedWithCode(1),
              "libz.so.1: expected oneDNN 2, got a library without "
              "dnnl_version");
}

TEST(Convolution, SharesPlansAndScratch) {
  auto artifact = std::make_unique<TestArtifact>();
  auto exec =
      artifact->addFunction("predict", {{"x", Type::f32, {2, 32, 16, 16}}},
                            {{"y", Type::f32, {2, 32, 16, 16}}});
  uint32_t w = exec.addWork(32 * 32 * 9 * 4);
  bessemer::format::ConvolutionT conv;
  conv.x = conv.y = {2, 32, 16, 16};
  conv.w = {32, 32, 3, 3};
  conv.strides = conv.dilations = {1, 1};
  conv.pads = {1, 1, 1, 1};
  auto add = [&] {
    exec.convolution(conv, {exec.slice(exec.input(0)), exec.slice(w),
                            exec.slice(exec.output(0))});
  };
  add();
  uint64_t once = artifact->session()->memory().libraryScratch;
  for (int i = 0; i < 10; ++i)
    add();
  EXPECT_EQ(artifact->session()->memory().libraryScratch, once);
}
