// koordctl: everything a person at a terminal wants of Koordinator, a cluster on this machine
// first.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "cluster/explain/explain_command.h"
#include "cluster/hostnode/shim.h"
#include "cluster/scenario/cli/test_command.h"
#include "cluster/up/data_dir.h"
#include "cluster/up/status_command.h"
#include "cluster/up/up.h"

namespace {

using koord::cluster::HostNodeMode;
using koord::cluster::UpOptions;

struct UpFlags {
  UpOptions options;
  int nodes = -1;
  std::string components = "koord-manager,koord-scheduler,koordlet";
};

CLI::App* addUp(CLI::App& app, UpFlags& flags) {
  auto& options = flags.options;
  CLI::App* up = app.add_subcommand("up", "Run a cluster on this machine until Ctrl-C or SIGTERM");
  up->footer(
      "The cluster has an API server (TLS, SQLite), the workload controllers, koord-manager,\n"
      "koord-scheduler, simulated nodes and, as root, this machine as a node with koordlet. Use it "
      "with\n"
      "kubectl --kubeconfig FILE. Stopping it ends all pods and leaves the data folder only; the "
      "next\n"
      "'koordctl up' on that folder carries on with what is in it.");
  up->add_option(
        "--nodes", flags.nodes,
        "Simulated nodes to make (sim-0, sim-1, ...); default: none with a host node, else 3")
      ->check(CLI::Range(0, 100'000));
  const std::map<std::string, HostNodeMode> modes{
      {"auto", HostNodeMode::Auto}, {"on", HostNodeMode::On}, {"off", HostNodeMode::Off}};
  up->add_option("--host-node", options.hostNode,
                 "This machine as a node: auto (if possible, else say why not), on (or fail), off")
      ->transform(CLI::CheckedTransformer(modes).description("{auto,on,off}"))
      ->default_str("auto");
  up->add_option("--components", flags.components,
                 "Programs to run beside the API server, comma-separated, or none")
      ->capture_default_str();
  auto* dataDir = up->add_option("--data-dir", options.dataDir,
                                 "Folder for the database, certificates, logs and containers")
                      ->default_str(koord::cluster::defaultDataDir());
  up->add_flag("--in-memory", options.inMemory,
               "Keep nothing: no database, and a temporary data folder that is removed at the end")
      ->excludes(dataDir);
  up->add_option("--audit-log", options.auditLog,
                 "File to append an audit.k8s.io/v1 Event to for every request");
  up->add_option("--listen", options.listen, "Address of the API server; port 0 takes a free one")
      ->capture_default_str();
  up->add_option("--kubeconfig", options.kubeconfig,
                 "Where to write the kubeconfig of an administrator, removed at the end; default: "
                 "DATA-DIR/kubeconfig");
  up->add_option("--config", options.configDir,
                 "Folder of component configuration files: koord-scheduler.yaml is handed to "
                 "koord-scheduler")
      ->check(CLI::ExistingDirectory);
  up->add_option(
        "--runtime", options.runtime,
        "How the host node runs containers: process (their command, on this machine's files; "
        "images are ignored) or containerd")
      ->check(CLI::IsMember({"process", "containerd"}))
      ->capture_default_str();
  up->add_option("--containerd-socket", options.containerdSocket,
                 "With --runtime=containerd: the socket of one that runs; default: one is started, with "
                 "an image made of busybox-static");
  up->add_flag("--demo", options.demo, "Run the co-location demo (examples/colocation)");
  up->add_flag("--quiet", options.quiet,
               "No status; one line 'ready' on standard output when the API answers and the "
               "components lead");
  up->add_option("-v,--v", options.verbosity, "Verbosity of the logs")->capture_default_str();
  return up;
}

CLI::App* addExplain(CLI::App& app, koord::cluster::ExplainOptions& options) {
  CLI::App* explain = app.add_subcommand("explain", "Say why the scheduler does what it does");
  explain->require_subcommand(1);
  CLI::App* pod = explain->add_subcommand(
      "pod", "Why a pod is where it is, why it still waits, or where one would go that does not exist yet");
  pod->footer(
      "  koordctl explain pod shop/web-0      which plugin rejects which nodes, what would make it fit\n"
      "  koordctl explain pod -f web.yaml     the same for the pod of a manifest, without creating it");
  auto* name = pod->add_option("POD", options.pod, "NAMESPACE/NAME, or NAME in the namespace default");
  auto* file = pod->add_option("-f,--filename", options.file,
                               "Manifest of a pod or of a workload with a pod template");
  name->excludes(file);
  pod->add_option("--scheduler", options.scheduler,
                  "Address of koord-scheduler, as http://127.0.0.1:10251; default: that of 'koordctl up'");
  pod->add_option("--kubeconfig", options.kubeconfig,
                  "kubeconfig; default: the one of 'koordctl up', $KUBECONFIG, ~/.kube/config");
  pod->add_flag("--json", options.json, "The scheduler's answer as JSON");
  pod->callback([name, file] {
    if (name->count() + file->count() == 0) throw CLI::RequiredError("POD or --filename");
  });
  return explain;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= list.size();) {
    const auto comma = std::min(list.find(',', start), list.size());
    if (comma > start) names.push_back(list.substr(start, comma - start));
    start = comma + 1;
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  // Not for people: the process that stands over a container of the host node.
  if (argc > 1 && std::strcmp(argv[1], "shim") == 0)
    return koord::cluster::runShim(argc - 2, argv + 2);

  CLI::App app("koordctl: Koordinator at the command line");
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  UpFlags flags;
  CLI::App* up = addUp(app, flags);
  std::string kubeconfig;
  CLI::App* status =
      app.add_subcommand("status", "Show nodes, batch resources and pods of a cluster once");
  status->add_option("--kubeconfig", kubeconfig,
                     "kubeconfig; default: the one of 'koordctl up', $KUBECONFIG, ~/.kube/config");
  koord::cluster::ExplainOptions explainOptions;
  CLI::App* explain = addExplain(app, explainOptions);
  koord::scenario::TestFlags testFlags;
  CLI::App* test = koord::scenario::addTestCommand(app, testFlags);
  CLI::App* version = app.add_subcommand("version", "Print the version");
  CLI11_PARSE(app, argc, argv);

  if (version->parsed()) {
    std::puts("koordctl " KOORD_VERSION);
    return 0;
  }
  if (status->parsed()) return koord::cluster::runStatus(kubeconfig);
  if (explain->parsed()) return koord::cluster::runExplain(explainOptions);
  const auto programPath = [&] {
    std::error_code ec;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", ec);
    return ec ? std::string(argv[0]) : program.string();
  };
  if (test->parsed()) return koord::scenario::runTestCommand(testFlags, programPath());
  if (up->parsed()) {
    if (flags.nodes >= 0) flags.options.nodes = flags.nodes;
    flags.options.components = split(flags.components == "none" ? "" : flags.components);
    return koord::cluster::runUp(flags.options, programPath());
  }
  return 0;
}
