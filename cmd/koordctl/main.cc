// koordctl: Koordinator's command-line tool for users, including a cluster on this host.

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file_limit.h"
#include "base/flags/command.h"
#include "base/version/version.h"
#include "cluster/hostnode/shim.h"
#include "koordctl/capacity/capacity_command.h"
#include "koordctl/clusters/clusters_command.h"
#include "koordctl/completion/completion_command.h"
#include "koordctl/console/console_command.h"
#include "koordctl/deschedule/deschedule_command.h"
#include "koordctl/doctor/doctor_command.h"
#include "koordctl/explain/explain_flags.h"
#include "koordctl/image/image_command.h"
#include "koordctl/join/join_command.h"
#include "koordctl/replay/replay_command.h"
#include "koordctl/shadow/shadow_command.h"
#include "koordctl/simulate/simulate_command.h"
#include "koordctl/snapshot/snapshot_command.h"
#include "koordctl/status/status_command.h"
#include "koordctl/test/test_command.h"
#include "koordctl/top/top_command.h"
#include "koordctl/tune/tune_command.h"
#include "koordctl/up/up_command.h"

namespace {

namespace ctl = koord::koordctl;

std::string programPath(const char* fallback) {
  std::error_code ec;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ec);
  return ec ? fallback : program.string();
}

// The values of the flags of all commands.
struct Flags {
  ctl::UpFlags up;
  ctl::ClustersFlags clusters;
  ctl::SnapshotFlags snapshot{.program = fmt::format("koordctl {}", koord::programVersion())};
  ctl::JoinFlags join;
  ctl::ImageOptions image;
  std::string kubeconfig;  // of status and doctor
  ctl::TopFlags top;
  ctl::ConsoleFlags console;
  ctl::ExplainFlags explain;
  ctl::SimulateOptions simulate;
  ctl::CapacityOptions capacity;
  ctl::TuneFlags tune;
  ctl::DescheduleOptions deschedule;
  ctl::ReplayOptions replay;
  ctl::ShadowCommandOptions shadow;
  ctl::TestFlags test;
};

// In the order of --help.
void addCommands(koord::flags::Commands& commands, Flags& flags, const std::string& program) {
  ctl::addUpCommand(commands, flags.up, program);
  ctl::addClustersCommands(commands, flags.clusters);
  ctl::addSnapshotCommands(commands, flags.snapshot);
  ctl::addJoinCommands(commands, flags.join, program);
  ctl::addImageCommands(commands, flags.image);
  ctl::addStatusCommand(commands, flags.kubeconfig);
  ctl::addTopCommand(commands, flags.top);
  ctl::addConsoleCommand(commands, flags.console);
  ctl::addDoctorCommands(commands, flags.kubeconfig, program);
  ctl::addExplainCommands(commands, flags.explain);
  ctl::addSimulateCommand(commands, flags.simulate);
  ctl::addCapacityCommand(commands, flags.capacity);
  ctl::addTuneCommands(commands, flags.tune);
  ctl::addDescheduleCommand(commands, flags.deschedule);
  ctl::addReplayCommand(commands, flags.replay);
  ctl::addShadowCommand(commands, flags.shadow);
  ctl::addTestCommand(commands, flags.test, program);
  ctl::addCompletionCommand(commands);
  commands.add("version", "Print the version").run = [](const auto&) {
    fmt::print("koordctl {}\n", koord::programVersion());
    return 0;
  };
}

}  // namespace

int main(int argc, char** argv) {
  // Internal: the process that supervises a container of the host node.
  if (argc > 1 && std::strcmp(argv[1], "shim") == 0)
    return koord::cluster::runShim(argc - 2, argv + 2);
  koord::raiseFileLimit();

  koord::flags::Commands commands("koordctl", "koordctl: Koordinator at the command line");
  Flags flags;
  addCommands(commands, flags, programPath(argv[0]));
  // Internal: called by the scripts of 'koordctl completion'.
  if (argc > 1 && std::strcmp(argv[1], "__complete") == 0)
    return ctl::runComplete(commands, {argv + 2, argv + argc});
  return commands.run({argv + 1, argv + argc});
}
