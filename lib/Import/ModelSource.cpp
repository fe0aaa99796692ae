// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading .onnx files: parsing, external data, and what can be wrong with them.

#include "ModelSource.h"
#include "Sizes.h"
#include "onnx/defs/parser.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace bessemer;
using namespace bessemer::ingest;
using llvm::StringRef;
using onnx::TensorProto;

int64_t Initializer::elementCount() const { return product(shape); }

int64_t ingest::elementBytes(int32_t elementType) {
  switch (elementType) {
  case TensorProto::FLOAT:
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return 4;
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
  case TensorProto::UINT64:
  case TensorProto::COMPLEX64:
    return 8;
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return 2;
  case TensorProto::INT8:
  case TensorProto::UINT8:
  case TensorProto::BOOL:
    return 1;
  default:
    return 0;
  }
}

std::string ingest::elementTypeName(int32_t elementType) {
  if (!TensorProto::DataType_IsValid(elementType))
    return "type " + std::to_string(elementType);
  return StringRef(TensorProto::DataType_Name(
                       static_cast<TensorProto::DataType>(elementType)))
      .lower();
}

static int64_t elementCount(const TensorProto &tensor) {
  return product(llvm::ArrayRef(tensor.dims().data(), tensor.dims_size()));
}

/// A view of a repeated field whose elements have the tensor's own size.
template <typename Field>
static std::optional<StringRef> viewOf(const Field &field, int64_t count) {
  if (field.size() != count)
    return std::nullopt;
  return StringRef(reinterpret_cast<const char *>(field.data()),
                   count * sizeof(*field.data()));
}

/// The small types are stored one per int32: narrow them into memory of ours.
template <typename Element>
static std::optional<StringRef> narrowed(const TensorProto &tensor,
                                         int64_t count,
                                         std::shared_ptr<const void> &owner) {
  if (tensor.int32_data_size() != count)
    return std::nullopt;
  auto elements = std::make_shared<std::vector<Element>>(
      tensor.int32_data().begin(), tensor.int32_data().end());
  owner = elements;
  return StringRef(reinterpret_cast<const char *>(elements->data()),
                   count * sizeof(Element));
}

std::optional<StringRef>
ingest::tensorData(const TensorProto &tensor,
                   std::shared_ptr<const void> &owner) {
  int64_t count = elementCount(tensor);
  int64_t bytes = elementBytes(tensor.data_type());
  if (tensor.has_raw_data()) {
    StringRef raw = tensor.raw_data();
    if (bytes == 0 || static_cast<int64_t>(raw.size()) != count * bytes)
      return std::nullopt;
    return raw;
  }
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return viewOf(tensor.float_data(), count);
  case TensorProto::DOUBLE:
    return viewOf(tensor.double_data(), count);
  case TensorProto::INT64:
    return viewOf(tensor.int64_data(), count);
  case TensorProto::INT32:
    return viewOf(tensor.int32_data(), count);
  case TensorProto::UINT64:
    return viewOf(tensor.uint64_data(), count);
  case TensorProto::INT8:
  case TensorProto::UINT8:
  case TensorProto::BOOL:
    return narrowed<uint8_t>(tensor, count, owner);
  case TensorProto::INT16:
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return narrowed<uint16_t>(tensor, count, owner);
  default:
    return std::nullopt;
  }
}

namespace {

/// Maps each file of external data once.
class ExternalFiles {
public:
  ExternalFiles(StringRef baseDir, StringRef label,
                ImportDiagnostics &diagnostics)
      : baseDir(baseDir), label(label), diagnostics(diagnostics) {}

  /// The bytes that `tensor` names; reports and returns nullopt when they are
  /// not there.
  std::optional<StringRef> find(const TensorProto &tensor, StringRef name,
                                std::shared_ptr<const void> &owner) {
    auto fail = [&](const llvm::Twine &what) {
      diagnostics.errors.push_back(
          (label + ": initializer '" + name + "': " + what).str());
      return std::nullopt;
    };
    std::string location;
    uint64_t offset = 0, length = 0;
    bool hasLength = false;
    for (const auto &entry : tensor.external_data()) {
      StringRef value = entry.value();
      if (entry.key() == "location") {
        location = entry.value();
      } else if (entry.key() == "offset") {
        if (value.getAsInteger(10, offset))
          return fail("external data has the offset '" + value + "'");
      } else if (entry.key() == "length") {
        if (value.getAsInteger(10, length))
          return fail("external data has the length '" + value + "'");
        hasLength = true;
      }
    }
    if (location.empty())
      return fail("external data names no file");
    // A model must not reach files outside its own folder.
    if (llvm::sys::path::is_absolute(location) || escapes(location))
      return fail("external data file '" + location +
                  "' lies outside the model's folder");
    auto [entry, fresh] = files.try_emplace(location);
    if (fresh)
      if (std::error_code error = read(location, entry->second))
        return fail("external data file '" + location + "' cannot be read: " +
                    error.message() + "; it belongs beside the .onnx");
    if (!entry->second)
      return std::nullopt; // reported with the first initializer in it
    StringRef content = entry->second->getBuffer();
    uint64_t needed = elementCount(tensor) * elementBytes(tensor.data_type());
    if (hasLength && length != needed)
      return fail("external data has " + llvm::Twine(length) +
                  " bytes, its shape needs " + llvm::Twine(needed));
    if (offset > content.size() || needed > content.size() - offset)
      return fail("external data needs bytes " + llvm::Twine(offset) + " to " +
                  llvm::Twine(offset + needed) + " of '" + location +
                  "', which has " + llvm::Twine(content.size()));
    owner = entry->second;
    return content.substr(offset, needed);
  }

private:
  std::error_code read(StringRef location,
                       std::shared_ptr<llvm::MemoryBuffer> &file) const {
    llvm::SmallString<256> path(baseDir);
    llvm::sys::path::append(path, location);
    llvm::sys::fs::file_status status;
    if (std::error_code error = llvm::sys::fs::status(path, status))
      return error;
    // A pipe would be waited for.
    if (!llvm::sys::fs::is_regular_file(status))
      return std::make_error_code(std::errc::invalid_argument);
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return buffer.getError();
    file = std::move(*buffer);
    return {};
  }

  static bool escapes(StringRef location) {
    for (auto part = llvm::sys::path::begin(location),
              end = llvm::sys::path::end(location);
         part != end; ++part)
      if (*part == "..")
        return true;
    return false;
  }

  StringRef baseDir, label;
  ImportDiagnostics &diagnostics;
  std::map<std::string, std::shared_ptr<llvm::MemoryBuffer>> files;
};

/// Copies external data of tensors in attributes and subgraphs into the model:
/// they are constants, and the ONNX library wants to see those.
void inlineExternal(onnx::GraphProto &graph, ExternalFiles &files, bool top) {
  auto load = [&](TensorProto &tensor, const std::string &name) {
    if (tensor.data_location() != TensorProto::EXTERNAL)
      return;
    std::shared_ptr<const void> owner;
    if (auto bytes = files.find(tensor, name, owner))
      tensor.set_raw_data(bytes->str());
    tensor.clear_external_data();
    tensor.clear_data_location();
  };
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t())
        load(*attribute.mutable_t(), node.name());
      if (attribute.has_g())
        inlineExternal(*attribute.mutable_g(), files, false);
    }
  if (!top)
    for (TensorProto &tensor : *graph.mutable_initializer())
      load(tensor, tensor.name());
}

} // namespace

/// Parses protobuf or text into `model`; returns what is wrong with it.
static std::optional<std::string> parse(StringRef bytes, bool isText,
                                        onnx::ModelProto &model) {
  if (bytes.empty())
    return "is empty";
  if (isText) {
    std::string text = bytes.str();
    auto status = onnx::OnnxParser::Parse(model, text.c_str());
    if (!status.IsOK()) {
      std::string message = status.ErrorMessage();
      std::replace(message.begin(), message.end(), '\n', ' ');
      return "is not ONNX text: " + message;
    }
    return std::nullopt;
  }
  // protobuf's limit; the weights of such a model belong into external data.
  if (bytes.size() > INT32_MAX)
    return "is larger than 2 GB: save it with external data";
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return "is not an ONNX model, or is truncated";
  if (!model.has_ir_version() || !model.has_graph())
    return "is not an ONNX model";
  return std::nullopt;
}

llvm::FailureOr<ModelSource> ingest::loadModel(const ImportOptions &options,
                                               ImportDiagnostics &diagnostics) {
  ModelSource source;
  source.label = options.path.empty() ? "model" : options.path;
  auto fail = [&](const llvm::Twine &what) {
    diagnostics.errors.push_back((source.label + ": " + what).str());
    return llvm::failure();
  };

  std::unique_ptr<llvm::MemoryBuffer> file;
  StringRef bytes;
  if (options.bytes) {
    bytes = *options.bytes;
  } else {
    if (llvm::sys::fs::is_directory(options.path))
      return fail("is a folder, not a model");
    // Reading a pipe or a device may never end.
    if (llvm::sys::fs::exists(options.path) &&
        !llvm::sys::fs::is_regular_file(options.path))
      return fail("is no regular file, expected a model");
    auto buffer = llvm::MemoryBuffer::getFile(options.path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return fail("cannot be read: " + buffer.getError().message());
    file = std::move(*buffer);
    bytes = file->getBuffer();
  }
  bool isText = StringRef(options.path).ends_with(".onnxtxt");
  if (auto problem = parse(bytes, isText, source.model))
    return fail(*problem);
  onnx::GraphProto &graph = *source.model.mutable_graph();
  if (graph.sparse_initializer_size() > 0)
    return fail("initializer '" + graph.sparse_initializer(0).values().name() +
                "' is sparse; expected dense initializers");

  std::string baseDir = options.baseDir;
  if (baseDir.empty())
    baseDir = llvm::sys::path::parent_path(options.path).str();
  ExternalFiles files(baseDir, source.label, diagnostics);
  size_t errors = diagnostics.errors.size();
  inlineExternal(graph, files, /*top=*/true);

  // The parsed tensors live as long as someone looks at their data.
  auto tensors =
      std::make_shared<google::protobuf::RepeatedPtrField<TensorProto>>();
  tensors->Swap(graph.mutable_initializer());
  std::set<StringRef> names;
  for (const TensorProto &tensor : *tensors) {
    Initializer initializer;
    initializer.name = tensor.name();
    initializer.elementType = tensor.data_type();
    initializer.shape.assign(tensor.dims().begin(), tensor.dims().end());
    initializer.owner = tensors;
    auto report = [&](const llvm::Twine &what) {
      diagnostics.errors.push_back(
          (source.label + ": initializer '" + tensor.name() + "' " + what)
              .str());
    };
    if (!names.insert(tensor.name()).second) {
      report("is defined twice");
      continue;
    }
    if (llvm::any_of(initializer.shape,
                     [](int64_t size) { return size < 0; })) {
      report("has a negative size");
      continue;
    }
    if (elementBytes(tensor.data_type()) == 0) {
      report("has the unsupported element type " +
             elementTypeName(tensor.data_type()));
      continue;
    }
    if (tensor.data_location() == TensorProto::EXTERNAL) {
      auto data = files.find(tensor, tensor.name(), initializer.owner);
      if (!data)
        continue;
      initializer.data = *data;
    } else if (auto data = tensorData(tensor, initializer.owner)) {
      initializer.data = *data;
    } else {
      report("has data for another number of elements than its shape says");
      continue;
    }
    source.initializers.push_back(std::move(initializer));
  }
  // What an initializer's protobuf says beside its data stays with the model.
  for (TensorProto &tensor : *tensors) {
    TensorProto &shell = *graph.add_initializer();
    shell.set_name(tensor.name());
    shell.set_data_type(tensor.data_type());
    *shell.mutable_dims() = tensor.dims();
    *shell.mutable_metadata_props() = tensor.metadata_props();
    shell.set_doc_string(tensor.doc_string());
  }
  if (diagnostics.errors.size() != errors)
    return llvm::failure();
  return source;
}
