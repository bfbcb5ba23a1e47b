// koord-device-daemon: flags, signals and wiring. Single-threaded, because it forks.

#include <fmt/core.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/flags/flag_set.h"
#include "base/flags/log_flags.h"
#include "base/log.h"
#include "base/version/version.h"
#include "devicedaemon/daemon.h"

namespace koord::devicedaemon {
namespace {

struct Flags {
  Settings settings;
  std::string configFile;
  std::string hostRoot = "/hostfs";
  Duration toolLimit = std::chrono::seconds(10);
  int verbosity = 1;
  std::string logFormat = "text";
  log::Output logOutput;
  bool noTimestamp = false, version = false;
};

void addFlags(flags::FlagSet& set, Flags& flags) {
  set.group("Devices");
  set.boolean("oneshot", flags.settings.oneshot, "write the file once and exit");
  set.duration("sleep-interval", flags.settings.interval, "interval between searches for devices");
  set.text("prints-output-file", flags.settings.output,
           "file to write, which koordlet reads; \"\" = standard output");
  set.boolean("no-timestamp", flags.noTimestamp, "the file has no timestamps").withNoEffect();
  set.text(
      "config-file", flags.configFile,
      "YAML or JSON file with these settings; flags and the environment "
      "(KDD_ONESHOT, KDD_SLEEP_INTERVAL, KDD_PRINTS_OUTPUT_FILE, KDD_CONFIG_FILE) override it");
  set.group("Host");
  set.text("host-root-dir", flags.hostRoot,
           "mount point of the host's root, with the tools and libraries of vendors; if the folder "
           "does not exist, the process's own root");
  set.duration("tool-timeout", flags.toolLimit, "timeout of a call of a vendor's tool or library");
  set.group("Other");
  set.boolean("version", flags.version, "Print the version and exit");
  set.group("Log");
  flags::addLogFlags(set, flags.verbosity, flags.logFormat, flags.logOutput, true);
}

int refuse(const std::string& why) {
  fmt::print(stderr, "koord-device-daemon: {}\nSee koord-device-daemon --help.\n", why);
  return 2;
}

std::optional<int> parseFlags(const std::vector<std::string>& arguments, flags::FlagSet& set,
                              Flags& flags) {
  addFlags(set, flags);
  if (auto parsed = set.parse(arguments); !parsed) return refuse(parsed.error().message);
  if (set.helpWanted()) {
    fmt::print(
        "Finds the accelerators of this host that are not NVIDIA's and writes them to a file.\n"
        "koordlet reads the file and reports them to the scheduler.\n\n"
        "Usage:\n  koord-device-daemon [flags]\n\n{}",
        flags::describe(set));
    return 0;
  }
  if (flags.version) {
    fmt::print("koord-device-daemon v{}\n", programVersion());
    return 0;
  }
  if (!set.arguments().empty())
    return refuse(fmt::format("unexpected argument \"{}\"", set.arguments().front()));
  const auto logging =
      log::setup({.program = "koord-device-daemon",
                  .format = flags.logFormat == "json" ? log::Format::Json : log::Format::Text,
                  .verbosity = flags.verbosity},
                 flags.logOutput);
  if (!logging) return refuse(logging.error().message);
  return std::nullopt;
}

// Flags override the environment, which overrides the file. The file is read each time.
Result<Settings> settingsNow(const flags::FlagSet& set, const Flags& flags) {
  const auto environment = [](const char* name) -> const char* { return std::getenv(name); };
  Settings settings;
  const std::string file = set.given("config-file") ? flags.configFile : fileNamedBy(environment);
  if (!file.empty()) {
    const auto text = readFile(file);
    if (!text) return fail(text.error());
    if (auto taken = applyFile(*text, settings); !taken)
      return fail(std::move(taken.error()).within(file));
  }
  if (auto taken = applyEnvironment(environment, settings); !taken)
    return fail(std::move(taken.error()));
  if (set.given("oneshot")) settings.oneshot = flags.settings.oneshot;
  if (set.given("sleep-interval")) settings.interval = flags.settings.interval;
  if (set.given("prints-output-file")) settings.output = flags.settings.output;
  if (auto checked = checkSettings(settings); !checked) return fail(std::move(checked.error()));
  return settings;
}

// Waits for one of the signals: returns its number, or 0 after `limit`.
int waitForSignal(const sigset_t& signals, Duration limit) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(limit);
  const timespec time{seconds.count(), (limit - seconds).count()};
  for (;;) {
    const int number = ::sigtimedwait(&signals, nullptr, &time);
    if (number > 0) return number;
    if (errno != EINTR) return 0;
  }
}

int run(const flags::FlagSet& set, const Flags& flags) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGQUIT}) ::sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const auto settings = settingsNow(set, flags);
  if (!settings) return refuse(settings.error().message);
  // The signals stay pending: waitForSignal takes them after the round.
  sigset_t ends = signals;
  ::sigdelset(&ends, SIGHUP);
  const int stop = ::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  HostRunner runner(std::filesystem::is_directory(flags.hostRoot) ? flags.hostRoot : "",
                    flags.toolLimit, stop);
  Machine machine;
  machine.runner = &runner;
  Daemon daemon(machine, *settings);
  log::info("writing {} every {} s",
            settings->output.empty() ? "to standard output" : settings->output,
            std::chrono::duration_cast<std::chrono::seconds>(settings->interval).count());
  for (;;) {
    const auto outcome = daemon.round(std::chrono::steady_clock::now());
    if (settings->oneshot) return outcome.whole ? 0 : 1;
    const int number = waitForSignal(signals, outcome.pause);
    if (number == 0) continue;
    if (number != SIGHUP) {
      log::info("stopping on signal {}", number);
      daemon.end();
      return 0;
    }
    log::info("reading the settings again at SIGHUP");
    if (const auto changed = settingsNow(set, flags)) {
      daemon.change(*changed);
    } else {
      log::error("{}; the previous settings stay in force", changed.error().message);
    }
  }
}

}  // namespace
}  // namespace koord::devicedaemon

int main(int argc, char** argv) {
  koord::devicedaemon::Flags flags;
  koord::flags::FlagSet set(koord::flags::Dialect::Go);
  if (const auto status = koord::devicedaemon::parseFlags({argv + 1, argv + argc}, set, flags))
    return *status;
  return koord::devicedaemon::run(set, flags);
}
