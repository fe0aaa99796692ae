// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Recipe.h"
#include "CompileFlags.h"
#include "Text.h"

#include "bessemer/runtime/Files.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace bessemer::tool {
namespace {

class Reader {
public:
  Reader(const std::string &path, const Subcommand &command,
         Arguments &arguments)
      : path(path), command(command), arguments(arguments) {}

  Status readMap(const YAML::Node &map, bool inOptimizer) {
    for (const auto &item : map) {
      if (!item.first.IsScalar())
        return error(item.first, "expected a name as key");
      std::string key = item.first.Scalar();
      std::replace(key.begin(), key.end(), '_', '-');
      if (inOptimizer && key == "kind")
        key = "optimizer";
      if (!inOptimizer && key == "optimizer" && item.second.IsMap())
        BESSEMER_RETURN_IF_ERROR(readMap(item.second, true));
      else
        BESSEMER_RETURN_IF_ERROR(readKey(key, item.first, item.second));
    }
    return {};
  }

private:
  Status readKey(const std::string &key, const YAML::Node &where,
                 const YAML::Node &value) {
    // Python and people say dims, targets; the flags are singular.
    std::string name = key == "dims"           ? "dim"
                       : key == "targets"      ? "target"
                       : key == "pass-plugins" ? "pass-plugin"
                                               : key;
    const Flag *flag = command.find(name);
    bool ours = flag != nullptr;
    if (!flag)
      flag = trainCommand().find(name);
    if (!flag)
      flag = compileCommand().find(name);
    if (!flag)
      return unknownKey(name, where);
    if (!seen.insert(name).second)
      return error(where, "key '" + where.Scalar() + "' is given twice");
    Arguments::Given given{{}, position(where) + where.Scalar()};
    given.isOfRecipe = true;
    bool present = true;
    BESSEMER_RETURN_IF_ERROR(readValues(*flag, where, value, given, present));
    BESSEMER_RETURN_IF_ERROR(checkValues(*flag, given));
    if (ours && present && !arguments.has(name) && !isOverridden(name))
      arguments.set(name, std::move(given));
    return {};
  }

  /// --steps on the command line is also instead of the recipe's epochs.
  bool isOverridden(const std::string &name) const {
    const char *other = name == "epochs"  ? "steps"
                        : name == "steps" ? "epochs"
                                          : nullptr;
    return other && arguments.has(other) && !arguments.isOfRecipe(other);
  }

  Status readValues(const Flag &flag, const YAML::Node &where,
                    const YAML::Node &value, Arguments::Given &given,
                    bool &present) {
    const bool list = isList(flag.kind);
    given.isSplit = !value.IsScalar();
    // An empty list is as if there were none.
    present = value.IsScalar() || value.size() != 0;
    if (flag.kind == FlagKind::Switch) {
      if (!value.IsScalar() || !YAML::convert<bool>::decode(value, present))
        return error(where,
                     "expected true or false for '" + where.Scalar() + "'");
      return {};
    }
    if (value.IsScalar()) {
      given.values.push_back(value.Scalar());
      return {};
    }
    if (list && value.IsSequence()) {
      for (const YAML::Node &item : value) {
        if (!item.IsScalar())
          return error(where, "expected a list of plain values for '" +
                                  where.Scalar() + "'");
        given.values.push_back(item.Scalar());
      }
      return {};
    }
    // `data: {x: FILE}` is a list of NAME=FILE, too.
    if (list && value.IsMap()) {
      for (const auto &item : value) {
        if (!item.first.IsScalar() || !item.second.IsScalar())
          return error(where, "expected plain names and values for '" +
                                  where.Scalar() + "'");
        given.values.push_back(item.first.Scalar() + "=" +
                               item.second.Scalar());
      }
      return {};
    }
    return error(where, std::string("expected a ") +
                            (list ? "list" : "single value") + " for '" +
                            where.Scalar() + "'");
  }

  /// A key may be long; a mistyped one is not.
  Status unknownKey(const std::string &name, const YAML::Node &where) const {
    constexpr size_t longest = 64;
    if (name.size() > longest)
      return error(where, "unknown key '" + where.Scalar().substr(0, longest) +
                              "...'");
    std::vector<std::string_view> known;
    for (const Subcommand *command : {&trainCommand(), &compileCommand()})
      for (const FlagGroup &group : command->groups)
        for (const Flag &flag : group.flags)
          known.push_back(flag.name);
    std::string nearest = nearestName(name, known);
    return error(where,
                 "unknown key '" + where.Scalar() + "'" +
                     (nearest.empty()
                          ? ""
                          : ", did you mean '" + underscored(nearest) + "'?"));
  }

  std::string position(const YAML::Node &node) const {
    return path + ":" + std::to_string(node.Mark().line + 1) + ": ";
  }
  Status error(const YAML::Node &node, const std::string &message) const {
    return Status::usage(position(node) + message);
  }

  const std::string &path;
  const Subcommand &command;
  Arguments &arguments;
  std::set<std::string> seen;
};

/// Where a YAML document begins, and whether there is anything in it.
class DocumentProbe : public YAML::EventHandler {
public:
  YAML::Mark begin;
  bool isEmpty = true;

  void OnDocumentStart(const YAML::Mark &mark) override { begin = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark &, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark &, YAML::anchor_t) override { isEmpty = false; }
  void OnScalar(const YAML::Mark &, const std::string &, YAML::anchor_t,
                const std::string &) override {
    isEmpty = false;
  }
  void OnSequenceStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    isEmpty = false;
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    isEmpty = false;
  }
  void OnMapEnd() override {}
};

/// One document may hold something. At some text, such as a comma, yaml-cpp
/// finds empty documents without end.
Status checkDocuments(const std::string &text, const std::string &path) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  std::optional<int> last;
  bool found = false;
  for (DocumentProbe probe; parser.HandleNextDocument(probe);
       probe = DocumentProbe()) {
    const std::string place =
        path + ":" + std::to_string(probe.begin.line + 1) + ": ";
    if (last == probe.begin.pos)
      return Status::usage(place + "expected a map of flags");
    last = probe.begin.pos;
    if (found && !probe.isEmpty)
      return Status::usage(place + "expected one YAML document, got another");
    found |= !probe.isEmpty;
  }
  return {};
}

} // namespace

Status applyRecipeText(const std::string &text, const std::string &path,
                       const Subcommand &command, Arguments &arguments) {
  try {
    BESSEMER_RETURN_IF_ERROR(checkDocuments(text, path));
    std::vector<YAML::Node> documents = YAML::LoadAll(text);
    std::erase_if(documents,
                  [](const YAML::Node &node) { return node.IsNull(); });
    if (documents.empty())
      return {};
    const YAML::Node &root = documents.front();
    if (!root.IsMap())
      return Status::usage(path + ":" + std::to_string(root.Mark().line + 1) +
                           ": expected a map of flags");
    // Keys and values may hold line breaks.
    return Reader(path, command, arguments).readMap(root, false).onOneLine();
  } catch (const YAML::Exception &error) {
    return Status::usage(path + ":" + std::to_string(error.mark.line + 1) +
                         ": " + error.msg)
        .onOneLine();
  }
}

Status applyRecipe(const std::string &path, const Subcommand &command,
                   Arguments &arguments) {
  Expected<std::string> text = runtime::readText(path);
  if (!text)
    return text.status();
  return applyRecipeText(*text, path, command, arguments);
}

} // namespace bessemer::tool
