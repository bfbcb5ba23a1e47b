#include "koordctl/top/top_command.h"

#include "koordctl/top/top.h"

namespace koord::koordctl {

void addTopCommand(flags::Commands& commands, TopFlags& flags) {
  auto& top = commands.add("top", "Watch nodes, pods, moves, quotas and events of a cluster");
  top.details =
      "On a terminal this is the screen of 'koordctl up': ? shows its keys. Otherwise it prints a\n"
      "line when something has changed, at most each 5 s, until Ctrl-C.";
  addClusterFlags(top.flags, flags);
  top.run = [&flags](const auto&) { return runTop(flags); };
}

}  // namespace koord::koordctl
