// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bindings: thin, one function per call of the runtime. The package's
// Python files make them pleasant.

#include "compiler.h"
#include "recipe.h"

#include "bessemer/runtime/Checkpoint.h"
#include "bessemer/runtime/Files.h"
#include "bessemer/runtime/Program.h"
#include "bessemer/runtime/Session.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;
using namespace bessemer::runtime;

namespace {

using InputArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using ViewArray = nb::ndarray<nb::numpy, nb::ro>;

/// bessemer.Error, set by the package; never released, as the interpreter ends
/// before this library does.
PyObject *errorClass = nullptr;

void check(const Status &status) {
  if (status.ok())
    return;
  PyErr_SetString(errorClass ? errorClass : PyExc_RuntimeError,
                  status.message().c_str());
  throw nb::python_error();
}

template <typename T> T take(Expected<T> value) {
  check(value.status());
  return std::move(*value);
}

nb::dlpack::dtype dlpackType(ElementType type) {
  auto make = [&](nb::dlpack::dtype_code code) {
    nb::dlpack::dtype dtype;
    dtype.code = static_cast<uint8_t>(code);
    dtype.bits = static_cast<uint8_t>(elementSize(type) * 8);
    dtype.lanes = 1;
    return dtype;
  };
  switch (type) {
  case ElementType::F32:
  case ElementType::F64:
  case ElementType::F16:
    return make(nb::dlpack::dtype_code::Float);
  case ElementType::BF16:
    return make(nb::dlpack::dtype_code::Bfloat);
  case ElementType::I8:
  case ElementType::I16:
  case ElementType::I32:
  case ElementType::I64:
    return make(nb::dlpack::dtype_code::Int);
  case ElementType::Bool:
    return make(nb::dlpack::dtype_code::Bool);
  default:
    return make(nb::dlpack::dtype_code::UInt);
  }
}

ElementType elementType(nb::dlpack::dtype dtype) {
  for (unsigned i = 0; i < numElementTypes; ++i)
    if (dlpackType(static_cast<ElementType>(i)) == dtype)
      return static_cast<ElementType>(i);
  throw nb::type_error("the array's element type is not supported");
}

TensorView viewOf(const InputArray &array, std::vector<int64_t> &shape) {
  shape.assign(array.shape_ptr(), array.shape_ptr() + array.ndim());
  return TensorView(elementType(array.dtype()), shape, array.data());
}

/// A NumPy view of runtime memory that keeps `owner` alive.
ViewArray arrayOf(const TensorView &view, nb::handle owner) {
  std::vector<size_t> shape(view.shape.begin(), view.shape.end());
  return ViewArray(const_cast<void *>(view.data), shape.size(), shape.data(),
                   owner, nullptr, dlpackType(view.type));
}

nb::list valuesOf(const std::vector<ValueInfo> &values) {
  nb::list list;
  for (const ValueInfo &value : values)
    list.append(nb::make_tuple(value.name,
                               std::string(elementName(value.type.element)),
                               nb::tuple(nb::cast(value.type.shape))));
  return list;
}

void run(Session &session, const std::string &function, nb::dict feeds,
         uint64_t step, uint64_t batch, uint64_t seed, float learningRate,
         int64_t validRows) {
  std::vector<std::string> names;
  std::vector<InputArray> arrays;
  std::vector<std::vector<int64_t>> shapes(feeds.size());
  names.reserve(feeds.size());
  for (auto [name, array] : feeds) {
    names.push_back(nb::cast<std::string>(name));
    arrays.push_back(nb::cast<InputArray>(array));
  }
  std::vector<NamedTensor> inputs;
  for (size_t i = 0; i < names.size(); ++i)
    inputs.push_back({names[i], viewOf(arrays[i], shapes[i])});
  StepBlock block;
  block.step = stepOfBatch(step, batch);
  block.seed = seed;
  block.learningRate = learningRate;
  block.validRows = validRows;
  Status status;
  {
    nb::gil_scoped_release release;
    status = session.run(function, inputs, block);
  }
  check(status);
}

} // namespace

NB_MODULE(_core, m) {
  m.def("set_error_class",
        [](nb::object cls) { errorClass = cls.release().ptr(); });

  nb::class_<CompilerAnswer>(m, "CompilerAnswer")
      .def_ro("status", &CompilerAnswer::status)
      .def_prop_ro("artifact",
                   [](const CompilerAnswer &answer) {
                     return nb::bytes(answer.artifact.data(),
                                      answer.artifact.size());
                   })
      .def_ro("text", &CompilerAnswer::text)
      .def_ro("warnings", &CompilerAnswer::warnings)
      .def_ro("error", &CompilerAnswer::error);
  m.def(
      "compile",
      [](const std::string &library, const std::string &options,
         std::optional<nb::bytes> model) {
        std::optional<std::string> bytes;
        if (model)
          bytes.emplace(model->c_str(), model->size());
        nb::gil_scoped_release release;
        return compileModel(library, options, bytes);
      },
      "library"_a, "options"_a, "model"_a.none());
  m.def("export_model", [](const std::string &library,
                           const std::string &options, nb::bytes artifact) {
    std::string bytes(artifact.c_str(), artifact.size());
    nb::gil_scoped_release release;
    return exportModel(library, options, bytes);
  });

  m.attr("most_threads") = mostThreads;
  m.def("read_recipe",
        [](const std::string &path) { return take(readRecipe(path)); });

  nb::class_<Program>(m, "Program")
      .def_static("load",
                  [](const std::string &path) {
                    return std::const_pointer_cast<Program>(
                        take(Program::load(path)));
                  })
      .def_static("from_bytes",
                  [](nb::bytes bytes, const std::string &name) {
                    return std::const_pointer_cast<Program>(
                        take(Program::fromBytes(
                            {reinterpret_cast<const std::byte *>(bytes.c_str()),
                             bytes.size()},
                            name)));
                  })
      .def("save",
           [](const Program &program, const std::string &path) {
             check(writeArtifact(path, program.bytes()));
           })
      .def("bytes",
           [](const Program &program) {
             auto bytes = program.bytes();
             return nb::bytes(reinterpret_cast<const char *>(bytes.data()),
                              bytes.size());
           })
      .def_prop_ro("name", &Program::name)
      .def_prop_ro("targets",
                   [](const Program &program) {
                     auto targets = program.targets();
                     return std::vector<std::string>(targets.begin(),
                                                     targets.end());
                   })
      .def("functions",
           [](const Program &program) {
             nb::dict functions;
             for (const FunctionInfo &function : program.functions())
               functions[function.name.c_str()] = nb::make_tuple(
                   valuesOf(function.inputs), valuesOf(function.outputs));
             return functions;
           })
      .def("settings",
           [](const Program &program) {
             nb::dict settings;
             for (const Setting &setting : program.settings())
               settings[setting.key.c_str()] = setting.value;
             return settings;
           })
      .def("states", [](const Program &program) {
        nb::list states;
        for (const StateInfo &state : program.states())
          states.append(nb::make_tuple(
              state.name, std::string(roleName(state.role)),
              std::string(elementName(state.type.element)),
              nb::tuple(nb::cast(state.type.shape)), state.trainable,
              state.why));
        return states;
      });

  nb::class_<Session>(m, "Session")
      .def_static("create",
                  [](std::shared_ptr<Program> program,
                     const std::string &device, int threads) {
                    return take(Session::create(program, {device, threads}))
                        .release();
                  },
                  nb::rv_policy::take_ownership)
      .def("run", &run, "function"_a, "feeds"_a, "step"_a, "batch"_a,
           "seed"_a, "learning_rate"_a, "valid_rows"_a)
      .def("check_ranges",
           [](const Session &session, const std::string &function,
              const std::string &name, InputArray array) {
             std::vector<int64_t> shape;
             check(session.checkRanges(function, {name, viewOf(array, shape)}));
           })
      .def("output",
           [](nb::handle self, const std::string &function,
              const std::string &name) {
             return arrayOf(
                 take(nb::cast<Session &>(self).output(function, name)), self);
           })
      .def("read_state",
           [](nb::handle self, const std::string &name) {
             return arrayOf(take(nb::cast<Session &>(self).readState(name)),
                            self);
           })
      .def("write_state",
           [](Session &session, const std::string &name, InputArray array) {
             std::vector<int64_t> shape;
             check(session.writeState(name, viewOf(array, shape)));
           })
      .def("reset_state", [](Session &session) { check(session.resetState()); })
      .def("save",
           [](const Session &session, const std::string &directory,
              uint64_t step, uint64_t seed) {
             TrainerState state;
             state.step = step;
             state.seed = seed;
             state.target = std::string(session.target());
             state.library = std::string(session.library());
             state.threads = session.threads();
             check(saveCheckpoint(directory, session, &state));
           })
      .def("load",
           [](Session &session, const std::string &directory, bool weightsOnly)
               -> std::optional<std::tuple<uint64_t, uint64_t>> {
             auto state = take(loadCheckpoint(
                 directory, session,
                 weightsOnly ? Restore::Weights : Restore::All));
             if (!state || weightsOnly)
               return std::nullopt;
             return std::make_tuple(state->step, state->seed);
           })
      .def_prop_ro("target",
                   [](const Session &session) {
                     return std::string(session.target());
                   })
      .def_prop_ro("threads", &Session::threads)
      .def("memory", [](const Session &session) {
        const MemoryReport &memory = session.memory();
        nb::dict report;
        report["state"] = memory.state;
        report["work"] = memory.work;
        report["work_bound"] = memory.workBound;
        report["values"] = memory.values;
        report["library_scratch"] = memory.libraryScratch;
        report["kernel_scratch"] = memory.kernelScratch;
        report["total"] = memory.total();
        return report;
      });

  m.def("check_model_path",
        [](const std::string &path) { check(checkModelPath(path)); });
  m.def("state_file", [](const std::string &directory) {
    std::optional<std::string> found = take(findCheckpoint(directory));
    return checkpointStateFile(found ? *found : directory);
  });
}
