// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/LabelRange.h"

#include <algorithm>
#include <charconv>

namespace bessemer::runtime {
namespace {

const std::string *findSetting(const Program::Impl &impl,
                               std::string_view key) {
  auto found =
      std::find_if(impl.settings.begin(), impl.settings.end(),
                   [&](const Setting &setting) { return setting.key == key; });
  return found == impl.settings.end() ? nullptr : &found->value;
}

int64_t integerSetting(const Program::Impl &impl, std::string_view key,
                       int64_t otherwise) {
  const std::string *text = findSetting(impl, key);
  int64_t value = otherwise;
  if (text)
    std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

/// The size of the prediction's class axis; 0 when there is none.
int64_t countClasses(const Program::Impl &impl) {
  const std::string *loss = findSetting(impl, "loss");
  auto predict = std::find_if(
      impl.functions.begin(), impl.functions.end(),
      [](const FunctionInfo &function) { return function.name == "predict"; });
  if (!loss || (*loss != "cross_entropy" && *loss != "nll") ||
      predict == impl.functions.end() || predict->outputs.empty())
    return 0;
  const ValueInfo *logits = &predict->outputs.front();
  if (const std::string *name = findSetting(impl, "output_name"))
    for (const ValueInfo &output : predict->outputs)
      if (output.name == *name)
        logits = &output;
  const std::vector<int64_t> &shape = logits->type.shape;
  const int64_t rank = int64_t(shape.size());
  int64_t axis = integerSetting(impl, "class_axis", rank == 3 ? 2 : 1);
  if (axis < 0)
    axis += rank;
  return axis >= 0 && axis < rank ? shape[size_t(axis)] : 0;
}

} // namespace

void addLabelRange(Program::Impl &impl) {
  const int64_t classes = countClasses(impl);
  if (classes == 0)
    return;
  for (FunctionInfo &function : impl.functions)
    for (ValueInfo &input : function.inputs) {
      if (input.name != "labels" || (input.type.element != ElementType::I32 &&
                                     input.type.element != ElementType::I64))
        continue;
      ValueRange &range = input.ranges.emplace_back();
      range.meaning = "a label";
      range.most = classes - 1;
      range.exempt = {integerSetting(impl, "ignore_index", -100)};
    }
}

} // namespace bessemer::runtime
