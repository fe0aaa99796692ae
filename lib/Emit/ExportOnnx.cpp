// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts trained weights into the source model and writes it.

#include "bessemer/Emit/ExportOnnx.h"
#include "bessemer/Format/Hash.h"
#include "bessemer/runtime/Files.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace bessemer;
using llvm::StringRef;
using onnx::TensorProto;

/// Alignment of tensors in external data: whole pages, so that readers may map
/// them.
static constexpr uint64_t externalAlignment = 4096;

static bool isOp(const onnx::NodeProto &node, StringRef op) {
  return node.op_type() == op &&
         (node.domain().empty() || node.domain() == "ai.onnx");
}

static void eraseAttribute(onnx::NodeProto &node, StringRef name) {
  for (int i = node.attribute_size(); i-- > 0;)
    if (node.attribute(i).name() == name)
      node.mutable_attribute()->DeleteSubrange(i, 1);
}

/// Inference mode is the default of every opset: take away what asks for
/// training mode.
template <typename Nodes> static void setInferenceMode(Nodes &nodes) {
  for (onnx::NodeProto &node : nodes) {
    if (isOp(node, "BatchNormalization")) {
      eraseAttribute(node, "training_mode");
      // The further outputs exist in training mode only.
      while (node.output_size() > 1)
        node.mutable_output()->RemoveLast();
    } else if (isOp(node, "Dropout")) {
      while (node.input_size() > 2)
        node.mutable_input()->RemoveLast();
    }
    for (auto &attribute : *node.mutable_attribute()) {
      if (attribute.name() == "is_test" && attribute.i() == 0)
        attribute.set_i(1); // opset 6 and older
      if (attribute.has_g())
        setInferenceMode(*attribute.mutable_g()->mutable_node());
    }
  }
}

static int64_t elementCount(const TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.dims())
    count *= size;
  return count;
}

static bool hasData(const TensorProto &tensor) {
  return tensor.has_raw_data() || tensor.float_data_size() ||
         tensor.double_data_size() || tensor.int32_data_size() ||
         tensor.int64_data_size() || tensor.uint64_data_size() ||
         tensor.string_data_size() || elementCount(tensor) == 0;
}

/// The name of an ONNX element type in safetensors; states have no others.
static StringRef safetensorsName(int32_t elementType) {
  switch (elementType) {
  case TensorProto::FLOAT:
    return "F32";
  case TensorProto::DOUBLE:
    return "F64";
  case TensorProto::FLOAT16:
    return "F16";
  case TensorProto::BFLOAT16:
    return "BF16";
  default:
    return "";
  }
}

/// The importer splits running statistics that the exporter had merged, named
/// after the Identity that spread them: give each its own initializer again.
static void splitIdentities(onnx::GraphProto &graph,
                            const std::map<std::string, WeightView> &weights) {
  for (int i = graph.node_size(); i-- > 0;) {
    const onnx::NodeProto &node = graph.node(i);
    if (!isOp(node, "Identity") || node.output_size() != 1 ||
        !weights.count(node.output(0)))
      continue;
    auto source = llvm::find_if(graph.initializer(), [&](const auto &tensor) {
      return tensor.name() == node.input(0);
    });
    if (source == graph.initializer().end())
      continue;
    TensorProto copy = *source;
    copy.set_name(node.output(0));
    *graph.add_initializer() = std::move(copy);
    graph.mutable_node()->DeleteSubrange(i, 1);
  }
}

namespace {
/// The file beside a model that holds its weights.
class ExternalData {
public:
  void add(TensorProto &tensor, StringRef data) {
    uint64_t start = llvm::alignTo(position, externalAlignment);
    pieces.push_back(std::as_bytes(std::span(zeros)).first(start - position));
    pieces.push_back(std::as_bytes(std::span(data.data(), data.size())));
    position = start + data.size();
    hash = format::hash64(data.data(), data.size(), hash);
    setEntry(tensor, "offset", std::to_string(start));
    setEntry(tensor, "length", std::to_string(data.size()));
    tensor.set_data_location(TensorProto::EXTERNAL);
    tensors.push_back(&tensor);
  }

  /// To call when all tensors are added.
  void name(StringRef modelPath) {
    path = (modelPath + "." +
            llvm::utohexstr(hash, /*LowerCase=*/true, /*Width=*/16) + suffix)
               .str();
    for (TensorProto *tensor : tensors)
      setEntry(*tensor, "location", llvm::sys::path::filename(path).str());
  }

  runtime::Status write() const {
    return path.empty() ? runtime::Status()
                        : runtime::writeFileAtomically(path, pieces);
  }

  /// Removes what earlier exports to the same name left. A failure leaves a
  /// file that nobody reads.
  void removeOthers(StringRef modelPath) const {
    std::string prefix = (llvm::sys::path::filename(modelPath) + ".").str();
    StringRef folder = llvm::sys::path::parent_path(modelPath);
    std::error_code problem;
    for (llvm::sys::fs::directory_iterator
             entry(folder.empty() ? "." : folder, problem),
         end;
         entry != end && !problem; entry.increment(problem)) {
      StringRef file = llvm::sys::path::filename(entry->path()), digits = file;
      if (digits.consume_front(prefix) && digits.consume_back(suffix) &&
          digits.size() == 16 && llvm::all_of(digits, llvm::isHexDigit) &&
          file != llvm::sys::path::filename(path))
        llvm::sys::fs::remove(entry->path());
    }
  }

private:
  static void setEntry(TensorProto &tensor, const char *key,
                       std::string value) {
    auto *entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(std::move(value));
  }

  static constexpr char suffix[] = ".data";
  static constexpr char zeros[externalAlignment] = {};
  std::vector<TensorProto *> tensors;
  std::vector<std::span<const std::byte>> pieces;
  std::string path;
  uint64_t position = 0, hash = 0;
};
} // namespace

bool bessemer::exportOnnx(StringRef sourceModel,
                          const std::map<std::string, WeightView> &weights,
                          const ExportOptions &options, std::string &error) {
  onnx::ModelProto model;
  if (sourceModel.size() > INT32_MAX ||
      !model.ParseFromArray(sourceModel.data(),
                            static_cast<int>(sourceModel.size()))) {
    error = "the source model in the artifact is damaged";
    return false;
  }
  onnx::GraphProto &graph = *model.mutable_graph();
  setInferenceMode(*graph.mutable_node());
  for (auto &function : *model.mutable_functions())
    setInferenceMode(*function.mutable_node());
  splitIdentities(graph, weights);

  std::vector<std::pair<TensorProto *, StringRef>> filled;
  uint64_t bytes = 0;
  for (TensorProto &tensor : *graph.mutable_initializer()) {
    if (hasData(tensor))
      continue;
    auto weight = weights.find(tensor.name());
    if (weight == weights.end()) {
      error = "no value for the initializer '" + tensor.name() + "'";
      return false;
    }
    if (weight->second.elementType != safetensorsName(tensor.data_type()) ||
        !llvm::equal(weight->second.shape, tensor.dims())) {
      error = "the value for the initializer '" + tensor.name() +
              "' has another type or shape than the model's";
      return false;
    }
    filled.emplace_back(&tensor, weight->second.data);
    bytes += weight->second.data.size();
  }

  ExternalData external;
  if (bytes > options.largestInline) {
    for (auto &[tensor, data] : filled)
      external.add(*tensor, data);
    external.name(options.outputPath);
  } else {
    for (auto &[tensor, data] : filled)
      tensor->set_raw_data(data.data(), data.size());
  }
  std::string serialized;
  if (!model.SerializeToString(&serialized)) {
    error = "the model is larger than 2 GB without its weights";
    return false;
  }
  runtime::Status status = external.write();
  if (status.ok())
    status = runtime::writeFileAtomically(options.outputPath, serialized);
  if (status.ok())
    external.removeOthers(options.outputPath);
  error = status.message();
  return status.ok();
}
