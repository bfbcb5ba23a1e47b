// koordctl: Koordinator's command-line tool for users, including a cluster on this host.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file_limit.h"
#include "base/flags/command.h"
#include "cluster/hostnode/shim.h"
#include "cluster/join/join.h"
#include "cluster/up/data_dir.h"
#include "cluster/up/up.h"
#include "koordctl/deschedule/deschedule_command.h"
#include "koordctl/doctor/doctor_command.h"
#include "koordctl/explain/explain_command.h"
#include "koordctl/image/image_command.h"
#include "koordctl/status/status_command.h"
#include "koordctl/test/test_command.h"

namespace {

using koord::cluster::HostNodeMode;
using koord::cluster::UpOptions;

struct UpFlags {
  UpOptions options;
  int nodes = -1;
  std::string hostNode = "auto";
  std::string authorization = "Node,RBAC";
};

koord::Result<> refused(std::string why) {
  return koord::fail(koord::ErrorCode::Invalid, std::move(why));
}

koord::Result<> isFolder(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) return {};
  return refused("the folder does not exist");
}

void addUpFlags(koord::flags::FlagSet& set, UpFlags& flags) {
  auto& options = flags.options;
  set.integer(
         "nodes", flags.nodes,
         "Number of simulated nodes (sim-0, sim-1, ...); default: none with a host node, else 3")
      .within(0, 100'000)
      .defaultText.clear();
  set.text("node-shape", options.nodeShape,
           "File with the shapes of simulated nodes: CPUs, NUMA nodes, GPUs (deploy/node-shapes); "
           "default: 32 CPUs, 128Gi");
  set.text("host-node", flags.hostNode,
           "This machine as a node: auto (if possible, else log why not), on (or fail), off")
      .oneOf({"auto", "on", "off"});
  set.list("components", options.components,
           "Programs to run beside the API server, comma-separated, or none");
  set.text("data-dir", options.dataDir,
           "Folder for the database, certificates, logs and containers")
      .defaultText = koord::cluster::defaultDataDir();
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
  set.text("listen", options.listen, "Address of the API server; port 0 selects a free port");
  set.text("kubeconfig", options.kubeconfig,
           "File for the kubeconfig of an administrator, removed at the end; default: "
           "DATA-DIR/kubeconfig");
  set.text("config", options.configDir,
           "Folder of component configuration files: koord-scheduler.yaml and "
           "koord-descheduler.yaml are passed to these programs")
      .check([&options] { return isFolder(options.configDir); });
  set.text("runtime", options.runtime,
           "How the host node runs containers: process (runs the command on this machine's files "
           "and ignores images), containerd, or auto (containerd if it is installed, otherwise "
           "process)")
      .oneOf({"process", "containerd", "auto"});
  set.text("images", options.images,
           "With containerd: an archive of images (docker save), or a folder of archives or of an "
           "OCI layout, to load at start");
  set.text("containerd-socket", options.containerdSocket,
           "With --runtime=containerd: the socket of a running containerd; default: koordctl "
           "starts its own, with an image of busybox-static");
  set.boolean("runtime-proxy", options.runtimeProxy,
              "With --runtime=containerd: koord-runtime-proxy in front of it, so that koordlet's "
              "values apply before containers start");
  set.text("eviction-hard", options.evictionHard,
           "Thresholds of MemoryPressure, DiskPressure and PIDPressure of the host node, as "
           "kubelet's flag; \"\" for none. They keep new pods away; running pods are not evicted");
  set.boolean("demo", options.demo, "Run the co-location demo (examples/colocation)");
  set.boolean("quiet", options.quiet,
              "No status; one line 'ready' on standard output when the API server responds and the "
              "components lead");
  set.integer("v", options.verbosity, "Verbosity of the logs").shortName('v');
}

void addUp(koord::flags::Commands& commands, UpFlags& flags, const std::string& program) {
  auto& up = commands.add("up", "Run a cluster on this machine until Ctrl-C or SIGTERM");
  up.details =
      "The cluster has an API server (TLS, SQLite), the workload controllers, "
      "koord-manager,\nkoord-scheduler, koord-descheduler, simulated nodes and, as root, this "
      "machine as a node with koordlet. Use it with\nkubectl --kubeconfig FILE. Stopping it ends "
      "all pods and keeps only the data folder; the next\n'koordctl up' with that folder restores "
      "the cluster from it.";
  addUpFlags(up.flags, flags);
  up.run = [&](const auto&) {
    UpOptions& options = flags.options;
    if (options.inMemory && up.flags.given("data-dir"))
      return commands.refuse("--in-memory stores nothing: --data-dir is not allowed", "up");
    if (!options.images.empty() && options.runtime == "process")
      return commands.refuse("--images needs --runtime=containerd or auto", "up");
    if (options.runtimeProxy && options.runtime != "containerd")
      return commands.refuse("--runtime-proxy needs --runtime=containerd", "up");
    if (flags.nodes >= 0) options.nodes = flags.nodes;
    options.hostNode = flags.hostNode == "on"    ? HostNodeMode::On
                       : flags.hostNode == "off" ? HostNodeMode::Off
                                                 : HostNodeMode::Auto;
    options.authorize = flags.authorization != "AlwaysAllow";
    std::erase(options.components, "");
    std::erase(options.components, "none");
    return koord::cluster::runUp(options, program);
  };
}

void addJoin(koord::flags::Commands& commands, koord::cluster::JoinOptions& options,
             const std::string& program) {
  options.evictionHard = UpOptions{}.evictionHard;
  auto& join = commands.add("join", "Make this machine a node of a cluster on another machine");
  join.arguments = "[INVITATION]";
  join.details =
      "INVITATION is a file with what 'koordctl invite NODE' printed on the cluster's machine, or\n"
      "- for standard input. Without it the last invitation counts. Runs until Ctrl-C or "
      "SIGTERM;\nas root.\n"
      "  koordctl invite laptop | ssh root@laptop koordctl join -";
  auto& set = join.flags;
  set.text("data-dir", options.dataDir, "Folder for the invitation, logs and containers")
      .defaultText = koord::cluster::defaultDataDir();
  set.text(
      "address", options.address,
      "Address of this node, where the kubelet's port listens; default: the address that leads to "
      "the API server");
  set.text("runtime", options.runtime,
           "How the node runs containers: process (their command, on this machine's files; images "
           "are ignored) or containerd")
      .oneOf({"process", "containerd"});
  set.text(
      "containerd-socket", options.containerdSocket,
      "With --runtime=containerd: the socket of a running containerd; default: koordctl starts "
      "one, with an image made of busybox-static");
  set.text("eviction-hard", options.evictionHard,
           "When the node has MemoryPressure, DiskPressure or PIDPressure, as kubelet's flag; "
           "\"\" for never");
  set.boolean("quiet", options.quiet,
              "One line 'ready' on standard output when the node is registered, nothing else");
  set.integer("v", options.verbosity, "Verbosity of the logs").shortName('v');
  join.run = [&](const std::vector<std::string>& files) {
    if (files.size() > 1) return commands.refuse("one INVITATION", "join");
    if (!files.empty()) options.invitation = files.front();
    return koord::cluster::runJoin(options, program);
  };
}

void addInvite(koord::flags::Commands& commands, koord::cluster::InviteOptions& options) {
  auto& invite = commands.add("invite", "Print an invitation for a node, for 'koordctl join'");
  invite.arguments = "NODE";
  invite.details =
      "NODE is the name that the other machine has as a node. The invitation has keys: a "
      "program that reads it can\nact as this node for a year. The cluster must listen on an "
      "address that the other "
      "machine reaches:\n"
      "  koordctl up --listen 192.0.2.1:6443\n"
      "  koordctl invite laptop | ssh root@laptop koordctl join -";
  invite.flags.text("server", options.server,
                    "URL of the API server for the other machine; default: the address that "
                    "'koordctl up' listens on");
  invite.flags.text("data-dir", options.dataDir, "Data folder of 'koordctl up'").defaultText =
      koord::cluster::defaultDataDir();
  invite.run = [&](const std::vector<std::string>& names) {
    if (names.size() != 1) return commands.refuse("one NODE", "invite");
    options.node = names.front();
    return koord::cluster::runInvite(options);
  };
}

using koord::koordctl::ExplainOptions;

// Adds a command of "explain" with the flags that all of them have.
koord::flags::Command& addExplain(koord::flags::Commands& commands, ExplainOptions& options,
                                  const char* subject, const char* summary) {
  auto& command = commands.add(std::string("explain ") + subject, summary);
  command.flags.text(
      "scheduler", options.scheduler,
      "Address of koord-scheduler, as https://127.0.0.1:10259; default: that of 'koordctl "
      "up'");
  command.flags.text("kubeconfig", options.kubeconfig,
                     "kubeconfig; default: $KUBECONFIG, the one of 'koordctl up', ~/.kube/config");
  command.flags.boolean("json", options.json, "The answer as JSON");
  return command;
}

void addExplainPod(koord::flags::Commands& commands, ExplainOptions& options) {
  auto& pod = addExplain(commands, options, "pod",
                         "Explain why a pod is on its node, or why it is pending");
  pod.arguments = "[POD]";
  pod.details =
      "POD is NAMESPACE/NAME, or NAME in the namespace default.\n  koordctl explain pod shop/web-0 "
      "     which plugin rejects which nodes, what would make it fit,\n                            "
      "           and the state of its gang, quota and reservations\n  koordctl explain pod -f "
      "web.yaml     the same for the pod of a manifest, without creating it";
  pod.flags
      .text("filename", options.file,
            "Manifest of a pod or of a workload with a pod template, instead of POD")
      .shortName('f');
  pod.run = [&](const std::vector<std::string>& pods) {
    if (pods.size() + (options.file.empty() ? 0 : 1) != 1)
      return commands.refuse("one POD, or --filename", "explain pod");
    if (!pods.empty()) options.name = pods.front();
    return koord::koordctl::runExplain(options);
  };
}

void addExplainOthers(koord::flags::Commands& commands, ExplainOptions& options) {
  struct Row {
    ExplainOptions::About about;
    const char* subject;
    const char* argument;
    const char* summary;
  };
  using About = ExplainOptions::About;
  for (const Row& row :
       {Row{About::Gang, "gang", "[NAMESPACE/]NAME", "Explain the state of a gang's pods"},
        Row{About::Quota, "quota", "NAME", "Explain what a quota may use, what it uses, and why"},
        Row{About::Reservation, "reservation", "NAME",
            "Explain what a reservation holds, and for which pods"},
        Row{About::Node, "node", "NAME",
            "Explain how a node's batch and mid resources are computed; show its CPUs and their "
            "pods"},
        Row{About::Migration, "migration", "JOB|NAMESPACE/POD",
            "Explain where a pod is migrated to, why, and the progress"},
        Row{About::Recommendation, "recommendation", "[NAMESPACE/]NAME",
            "Explain how much the containers of a workload need, and from which samples"}}) {
    auto& command = addExplain(commands, options, row.subject, row.summary);
    command.arguments = row.argument;
    if (row.about == About::Node || row.about == About::Recommendation)
      command.flags.text(
          "manager", options.manager,
          "Address of koord-manager's metrics, as http://127.0.0.1:8080; default: that of "
          "'koordctl up'");
    command.run = [&commands, &options, row](const std::vector<std::string>& names) {
      if (names.size() != 1)
        return commands.refuse(std::string("one ") + row.argument,
                               std::string("explain ") + row.subject);
      options.about = row.about;
      options.name = names.front();
      return koord::koordctl::runExplain(options);
    };
  }
}

void addDeschedule(koord::flags::Commands& commands, koord::koordctl::DescheduleOptions& options) {
  auto& command = commands.add("deschedule", "Show which pods koord-descheduler would evict now");
  command.details =
      "Runs one cycle on the current state of the cluster and writes nothing. Shows each pod with "
      "its node,\nthe node where koord-scheduler would place it, the reason, and the utilization "
      "of both before and after.";
  command.flags.boolean("dry-run", options.dryRun, "Show the plan and write nothing; required");
  command.flags.text("config", options.config,
                     "DeschedulerConfiguration; default: that of 'koordctl up', or the ConfigMap "
                     "koordinator-system/koord-descheduler-config");
  command.flags.text("scheduler", options.scheduler,
                     "Address of koord-scheduler, as https://127.0.0.1:10259; default: that of "
                     "'koordctl up', or the leader");
  command.flags.text("kubeconfig", options.kubeconfig,
                     "kubeconfig; default: $KUBECONFIG, the one of 'koordctl up', ~/.kube/config");
  command.flags.boolean("json", options.json, "The plan as JSON");
  command.run = [&](const std::vector<std::string>& names) {
    if (!names.empty()) return commands.refuse("no arguments", "deschedule");
    if (!options.dryRun)
      return commands.refuse("--dry-run: koordctl does not evict pods", "deschedule");
    return koord::koordctl::runDeschedule(options);
  };
}

// The koordlet binary is beside koordctl.
int runDoctor(const std::string& program, const std::string& kubeconfig,
              const std::vector<std::string>& further) {
  const std::string koordlet = (std::filesystem::path(program).parent_path() / "koordlet").string();
  std::vector<std::string> words{koordlet, "doctor"};
  if (!kubeconfig.empty()) words.push_back("--kubeconfig=" + kubeconfig);
  words.insert(words.end(), further.begin(), further.end());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(koordlet.c_str(), arguments.data());
  std::fprintf(stderr, "koordctl: %s: %s\n", koordlet.c_str(), std::strerror(errno));
  return 1;
}

void addExaminations(koord::flags::Commands& commands, std::string& kubeconfig) {
  using koord::koordctl::Examination;
  const auto add = [&](const char* name, const char* summary, Examination which) {
    auto& command = commands.add(name, summary);
    command.flags.text(
        "kubeconfig", kubeconfig,
        "kubeconfig; default: $KUBECONFIG, the one of 'koordctl up', ~/.kube/config");
    command.run = [&kubeconfig, which](const auto&) {
      return koord::koordctl::runExamination(which, kubeconfig);
    };
  };
  add("preflight", "Check whether Koordinator can be installed in a cluster",
      Examination::Preflight);
  add("doctor", "Check whether Koordinator works in a cluster", Examination::Doctor);
}

void addImage(koord::flags::Commands& commands, koord::koordctl::ImageOptions& options) {
  const auto add = [&](const char* name, const char* summary) -> koord::flags::Command& {
    auto& command = commands.add(name, summary);
    command.flags.text("data-dir", options.dataDir, "Folder of the cluster").defaultText =
        koord::cluster::defaultDataDir();
    command.flags.text("containerd-socket", options.containerdSocket,
                       "With 'koordctl up --containerd-socket': the same socket");
    return command;
  };
  auto& load = add("image load", "Load images into a cluster with --runtime=containerd");
  load.arguments = "FILE|FOLDER|IMAGE...";
  load.details =
      "FILE is an archive of 'docker save' or of an OCI layout, FOLDER an OCI layout or a folder "
      "of archives.\nIMAGE is taken from docker or podman on this machine, else from its "
      "registry.\n"
      "Loaded images are never pulled, whatever imagePullPolicy says.";
  load.run = [&](const std::vector<std::string>& sources) {
    if (sources.empty()) return commands.refuse("at least one FILE, FOLDER or IMAGE", "image load");
    return koord::koordctl::runImageLoad(options, sources);
  };
  add("image list", "List the images that were loaded").run = [&](const auto&) {
    return koord::koordctl::runImageList(options);
  };
}

std::string programPath(const char* fallback) {
  std::error_code ec;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ec);
  return ec ? fallback : program.string();
}

}  // namespace

int main(int argc, char** argv) {
  // Internal: the process that supervises a container of the host node.
  if (argc > 1 && std::strcmp(argv[1], "shim") == 0)
    return koord::cluster::runShim(argc - 2, argv + 2);
  koord::raiseFileLimit();

  const std::string program = programPath(argv[0]);
  koord::flags::Commands commands("koordctl", "koordctl: Koordinator at the command line");
  UpFlags upFlags;
  addUp(commands, upFlags, program);
  koord::cluster::InviteOptions inviteOptions;
  addInvite(commands, inviteOptions);
  koord::cluster::JoinOptions joinOptions;
  addJoin(commands, joinOptions, program);
  std::string kubeconfig;
  auto& status = commands.add("status", "Show nodes, batch resources and pods of a cluster once");
  status.flags.text("kubeconfig", kubeconfig,
                    "kubeconfig; default: $KUBECONFIG, the one of 'koordctl up', ~/.kube/config");
  status.run = [&](const auto&) { return koord::koordctl::runStatus(kubeconfig); };
  addExaminations(commands, kubeconfig);
  koord::koordctl::ExplainOptions explainOptions;
  addExplainPod(commands, explainOptions);
  addExplainOthers(commands, explainOptions);
  koord::koordctl::DescheduleOptions descheduleOptions;
  addDeschedule(commands, descheduleOptions);
  koord::koordctl::ImageOptions imageOptions;
  addImage(commands, imageOptions);
  koord::koordctl::TestFlags testFlags;
  koord::koordctl::addTestCommand(commands, testFlags, program);
  auto& doctor =
      commands.add("doctor node", "Check which features of koordlet work on this machine");
  doctor.flags.text("kubeconfig", kubeconfig,
                    "kubeconfig whose permissions are checked; default: $KUBECONFIG, the pod's "
                    "own, ~/.kube/config");
  doctor.arguments = "[-- FLAGS OF KOORDLET]";
  doctor.details =
      "Runs 'koordlet doctor'; the exit status is 1 if an enabled feature cannot work.";
  doctor.run = [&](const auto& further) { return runDoctor(program, kubeconfig, further); };
  commands.add("version", "Print the version").run = [](const auto&) {
    std::puts("koordctl " KOORD_VERSION);
    return 0;
  };
  return commands.run({argv + 1, argv + argc});
}
