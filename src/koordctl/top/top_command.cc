#include "koordctl/top/top_command.h"

#include "koordctl/top/top.h"

namespace koord::koordctl {

void addTopCommand(flags::Commands& commands, TopFlags& flags) {
  auto& top = commands.add("top", "Watch nodes, pods, moves, quotas and events of a cluster");
  top.details =
      "On a terminal this is the screen of 'koordctl up': ? shows its keys. Otherwise it prints a\n"
      "line when something has changed, at most each 5 s, until Ctrl-C.";
  top.flags.text("kubeconfig", flags.kubeconfig,
                 "kubeconfig; default: $KUBECONFIG, the one of 'koordctl up', ~/.kube/config");
  top.flags.text("scheduler", flags.scheduler,
                 "Address of koord-scheduler, for details of pods and nodes, as "
                 "https://127.0.0.1:10259; default: that of 'koordctl up'");
  top.flags.text("manager", flags.manager,
                 "Address of koord-manager, for details of nodes; default: that of 'koordctl up'");
  top.run = [&flags](const auto&) { return runTop(flags); };
}

}  // namespace koord::koordctl
