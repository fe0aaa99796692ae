// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Columns into inputs: names, layouts, types, numbers.
#include "TestFiles.h"
#include "data/BoundColumn.h"

#include <bit>
#include <cstring>
#include <gmock/gmock.h>

using namespace bessemer::test;
using namespace bessemer::runtime;
using data::Layout;
using data::matchLayout;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

using Shape = std::vector<int64_t>;

ValueInfo input(const std::string &name, ElementType element, Shape shape) {
  return {name, {element, std::move(shape)}};
}

/// A data set of these columns, through a file, as there is no other way in.
DataSet dataSet(const std::vector<NamedArray> &columns) {
  static TemporaryFolder folder;
  std::vector<std::string> specs;
  for (const NamedArray &column : columns) {
    std::string path = folder / (column.name + ".npy");
    EXPECT_TRUE(writeNpy(path, column.array.view()).ok());
    specs.push_back(column.name + "=" + path);
  }
  auto set = DataSet::open(specs);
  EXPECT_TRUE(set.ok()) << set.status().message();
  return *std::move(set);
}

template <typename T>
std::vector<T> rowOf(const BoundData &data, size_t index, int64_t row) {
  std::vector<T> values(data.rowBytes(index) / sizeof(T));
  Status status =
      data.copyRow(index, row, reinterpret_cast<std::byte *>(values.data()));
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

std::string bindError(const std::vector<NamedArray> &columns,
                      const std::vector<ValueInfo> &inputs,
                      const BindOptions &options = {}) {
  auto bound = BoundData::bind(dataSet(columns), inputs, options);
  return bound.ok() ? "no error" : bound.status().message();
}

} // namespace

TEST(Layout, MatchesUnitsFlatteningAndChannelsLast) {
  EXPECT_EQ(matchLayout(Shape{28, 28}, Shape{1, 28, 28}), Layout::Same);
  EXPECT_EQ(matchLayout(Shape{28, 28}, Shape{784}), Layout::Same);
  EXPECT_EQ(matchLayout(Shape{784}, Shape{1, 28, 28}), Layout::Same);
  EXPECT_EQ(matchLayout(Shape{}, Shape{1}), Layout::Same);
  EXPECT_EQ(matchLayout(Shape{1}, Shape{}), Layout::Same);
  EXPECT_EQ(matchLayout(Shape{3, 4, 5}, Shape{3, 4, 5}), Layout::Same);
  EXPECT_EQ(matchLayout(Shape{32, 30, 3}, Shape{3, 32, 30}),
            Layout::ChannelsLastToFirst);
  EXPECT_EQ(matchLayout(Shape{3, 3, 3}, Shape{3, 3, 3}), Layout::Same);
  EXPECT_EQ(matchLayout(Shape{28, 28}, Shape{28, 27}), std::nullopt);
  EXPECT_EQ(matchLayout(Shape{2, 3}, Shape{3, 2}), std::nullopt);
  EXPECT_EQ(matchLayout(Shape{30, 32, 3}, Shape{3, 32, 30}), std::nullopt);
}

TEST(Bind, ScalesImagesAndWidensLabels) {
  auto data =
      BoundData::bind(dataSet({column<uint8_t>("x", {2, 2}, {0, 255, 51, 102}),
                               column<uint8_t>("labels", {2}, {3, 9})}),
                      std::vector{input("x", ElementType::F32, {1, 1, 2}),
                                  input("labels", ElementType::I64, {1})},
                      {});
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ((*data)->rows(), 2);
  EXPECT_EQ((*data)->batch(), 1);
  EXPECT_THAT(rowOf<float>(**data, 0, 1), ElementsAre(0.2f, 0.4f));
  EXPECT_THAT(rowOf<int64_t>(**data, 1, 1), ElementsAre(9));
  EXPECT_THAT((*data)->describe()[0], HasSubstr("1/255"));
}

TEST(Bind, FloatLabelsAreNotScaled) {
  auto data =
      BoundData::bind(dataSet({column<float>("x", {1, 1}, {4}),
                               column<uint8_t>("y", {1}, {1})}),
                      std::vector{input("x", ElementType::F32, {1, 1}),
                                  input("labels", ElementType::F32, {1, 1})},
                      {});
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_THAT(rowOf<float>(**data, 1, 0), ElementsAre(1.0f));
}

TEST(Bind, MovesChannelsAndNormalizesEach) {
  // One image of 1x2 pixels with 3 channels.
  std::vector<uint8_t> pixels = {0, 51, 102, 255, 204, 153};
  BindOptions options;
  options.normalization.mean = {0.1, 0.2, 0.3};
  options.normalization.std = {0.5, 0.25, 1};
  auto images = dataSet({column<uint8_t>("x", {1, 1, 2, 3}, pixels)});
  std::vector<ValueInfo> inputs = {input("x", ElementType::F32, {1, 3, 1, 2})};
  auto data = BoundData::bind(images, inputs, options);
  ASSERT_TRUE(data.ok()) << data.status().message();
  // (pixel / 255 - mean) / std, in f64 rounded once.
  EXPECT_THAT(
      rowOf<float>(**data, 0, 0),
      ElementsAre(float((0 / 255. - .1) / .5), float((255 / 255. - .1) / .5),
                  float((51 / 255. - .2) / .25), float((204 / 255. - .2) / .25),
                  float((102 / 255. - .3) / 1), float((153 / 255. - .3) / 1)));
  // The same in channels-first order and as doubles.
  options.normalization.scale = 2;
  auto doubles =
      dataSet({column<double>("x", {1, 3, 1, 2}, {1, 2, 3, 4, 5, 6})});
  auto converted = BoundData::bind(doubles, inputs, options);
  ASSERT_TRUE(converted.ok()) << converted.status().message();
  auto row = rowOf<float>(**converted, 0, 0);
  const double mean[] = {.1, .2, .3}, deviation[] = {.5, .25, 1};
  for (size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(row[i], ((i + 1) * 2 - mean[i / 2]) / deviation[i / 2], 1e-5);
}

TEST(Bind, ConvertsHalves) {
  // 1.0, -2.5, the smallest subnormal, infinity.
  NamedArray halves = column<uint16_t>("x", {4}, {0x3c00, 0xc100, 1, 0x7c00});
  halves.array.type.element = ElementType::F16;
  auto data = BoundData::bind(
      dataSet({halves}), std::vector{input("x", ElementType::F32, {1})}, {});
  ASSERT_TRUE(data.ok()) << data.status().message();
  std::vector<float> all;
  for (int64_t row = 0; row < 4; ++row)
    all.push_back(rowOf<float>(**data, 0, row)[0]);
  EXPECT_THAT(all, ElementsAre(1.0f, -2.5f, std::ldexp(1.0f, -24), INFINITY));
}

TEST(Bind, ChecksIntegersThatDoNotFit) {
  auto data = BoundData::bind(
      dataSet({column<int64_t>("x", {2}, {5, int64_t(1) << 40})}),
      std::vector{input("x", ElementType::I32, {1})}, {});
  ASSERT_TRUE(data.ok());
  EXPECT_THAT(rowOf<int32_t>(**data, 0, 0), ElementsAre(5));
  int32_t value;
  EXPECT_THAT(
      (*data)->copyRow(0, 1, reinterpret_cast<std::byte *>(&value)).message(),
      HasSubstr("column 'x', row 1: a value does not fit"));
}

TEST(Bind, ChecksNumbersThatFloatsDoNotHold) {
  // The largest float32 is (2 - 2^-23) * 2^127; what is nearer to it than to
  // 2^128 rounds to it.
  const double largest = 0x1.fffffep127;
  std::vector<double> values = {largest,  std::nextafter(largest, INFINITY),
                                -largest, INFINITY,
                                1e-300,   0x1p128,
                                -1e39};
  for (double scale : {1.0, 0.5}) {
    BindOptions options;
    options.normalization.scale = scale;
    std::vector<double> scaled = values;
    for (double &value : scaled)
      value /= scale;
    auto data = BoundData::bind(dataSet({column<double>("x", {7}, scaled)}),
                                std::vector{input("x", ElementType::F32, {1})},
                                options);
    ASSERT_TRUE(data.ok()) << data.status().message();
    const float want[] = {float(largest), float(largest), -float(largest),
                          INFINITY, 0};
    for (int64_t row = 0; row < 5; ++row)
      EXPECT_THAT(rowOf<float>(**data, 0, row), ElementsAre(want[row]));
    for (int64_t row : {5, 6}) {
      float value;
      EXPECT_THAT((*data)
                      ->copyRow(0, row, reinterpret_cast<std::byte *>(&value))
                      .message(),
                  HasSubstr("column 'x', row " + std::to_string(row) +
                            ": a value does not fit the f32 of input 'x'"));
    }
  }
}

TEST(Bind, FindsColumns) {
  auto x = column<float>("images", {1, 2}, {1, 2});
  auto y = column<int64_t>("y", {1}, {1});
  std::vector<ValueInfo> inputs = {input("x", ElementType::F32, {1, 2}),
                                   input("labels", ElementType::I64, {1})};
  // "y" is a name of labels, and then one column and one input are left.
  EXPECT_EQ(bindError({x, y}, inputs), "no error");
  auto other = column<float>("other", {1, 2}, {3, 4});
  EXPECT_THAT(bindError({x, other, y}, inputs),
              HasSubstr("input 'x' (f32[1x2]) has no data column; the data has "
                        "images f32[1x2], other f32[1x2], y i64[1]; use --map "
                        "x=COLUMN"));
  BindOptions options;
  options.columns["x"] = "other";
  auto bound = BoundData::bind(dataSet({x, other, y}), inputs, options);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_THAT(rowOf<float>(**bound, 0, 0), ElementsAre(3, 4));
  options.columns = {{"z", "other"}};
  EXPECT_THAT(bindError({x, y}, inputs, options), HasSubstr("no input 'z'"));
  options.columns = {{"x", "nowhere"}};
  EXPECT_THAT(bindError({x, y}, inputs, options),
              HasSubstr("no data column 'nowhere'"));
  auto named = column<float>("x", {1, 2}, {1, 2});
  EXPECT_THAT(bindError({named}, inputs),
              HasSubstr("input 'labels' (i64[1]) has no data column"));
}

TEST(Bind, NamesColumnExpectedAndGot) {
  std::vector<ValueInfo> inputs = {input("x", ElementType::F32, {4, 3, 8, 8})};
  EXPECT_THAT(bindError({column<float>("x", {1, 8, 8}, std::vector<float>(64))},
                        inputs),
              HasSubstr("data column 'x' for input 'x': expected rows of "
                        "f32[3x8x8], got f32[8x8]"));
  std::vector<ValueInfo> labels = {input("labels", ElementType::I64, {1})};
  EXPECT_THAT(bindError({column<float>("labels", {1}, {1})}, labels),
              HasSubstr("expected integers for i64, got f32"));
  EXPECT_THAT(bindError({column<float>("x", {}, {1})},
                        {input("x", ElementType::F32, {1})}),
              HasSubstr("scalar"));
  EXPECT_THAT(bindError({column<float>("x", {3}, {1, 2, 3}),
                         column<float>("z", {2}, {1, 2})},
                        {input("x", ElementType::F32, {1}),
                         input("z", ElementType::F32, {1})}),
              HasSubstr("'z' has 2 rows, column 'x' has 3"));
  BindOptions options;
  options.normalization.mean = {1, 2};
  EXPECT_THAT(bindError({column<float>("x", {1, 3}, {1, 2, 3})},
                        {input("x", ElementType::F32, {1, 3})}, options),
              HasSubstr("2 values of mean or std"));
}

TEST(Bind, ChecksClasses) {
  std::vector<ValueInfo> inputs = {input("labels", ElementType::I64, {1})};
  inputs[0].ranges = {{"a label", 0, 9, {-100}}};
  BindOptions options;
  EXPECT_EQ(
      bindError({column<uint8_t>("labels", {3}, {0, 9, 5})}, inputs, options),
      "no error");
  EXPECT_EQ(
      bindError({column<int32_t>("labels", {2}, {0, -100})}, inputs, options),
      "no error");
  EXPECT_THAT(
      bindError({column<uint8_t>("labels", {3}, {0, 10, 5})}, inputs, options),
      HasSubstr("'labels', row 1 for input 'labels': expected a label in [0, "
                "9] or -100, got 10"));
}

TEST(Bind, CutsTokensIntoWindows) {
  // 0 .. 9: the 10 has no follower, so there are two whole rows of 4.
  DataSet data =
      dataSet({column<uint8_t>("x", {11}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})});
  ASSERT_TRUE(data.cutWindows(4).ok());
  EXPECT_EQ(data.str(), "x u8[2x4], labels u8[2x4]");
  auto bound =
      BoundData::bind(data,
                      std::vector{input("x", ElementType::I64, {1, 4}),
                                  input("labels", ElementType::I64, {1, 4})},
                      {});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ((*bound)->rows(), 2);
  EXPECT_THAT(rowOf<int64_t>(**bound, 0, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(rowOf<int64_t>(**bound, 1, 0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(rowOf<int64_t>(**bound, 0, 1), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(rowOf<int64_t>(**bound, 1, 1), ElementsAre(5, 6, 7, 8));
}

TEST(Bind, WindowsReachTheLastToken) {
  DataSet data = dataSet({column<int16_t>("x", {5}, {5, 6, 7, 8, 9})});
  ASSERT_TRUE(data.cutWindows(2).ok());
  EXPECT_EQ(data.column("x")->type.shape, (Shape{2, 2}));
  EXPECT_THAT(values<int16_t>(*data.column("labels")), ElementsAre(6, 7, 8, 9));
}

TEST(Bind, RefusesWhatIsNoSequence) {
  auto error = [](const std::vector<NamedArray> &columns, int64_t n) {
    Status status = dataSet(columns).cutWindows(n);
    return status.ok() ? "no error" : status.message();
  };
  EXPECT_THAT(error({column<float>("x", {3}, {1, 2, 3})}, 2),
              HasSubstr("expected a sequence of whole numbers, got f32[3]"));
  EXPECT_THAT(error({column<uint8_t>("x", {1, 2}, {1, 2})}, 1),
              HasSubstr("got u8[1x2]"));
  EXPECT_THAT(error({column<uint8_t>("x", {3}, {1, 2, 3})}, 3),
              HasSubstr("more tokens than the window's 3, got 3"));
  EXPECT_THAT(error({column<uint8_t>("x", {3}, {1, 2, 3}),
                     column<uint8_t>("z", {3}, {1, 2, 3})},
                    2),
              HasSubstr("expected one data column"));
  EXPECT_THAT(error({column<uint8_t>("labels", {3}, {1, 2, 3})}, 2),
              HasSubstr("not as 'labels'"));
}

TEST(Bind, CallsOptionsWhatTheUserDoes) {
  std::vector columns = {column<float>("x", {3}, {1, 2, 3})};
  EXPECT_THAT(dataSet(columns).cutWindows(2, "r.yaml:3: window").message(),
              HasSubstr("r.yaml:3: window: data column 'x'"));
  BindOptions options;
  options.columns = {{"x", "z"}};
  options.columnsOption = "r.yaml:4: map";
  EXPECT_THAT(bindError(columns, {input("x", ElementType::F32, {1})}, options),
              HasSubstr("r.yaml:4: map: there is no data column 'z'"));
  options.columns = {{"z", "x"}};
  EXPECT_THAT(bindError(columns, {input("x", ElementType::F32, {1})}, options),
              HasSubstr("r.yaml:4: map: there is no input 'z'"));
}
