// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks that the shapes of a convolution fit each other.
#include "core/VerifyArtifact.h"
#include "core/WeightLayout.h"

#include <array>

namespace bessemer::runtime {

namespace {
using Numbers = flatbuffers::Vector<int64_t>;

std::string list(const Numbers *values) {
  std::string text = "[";
  for (size_t i = 0; i < sizeOf(values); ++i)
    text += (i ? ", " : "") + std::to_string(values->Get(i));
  return text + "]";
}

/// Bytes of a tensor of f32; more than mostBytes when it is too large.
uint64_t bytesOf(const Numbers &shape) {
  uint64_t bytes = sizeof(float);
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, uint64_t(extent), &bytes) ||
        bytes > mostBytes)
      return mostBytes + 1;
  return bytes;
}

/// Each vector has its length, each number its range.
std::optional<Mismatch> checkNumbers(const format::Convolution &conv) {
  struct Field {
    const char *name;
    const Numbers *values;
    size_t count;
    int64_t least;
  };
  const std::array<Field, 6> fields = {{{"x", conv.x(), 4, 1},
                                        {"w", conv.w(), 4, 1},
                                        {"y", conv.y(), 4, 1},
                                        {"strides", conv.strides(), 2, 1},
                                        {"dilations", conv.dilations(), 2, 1},
                                        {"pads", conv.pads(), 4, 0}}};
  for (const Field &field : fields) {
    bool good = sizeOf(field.values) == field.count;
    for (size_t i = 0; good && i < field.count; ++i)
      good = field.values->Get(i) >= field.least &&
             field.values->Get(i) <= INT32_MAX;
    if (!good)
      return Mismatch{std::string("convolution ") + field.name,
                      std::to_string(field.count) + " numbers of at least " +
                          std::to_string(field.least),
                      list(field.values)};
  }
  return std::nullopt;
}

bool shapesFit(const format::Convolution &conv) {
  auto x = [&](int i) { return conv.x()->Get(i); };
  auto w = [&](int i) { return conv.w()->Get(i); };
  auto y = [&](int i) { return conv.y()->Get(i); };
  int64_t groups = conv.groups();
  if (groups < 1 || groups > INT32_MAX || w(1) * groups != x(1) ||
      w(0) % groups || y(1) != w(0) || y(0) != x(0))
    return false;
  for (int d = 0; d < 2; ++d) {
    int64_t reach = (w(2 + d) - 1) * conv.dilations()->Get(d) + 1;
    int64_t room =
        x(2 + d) + conv.pads()->Get(d) + conv.pads()->Get(2 + d) - reach;
    if (room < 0 || y(2 + d) != room / conv.strides()->Get(d) + 1)
      return false;
  }
  return true;
}
} // namespace

std::optional<Mismatch> checkConvolution(const format::Convolution &conv) {
  if (auto mismatch = checkNumbers(conv))
    return mismatch;
  if (isNamedLayout(conv.w_layout()) &&
      !(isBlockedWeights(conv.w_layout()) && haveWholeBlocks(conv.w()) &&
        conv.groups() > 0 && conv.w()->Get(0) / conv.groups() % 16 == 0))
    return Mismatch{"convolution layout",
                    "row, or OIhw16i16o for multiples of 16 channels in each "
                    "group",
                    conv.w_layout()->str() + " for w " + list(conv.w()) +
                        " and groups " + std::to_string(conv.groups())};
  auto fits = [&](const flatbuffers::String *layout, const Numbers &shape) {
    return !isNamedLayout(layout) ||
           (layout->string_view() == "nChw16c" && shape.Get(1) % 16 == 0);
  };
  if (!fits(conv.x_layout(), *conv.x()))
    return Mismatch{"convolution layout",
                    "row, or nChw16c for a multiple of 16 channels",
                    conv.x_layout()->str() + " for x " + list(conv.x())};
  if (!fits(conv.y_layout(), *conv.y()))
    return Mismatch{"convolution layout",
                    "row, or nChw16c for a multiple of 16 channels",
                    conv.y_layout()->str() + " for y " + list(conv.y())};
  if (conv.kind() > format::ConvolutionKind::MAX)
    return Mismatch{"convolution", "a kind of convolution",
                    std::to_string(int(conv.kind()))};
  if (!shapesFit(conv))
    return Mismatch{"convolution", "shapes that fit each other",
                    "x " + list(conv.x()) + ", w " + list(conv.w()) + ", y " +
                        list(conv.y()) + ", groups " +
                        std::to_string(conv.groups()) + ", strides " +
                        list(conv.strides()) + ", dilations " +
                        list(conv.dilations()) + ", pads " + list(conv.pads())};
  return std::nullopt;
}

std::vector<uint64_t> convolutionOperandBytes(const format::Convolution &conv) {
  uint64_t x = bytesOf(*conv.x()), w = bytesOf(*conv.w()),
           y = bytesOf(*conv.y());
  switch (conv.kind()) {
  case format::ConvolutionKind::forward:
    if (conv.has_bias())
      return {x, w, uint64_t(conv.w()->Get(0)) * sizeof(float), y};
    return {x, w, y};
  case format::ConvolutionKind::input_gradient:
    return {y, w, x};
  case format::ConvolutionKind::weight_gradient:
    return {x, y, w};
  }
  return {};
}

} // namespace bessemer::runtime
