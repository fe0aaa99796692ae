// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The flag tables as a CLI11 application.
#include "CommandLine.h"
#include "Recipe.h"

#include <CLI/CLI.hpp>
#include <deque>

namespace bessemer::tool {
namespace {

const Flag recipeFlag = {
    "recipe", FlagKind::Text, "FILE.yaml",
    "read flags from a file; flags given here override it"};

bool takesRecipe(const Subcommand &command) {
  return command.find("loss") != nullptr;
}

/// Where CLI11 leaves the values of one subcommand.
struct Bound {
  CLI::App *app = nullptr;
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, CLI::Option *> options;
  std::string positional;
};

void bindFlag(Bound &bound, const Flag &flag, const std::string &group) {
  std::string names = std::string("--") + flag.name;
  if (std::string_view(flag.name) == "output")
    names = "-o," + names;
  std::string help = flag.help;
  if (flag.choices)
    help += std::string(" {") + flag.choices + "}";
  CLI::Option *option;
  if (flag.kind == FlagKind::Switch) {
    option = bound.app->add_flag(names)->description(help);
  } else {
    option = bound.app->add_option(names, bound.values[flag.name], help)
                 ->type_name(flag.value)
                 ->expected(1)
                 ->take_all();
    const bool list = isList(flag.kind);
    // "--input a=1 b=2" reads as two values; the model comes first.
    option->expected(1, list ? CLI::detail::expected_max_vector_size : 1);
    option->allow_extra_args(list);
  }
  option->group(group);
  bound.options[flag.name] = option;
}

void bindCommand(CLI::App &root, const Subcommand &command, Bound &bound) {
  bound.app = root.add_subcommand(command.name, command.summary);
  bound.app->footer(std::string("Example:\n") + command.example);
  if (command.positional)
    bound.app
        ->add_option(command.positional, bound.positional,
                     command.positionalHelp)
        ->type_name("")
        ->required();
  for (const FlagGroup &group : command.groups)
    for (const Flag &flag : group.flags)
      bindFlag(bound, flag, group.title);
  if (takesRecipe(command))
    bindFlag(bound, recipeFlag, "Recipe");
}

/// Reads what CLI11 found for one flag, if anything.
Status collect(const Bound &bound, const Flag &flag, Arguments &arguments) {
  const CLI::Option *option = bound.options.at(flag.name);
  if (option->count() == 0)
    return {};
  Arguments::Given given{{}, std::string("--") + flag.name};
  if (flag.kind != FlagKind::Switch)
    given.values = bound.values.at(flag.name);
  BESSEMER_RETURN_IF_ERROR(checkValues(flag, given));
  arguments.set(flag.name, std::move(given));
  return {};
}

/// CLI11 only says that a subcommand is missing.
Status checkCommandName(int argc, char **argv) {
  if (argc < 2 || argv[1][0] == '-')
    return {};
  std::string names;
  for (const Subcommand *command : allSubcommands()) {
    if (std::string_view(argv[1]) == command->name)
      return {};
    names += (names.empty() ? "" : ", ") + std::string(command->name);
  }
  return Status::usage("unknown command '" + std::string(argv[1]) +
                       "', expected one of " + names);
}

} // namespace

const Flag *Subcommand::find(std::string_view name) const {
  for (const FlagGroup &group : groups)
    for (const Flag &flag : group.flags)
      if (flag.name == name)
        return &flag;
  return nullptr;
}

std::span<const Subcommand *const> allSubcommands() {
  static const Subcommand *const commands[] = {
      &compileCommand(), &trainCommand(),  &evalCommand(),    &runCommand(),
      &inspectCommand(), &exportCommand(), &profileCommand(), &doctorCommand()};
  return commands;
}

Expected<ParsedLine> parseCommandLine(int argc, char **argv) {
  BESSEMER_RETURN_IF_ERROR(checkCommandName(argc, argv));
  CLI::App root("bessemer compiles ONNX models into programs that train, and "
                "runs them.",
                "bessemer");
  root.require_subcommand(1);
  root.set_version_flag("--version", "bessemer " BESSEMER_VERSION);
  root.footer("Run 'bessemer COMMAND --help' for the flags of a command.\n"
              "Exit status: 0 ok, 1 the input's fault, 2 usage (flags, also "
              "those in a recipe), 70 a bug in bessemer.");
  std::deque<Bound> bounds;
  for (const Subcommand *command : allSubcommands())
    bindCommand(root, *command, bounds.emplace_back());

  const Subcommand *chosen = nullptr;
  const Bound *bound = nullptr;
  auto choose = [&] {
    for (size_t i = 0; i < bounds.size(); ++i)
      if (bounds[i].app->parsed()) {
        chosen = allSubcommands()[i];
        bound = &bounds[i];
      }
  };
  ParsedLine line;
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    choose();
    line.text = bound ? bound->app->help("bessemer") : root.help();
    return line;
  } catch (const CLI::CallForVersion &version) {
    line.text = std::string(version.what()) + "\n";
    return line;
  } catch (const CLI::ParseError &error) {
    choose();
    // CLI11 writes sentences; ours are lower case ("MODEL" stays).
    std::string message = error.what();
    if (message.size() > 1 && !std::isupper(message[1]))
      message[0] = static_cast<char>(std::tolower(message[0]));
    return Status::usage(message + " (see 'bessemer " +
                         (chosen ? std::string(chosen->name) + " " : "") +
                         "--help')");
  }
  choose();
  Arguments &arguments = line.arguments;
  arguments.positional = bound->positional;
  if (chosen->positional && arguments.positional.empty())
    return Status::usage(std::string(chosen->positional) + ": expected " +
                         chosen->positionalHelp + ", got ''");
  for (const FlagGroup &group : chosen->groups)
    for (const Flag &flag : group.flags)
      BESSEMER_RETURN_IF_ERROR(collect(*bound, flag, arguments));
  if (takesRecipe(*chosen)) {
    BESSEMER_RETURN_IF_ERROR(collect(*bound, recipeFlag, arguments));
    if (std::optional<std::string> path = arguments.text("recipe"))
      BESSEMER_RETURN_IF_ERROR(applyRecipe(*path, *chosen, arguments));
  }
  line.command = chosen;
  return line;
}

} // namespace bessemer::tool
