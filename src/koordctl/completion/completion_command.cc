#include "koordctl/completion/completion_command.h"

#include <cstdio>

#include "base/log.h"
#include "base/utf8.h"
#include "koordctl/completion/shell_scripts.h"

namespace koord::koordctl {

void addCompletionCommand(flags::Commands& commands) {
  auto& completion =
      commands.add("completion", "Print a script that completes commands in a shell");
  completion.arguments = "bash|zsh|fish";
  completion.details =
      "  bash  source <(koordctl completion bash)     in ~/.bashrc\n"
      "  zsh   source <(koordctl completion zsh)      in ~/.zshrc, after compinit\n"
      "  fish  koordctl completion fish | source      in ~/.config/fish/config.fish\n"
      "It completes commands, flags, their values, names of clusters, and names of objects in the\n"
      "cluster of --kubeconfig.";
  completion.complete = [](const std::vector<std::string>& given) {
    flags::Completion shells;
    if (given.empty()) shells.candidates = {{"bash", ""}, {"zsh", ""}, {"fish", ""}};
    return shells;
  };
  completion.run = [&commands](const std::vector<std::string>& shells) {
    const char* script = shells.size() == 1 ? shellScript(shells.front()) : nullptr;
    if (!script) return commands.refuse("one of bash, zsh, fish", "completion");
    std::fputs(script, stdout);
    return 0;
  };
}

int runComplete(flags::Commands& commands, const std::vector<std::string>& words) {
  log::setup({.program = "koordctl", .file = "/dev/null"});
  const auto completion = commands.complete(words);
  std::string text;
  for (const auto& candidate : completion.candidates)
    text += printable(candidate.word) + "\t" + printable(candidate.summary) + "\n";
  text += completion.files ? ":files\n" : ":\n";
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace koord::koordctl
