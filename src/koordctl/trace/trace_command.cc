#include "koordctl/trace/trace_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/file.h"
#include "base/log.h"
#include "koordctl/trace/trace_report.h"

namespace koord::koordctl {

namespace {

struct NamedConfiguration {
  std::string name;
  std::string text;
};

// Without --config: what FragmentationAware changes.
std::vector<NamedConfiguration> comparedByDefault() {
  constexpr const char* kProfile = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: koord-scheduler
  plugins:
    multiPoint: {{enabled: [{{name: DeviceShare}}{}]}}
)";
  return {{"DeviceShare", fmt::format(kProfile, "")},
          {"DeviceShare and FragmentationAware",
           fmt::format(kProfile, ", {name: FragmentationAware, weight: 100}")}};
}

Result<std::vector<NamedConfiguration>> configurationsOf(const TraceFlags& flags) {
  if (flags.configs.empty()) return comparedByDefault();
  std::vector<NamedConfiguration> all;
  for (const std::string& config : flags.configs) {
    const auto equals = config.find('=');
    const std::string file = equals == config.npos ? config : config.substr(equals + 1);
    auto text = readFile(file);
    if (!text) return fail(std::move(text.error()).within("--config"));
    all.push_back({config.substr(0, equals), *std::move(text)});
  }
  return all;
}

Result<std::vector<ReplayReport>> replayAll(const TraceFlags& flags) {
  const auto nodes = readTraceNodes(flags.trace + "/" + flags.nodes);
  if (!nodes) return fail(nodes.error());
  const auto tasks = readTraceTasks(flags.trace + "/" + flags.tasks);
  if (!tasks) return fail(tasks.error());
  const auto configurations = configurationsOf(flags);
  if (!configurations) return fail(configurations.error());
  std::vector<ReplayReport> reports;
  for (const auto& [name, text] : *configurations) {
    const auto configuration = scheduler::parseConfiguration(text);
    if (!configuration) return fail(Error(configuration.error()).within("--config " + name));
    auto report = replayTrace(name, *configuration, *nodes, *tasks,
                              {.samples = static_cast<std::size_t>(flags.samples),
                               .scale = flags.scale,
                               .seed = static_cast<std::uint64_t>(flags.seed)});
    if (!report) return fail(std::move(report.error()).within("--config " + name));
    reports.push_back(*std::move(report));
  }
  return reports;
}

}  // namespace

int runTrace(const TraceFlags& flags, std::string& out, std::string& errors) {
  if (flags.samples < 2 || flags.samples > 100'000 || flags.scale < 0) {
    errors += "--samples must be 2 to 100000, and --scale must not be negative\n";
    return 2;
  }
  const auto reports = replayAll(flags);
  if (!reports) {
    errors += reports.error().message + "\n";
    return 1;
  }
  if (!flags.page.empty()) {
    if (const auto written = writeFileAtomic(flags.page, traceReportPage(*reports), 0644);
        !written) {
      errors += written.error().message + "\n";
      return 1;
    }
  }
  out += traceReportJson(*reports) + "\n";
  return 0;
}

void addTraceFlags(flags::FlagSet& set, TraceFlags& flags) {
  set.text("trace", flags.trace, "Folder of the trace");
  set.text("nodes", flags.nodes, "The file of nodes in the folder");
  set.text("tasks", flags.tasks, "The file of tasks in the folder");
  set.list(
      "config", flags.configs,
      "KubeSchedulerConfigurations to compare, each as FILE or NAME=FILE; by default DeviceShare "
      "with and without FragmentationAware");
  set.text("page", flags.page, "Write a page with plots to this file");
  set.integer("samples", flags.samples, "How many times the cluster is measured");
  set.integer(
      "scale", flags.scale,
      "Seconds of the trace for each second of the scheduler; 0 makes the trace last at most "
      "100000 s");
  set.integer("seed", flags.seed, "Decides between equally good nodes");
}

void addSimulateCommand(flags::Commands& commands, TraceFlags& flags) {
  auto& command = commands.add("simulate", "Replay a trace of tasks on the scheduler");
  command.details =
      "Prints a report as JSON. Needs no cluster. The formats of the files are in\n"
      "docs/features/packing.md.";
  addTraceFlags(command.flags, flags);
  command.run = [&](const std::vector<std::string>& arguments) {
    if (!arguments.empty() || flags.trace.empty())
      return commands.refuse("--trace FOLDER, and no arguments", "simulate");
    log::setup({.program = "koordctl", .file = "/dev/null"});
    std::string out, errors;
    const int status = runTrace(flags, out, errors);
    std::fputs(out.c_str(), stdout);
    std::fflush(stdout);
    std::fputs(errors.c_str(), stderr);
    return status;
  };
}

}  // namespace koord::koordctl
