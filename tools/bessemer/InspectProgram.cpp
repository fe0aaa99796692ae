// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "InspectProgram.h"

#include "bessemer/Format/bessemer_generated.h"

namespace bessemer::tool {
namespace {

using namespace runtime;

/// The loader has checked the table; absent vectors mean none.
template <typename T>
std::vector<const T *>
items(const flatbuffers::Vector<flatbuffers::Offset<T>> *vector) {
  std::vector<const T *> result;
  if (vector)
    result.assign(vector->begin(), vector->end());
  return result;
}

template <typename T>
std::vector<const T *> structs(const flatbuffers::Vector<const T *> *vector) {
  std::vector<const T *> result;
  if (vector)
    result.assign(vector->begin(), vector->end());
  return result;
}

std::string textOf(const flatbuffers::String *text) {
  return text ? text->str() : "";
}

Json valuesOf(const std::vector<ValueInfo> &values) {
  Json list = Json::array();
  for (const ValueInfo &value : values) {
    Json object = {{"name", value.name}, {"type", value.type.str()}};
    for (const ValueRange &range : value.ranges) {
      std::string elements;
      if (range.dim >= 0)
        elements = std::to_string(range.begin) + " to " +
                   std::to_string(range.end - 1) + " of dimension " +
                   std::to_string(range.dim) + ": ";
      object["ranges"].push_back(elements + range.str());
    }
    list.push_back(std::move(object));
  }
  return list;
}

Json arenaOf(const format::Arena &arena) {
  Json object = {{"kind", format::EnumNameArenaKind(arena.kind())},
                 {"bytes", arena.bytes()}};
  if (arena.kind() == format::ArenaKind::work)
    object["bound"] = arena.bound();
  if (arena.kind() == format::ArenaKind::input ||
      arena.kind() == format::ArenaKind::output)
    object["value"] = arena.value();
  return object;
}

std::string sliceOf(const format::Slice &slice,
                    const format::ExecProgram &exec) {
  const format::Arena *arena = exec.arenas()->Get(slice.arena());
  std::string name = format::EnumNameArenaKind(arena->kind());
  if (arena->kind() == format::ArenaKind::input ||
      arena->kind() == format::ArenaKind::output)
    name += std::to_string(arena->value());
  name += "+" + std::to_string(slice.offset());
  // One letter per enclosing loop: how far the slice moves in an iteration.
  if (slice.strides()) {
    char index = 'i';
    for (int64_t stride : *exec.strides()->Get(slice.strides() - 1)->bytes()) {
      if (stride)
        name += (stride < 0 ? "-" : "+") + std::to_string(std::abs(stride)) +
                "*" + index;
      ++index;
    }
  }
  return name + ":" + std::to_string(slice.bytes());
}

Json commandOf(const format::Command &command, const format::ExecProgram &exec,
               const format::Program &table) {
  Json object = {{"kind", format::EnumNameCommandBody(command.body_type())}};
  Json operands = Json::array();
  if (const format::Launch *launch = command.body_as_Launch()) {
    object["kernel"] = textOf(table.kernels()->Get(launch->kernel())->name());
    object["tiles"] = launch->tiles();
    for (const format::Operand *operand : structs(launch->operands()))
      operands.push_back(operand->kind() == format::OperandKind::slice
                             ? sliceOf(operand->slice(), exec)
                             : std::to_string(operand->immediate()));
  } else if (const format::Library *library = command.body_as_Library()) {
    object["library"] = textOf(library->library());
    object["operation"] =
        format::EnumNameLibraryDescriptor(library->descriptor_type());
    if (const format::Convolution *convolution =
            library->descriptor_as_Convolution())
      object["operation"] =
          std::string("convolution ") +
          format::EnumNameConvolutionKind(convolution->kind());
    for (const format::Slice *slice : structs(library->operands()))
      operands.push_back(sliceOf(*slice, exec));
  } else if (const format::Copy *copy = command.body_as_Copy()) {
    operands = {sliceOf(*copy->from(), exec), sliceOf(*copy->to(), exec)};
  } else if (const format::Fill *fill = command.body_as_Fill()) {
    operands = {sliceOf(*fill->to(), exec)};
  } else if (const format::Repeat *repeat = command.body_as_Repeat()) {
    object["count"] = repeat->count();
    object["commands"] = Json::array();
    for (const format::Command *inner : items(repeat->commands()))
      object["commands"].push_back(commandOf(*inner, exec, table));
    if (command.label())
      object["label"] = textOf(command.label());
    return object;
  }
  object["operands"] = std::move(operands);
  if (command.label())
    object["label"] = textOf(command.label());
  return object;
}

Json programsOf(const format::Program &table) {
  Json list = Json::array();
  for (const format::ExecProgram *exec : items(table.programs())) {
    Json object = {{"function", textOf(exec->function())},
                   {"target", textOf(exec->target())}};
    uint64_t packed = 0, bound = 0;
    object["arenas"] = Json::array();
    for (const format::Arena *arena : items(exec->arenas())) {
      object["arenas"].push_back(arenaOf(*arena));
      if (arena->kind() == format::ArenaKind::work) {
        packed += arena->bytes();
        bound += arena->bound();
      }
    }
    object["packed_peak"] = packed;
    object["liveness_bound"] = bound;
    object["gap"] =
        bound ? static_cast<double>(packed) / static_cast<double>(bound) - 1
              : 0.0;
    object["commands"] = Json::array();
    for (const format::Command *command : items(exec->commands()))
      object["commands"].push_back(commandOf(*command, *exec, table));
    list.push_back(std::move(object));
  }
  return list;
}

Json kernelsOf(const format::Program &table) {
  Json list = Json::array();
  for (const format::Kernel *kernel : items(table.kernels())) {
    Json scratch = Json::object();
    for (size_t i = 0; kernel->scratch() && i < kernel->scratch()->size(); ++i)
      scratch[textOf(table.code()->Get(i)->target())] =
          kernel->scratch()->Get(i);
    list.push_back({{"name", textOf(kernel->name())}, {"scratch", scratch}});
  }
  return list;
}

} // namespace

Json describeProgram(const Program &program) {
  const format::Program &table = program.table();
  Json object = {{"program", program.name()},
                 {"producer", program.producer()},
                 {"format", std::to_string(table.major()) + "." +
                                std::to_string(table.minor())},
                 {"bytes", program.bytes().size()}};
  object["settings"] = Json::object();
  for (const Setting &setting : program.settings())
    object["settings"][setting.key] = setting.value;
  object["functions"] = Json::array();
  for (const FunctionInfo &function : program.functions())
    object["functions"].push_back({{"name", function.name},
                                   {"inputs", valuesOf(function.inputs)},
                                   {"outputs", valuesOf(function.outputs)}});
  object["states"] = Json::array();
  for (const StateInfo &state : program.states())
    object["states"].push_back({{"name", state.name},
                                {"role", roleName(state.role)},
                                {"type", state.type.str()},
                                {"bytes", state.type.byteSize()},
                                {"trainable", state.trainable},
                                {"why", state.why}});
  object["constants"] = Json::array();
  for (const format::Constant *constant : items(table.constants()))
    object["constants"].push_back({{"name", textOf(constant->name())},
                                   {"type", textOf(constant->type())},
                                   {"why", textOf(constant->why())}});
  object["programs"] = programsOf(table);
  object["kernels"] = kernelsOf(table);
  object["code"] = Json::object();
  for (const format::CodeObject *code : items(table.code()))
    object["code"][textOf(code->target())] =
        table.blobs()->Get(code->blob())->bytes();
  return object;
}

} // namespace bessemer::tool
