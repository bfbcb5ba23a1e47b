#include "koordctl/up/up_command.h"

#include <filesystem>

#include "cluster/up/console_service.h"
#include "cluster/up/up.h"
#include "koordctl/common/cluster_names.h"
#include "koordctl/common/runtime_flags.h"
#include "koordctl/console/console_explain.h"
#include "koordctl/console/console_simulate.h"
#include "koordctl/explain/screen_explain.h"

namespace koord::koordctl {

using cluster::HostNodeMode;
using cluster::UpOptions;

namespace {

Result<> isFolder(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) return {};
  return fail(ErrorCode::Invalid, "the folder does not exist");
}

void addHostNodeFlags(flags::FlagSet& set, UpFlags& flags) {
  set.text("host-node", flags.hostNode,
           "This host as a node: auto (if possible, otherwise the log has the reason), on (or "
           "fail), off")
      .oneOf({"auto", "on", "off"});
  addRuntimeFlags(set, flags.options.runtime);
}

void addUpFlags(flags::FlagSet& set, UpFlags& flags) {
  auto& options = flags.options;
  set.integer(
         "nodes", flags.nodes,
         "Number of simulated nodes (sim-0, sim-1, ...); default: none with a host node, else 3")
      .within(0, 100'000)
      .defaultText.clear();
  set.text("node-shape", options.nodeShape,
           "File with the shapes of simulated nodes: CPUs, NUMA nodes, GPUs (deploy/node-shapes); "
           "default: 32 CPUs, 128Gi");
  set.list("components", options.components,
           "Programs to run beside the API server, comma-separated, or none");
  addClusterFlags(set, options.name, options.dataDir);
  set.boolean("in-memory", options.inMemory,
              "Store nothing: no database, and a temporary data folder that is removed at the end");
  set.text("authorization-mode", flags.authorization,
           "Authorization of requests: Node,RBAC, or AlwaysAllow for every authenticated user")
      .oneOf({"Node,RBAC", "AlwaysAllow"});
  set.boolean("anonymous-auth", options.anonymousAuth,
              "With Node,RBAC: treat requests without credentials as those of system:anonymous, "
              "who may do almost nothing; otherwise reply 401");
  set.text("audit-log", options.auditLog,
           "File to which an audit.k8s.io/v1 Event of every request is appended");
  set.text("listen", options.listen,
           "Address of the API server; port 0 selects a free port; default: 127.0.0.1:6443, or for "
           "--name a free port that stays the same");
  set.text("kubeconfig", options.kubeconfig,
           "File for the kubeconfig of an administrator, removed at the end; default: "
           "DATA-DIR/kubeconfig");
  set.boolean("merge-kubeconfig", options.mergeKubeconfig,
              "Until the cluster stops, add it to kubectl's kubeconfig (the first of $KUBECONFIG, "
              "else ~/.kube/config) as the context of its name");
  set.text("config", options.configDir,
           "Folder of component configuration files: koord-scheduler.yaml and "
           "koord-descheduler.yaml are passed to these programs")
      .check([&options] { return isFolder(options.configDir); });
  addHostNodeFlags(set, flags);
  set.text("console", options.console,
           "Loopback address of the console, a page for browsers, or off; default: 127.0.0.1:6480, "
           "or a free port")
      .check([&options] { return cluster::checkConsoleAddress(options.console); });
  set.boolean("demo", options.demo, "Run the co-location demo (examples/colocation)");
  set.boolean(
      "record", options.record,
      "Record what koord-scheduler receives and decides in DATA-DIR/koord-scheduler.rec, for "
      "'koordctl replay'");
  set.boolean("quiet", options.quiet,
              "No status; one line 'ready' on standard output when the API server responds and the "
              "components lead");
  set.integer("v", options.verbosity, "Verbosity of the logs").shortName('v');
}

}  // namespace

void addUpCommand(flags::Commands& commands, UpFlags& flags, const std::string& program) {
  auto& up = commands.add("up", "Run a cluster on this host until Ctrl-C or SIGTERM");
  up.details =
      "The cluster has an API server (TLS, SQLite), the workload controllers, koord-manager,\n"
      "koord-scheduler, koord-descheduler, simulated nodes and, for root, this host as a node "
      "with\n"
      "koordlet. Use it with kubectl --kubeconfig FILE. When koordctl stops, it ends all pods and\n"
      "keeps only the data folder. The next 'koordctl up' with that folder restores the cluster.";
  addUpFlags(up.flags, flags);
  up.run = [&commands, &flags, &up, program](const auto&) {
    UpOptions& options = flags.options;
    if (options.inMemory && up.flags.given("data-dir"))
      return commands.refuse("--in-memory stores nothing: --data-dir is not allowed", "up");
    if (up.flags.given("name") && options.inMemory)
      return commands.refuse("--in-memory stores nothing: --name is not allowed", "up");
    if (const auto wrong = checkRuntimeFlags(options.runtime); !wrong.empty())
      return commands.refuse(wrong, "up");
    if (flags.nodes >= 0) options.nodes = flags.nodes;
    options.hostNode = flags.hostNode == "on"    ? HostNodeMode::On
                       : flags.hostNode == "off" ? HostNodeMode::Off
                                                 : HostNodeMode::Auto;
    options.authorize = flags.authorization != "AlwaysAllow";
    options.explain = explainOnScreen;
    options.explainByName = explainForConsole;
    options.simulate = simulateForConsole;
    std::erase(options.components, "");
    std::erase(options.components, "none");
    return cluster::runUp(options, program);
  };
}

}  // namespace koord::koordctl
