#include "koordctl/join/join_command.h"

#include "cluster/up/data_dir.h"
#include "koordctl/common/cluster_names.h"
#include "koordctl/common/runtime_flags.h"

namespace koord::koordctl {

namespace {

void addJoin(flags::Commands& commands, cluster::JoinOptions& options, const std::string& program) {
  auto& join = commands.add("join", "Make this host a node of a cluster on another host");
  join.arguments = "[INVITATION]";
  join.details =
      "INVITATION is a file with the output of 'koordctl invite NODE' on the cluster's host, or -\n"
      "for standard input. Without it, koordctl uses the last invitation. Runs until Ctrl-C or\n"
      "SIGTERM. Needs root.\n"
      "  koordctl invite laptop | ssh root@laptop koordctl join -";
  auto& set = join.flags;
  set.text("data-dir", options.dataDir, "Folder for the invitation, logs and containers")
      .defaultText = cluster::defaultDataDir();
  set.text(
      "address", options.address,
      "Address of this node, where kubelet's port listens; default: the address that this host "
      "uses to reach the API server");
  addRuntimeFlags(set, options.runtime);
  set.boolean("quiet", options.quiet,
              "One line 'ready' on standard output when the node is registered, nothing else");
  set.integer("v", options.verbosity, "Verbosity of the logs").shortName('v');
  join.run = [&commands, &options, program](const std::vector<std::string>& files) {
    if (files.size() > 1) return commands.refuse("one INVITATION", "join");
    if (const auto wrong = checkRuntimeFlags(options.runtime); !wrong.empty())
      return commands.refuse(wrong, "join");
    if (!files.empty()) options.invitation = files.front();
    return cluster::runJoin(options, program);
  };
}

void addInvite(flags::Commands& commands, JoinFlags& flags) {
  auto& options = flags.invite;
  auto& invite = commands.add("invite", "Print an invitation for a node, for 'koordctl join'");
  invite.arguments = "NODE";
  invite.details =
      "NODE is the name of the other host as a node. The invitation contains keys: a program that\n"
      "reads it can act as this node for a year. The cluster must listen on an address that the\n"
      "other host can reach:\n"
      "  koordctl up --listen 192.0.2.1:6443\n"
      "  koordctl invite laptop | ssh root@laptop koordctl join -";
  invite.flags.text("server", options.server,
                    "URL of the API server for the other host; default: the address that "
                    "'koordctl up' listens on");
  addClusterFlags(invite.flags, flags.name, options.dataDir);
  invite.run = [&commands, &flags](const std::vector<std::string>& names) {
    if (names.size() != 1) return commands.refuse("one NODE", "invite");
    cluster::InviteOptions options = flags.invite;
    options.dataDir = clusterFolder(flags.name, options.dataDir);
    options.node = names.front();
    return cluster::runInvite(options);
  };
}

}  // namespace

void addJoinCommands(flags::Commands& commands, JoinFlags& flags, const std::string& program) {
  addInvite(commands, flags);
  addJoin(commands, flags.join, program);
}

}  // namespace koord::koordctl
