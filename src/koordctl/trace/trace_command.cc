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
                               .seed = static_cast<std::uint64_t>(flags.seed),
                               .loadPercent = flags.loadPercent});
    if (!report) return fail(std::move(report.error()).within("--config " + name));
    reports.push_back(*std::move(report));
  }
  return reports;
}

}  // namespace

int runTrace(const TraceFlags& flags, std::string& out, std::string& errors) {
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

int printTrace(const TraceFlags& flags) {
  log::setup({.program = "koordctl", .file = "/dev/null"});
  std::string out, errors;
  const int status = runTrace(flags, out, errors);
  std::fputs(out.c_str(), stdout);
  std::fflush(stdout);
  std::fputs(errors.c_str(), stderr);
  return status;
}

void addTraceFlags(flags::FlagSet& set, TraceFlags& flags) {
  set.text("trace", flags.trace,
           "Folder of a trace, which is replayed on the scheduler without a cluster");
  set.text("trace-nodes", flags.nodes, "File of the nodes in the folder of the trace");
  set.text("trace-tasks", flags.tasks, "File of the tasks in the folder of the trace");
  set.text("trace-page", flags.page, "Write a page with plots of the replay to this file");
  set.integer("trace-samples", flags.samples, "How many times a replay measures the cluster")
      .within(2, 100'000);
  set.integer("trace-scale", flags.scale,
              "Seconds of the trace for each second of the scheduler; 0 makes the trace last at "
              "most 100000 s")
      .within(0, 1'000'000'000);
  set.integer("trace-load-percent", flags.loadPercent,
              "How fast tasks arrive: 200 is twice as fast as in the trace. They run as long")
      .within(1, 100'000);
  set.integer("trace-seed", flags.seed, "Decides between equally good nodes in a replay");
}

}  // namespace koord::koordctl
