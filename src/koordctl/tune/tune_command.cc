#include "koordctl/tune/tune_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "base/utf8.h"
#include "base/version/version.h"
#include "base/yaml.h"
#include "koordctl/colocation/world.h"
#include "koordctl/common/cluster_flags.h"
#include "koordctl/simulate/ask.h"
#include "koordctl/snapshot/take.h"
#include "koordctl/tune/tune_report.h"
#include "model/well_known.h"

namespace koord::koordctl {

namespace {

using colocation::Arm;

constexpr const char* kDetails =
    "Takes the nodes, pods, usage and settings of a cluster, runs the co-location study on them\n"
    "with other thresholds, and proposes those with which batch pods do the most work while\n"
    "services slow down by at most --max-slowdown. Nothing is written to the cluster; --patch\n"
    "writes the proposal to a file, for 'kubectl patch' of the ConfigMap slo-controller-config:\n\n"
    "  koordctl tune record usage.csv --time 24h\n"
    "  koordctl tune --usage usage.csv --patch patch.yaml\n\n"
    "The slowdown is that of a model with assumed parameters (--set). Watch your services when "
    "you\n"
    "apply a proposal, and go there in steps.\n\n"
    "Exit status: 0 a change is proposed, 1 none is, 2 it failed.";

// The objects of the cluster in a file that lives as long as this.
class LiveSnapshot {
 public:
  LiveSnapshot() = default;
  LiveSnapshot(const LiveSnapshot&) = delete;
  LiveSnapshot& operator=(const LiveSnapshot&) = delete;
  ~LiveSnapshot() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  // Returns the file.
  Result<std::string> take(const std::string& kubeconfig) {
    std::error_code error;
    const auto base = std::filesystem::temp_directory_path(error);
    std::string folder = (error ? std::string("/tmp") : base.string()) + "/koordctl-tune-XXXXXX";
    if (!::mkdtemp(folder.data())) return fail(ErrorCode::Internal, folder + ": cannot be created");
    folder_ = folder;
    const auto now =
        std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now());
    auto taken = takeSupport(kubeconfig, folder_ + "/cluster.snap",
                             {.scope = cluster::SnapshotHeader::Scope::Support,
                              .secrets = false,
                              .createdAt = formatTime(now),
                              .program = fmt::format("koordctl {}", programVersion())});
    if (!taken) return fail(std::move(taken.error()));
    return folder_ + "/cluster.snap";
  }

 private:
  std::string folder_;
};

Arm armOf(const StudiedCluster& state) {
  Arm arm{.name = "now", .jobs = colocation::JobKind::Batch};
  arm.colocation = state.colocation;
  arm.colocation.enable = true;
  arm.node = state.node;
  arm.scheduler = scheduler::Shipped::Recommended;
  arm.configuration = state.scheduler;
  if (!arm.configuration)
    arm.configuration = scheduler::parseConfiguration(
                            scheduler::shippedConfiguration({"koord-scheduler"}, arm.scheduler))
                            .value();
  return arm;
}

Effect effectOf(const colocation::Outcome& outcome, double coreHours, double days) {
  const double work = outcome.usefulCoreHours + outcome.wastedCoreHours;
  return {.batchPercent = 100 * outcome.usefulCoreHours / coreHours,
          .cpuPercent = 100 * outcome.cpuMean,
          .slowdownP99 = outcome.slowdownP99,
          .wastedPercent = work > 0 ? 100 * outcome.wastedCoreHours / work : 0,
          .killedPerDay = (outcome.evictions + outcome.preemptions) / days};
}

// Says what it did on standard error. An old file is never left to be applied in place of a
// proposal that has no patch.
Result<> writePatch(const TuneFlags& flags, const TuneResult& result, const StudiedCluster& state) {
  if (flags.patch.empty()) return {};
  json::object patch = configPatch(result, state.config, state.colocates);
  if (patch.empty()) {
    std::error_code ignored;
    const bool old = std::filesystem::exists(flags.patch, ignored);
    std::fprintf(stderr,
                 "koordctl: no section of slo-controller-config changes: %s is not written%s\n",
                 flags.patch.c_str(), old ? "; the file there is of an earlier time" : "");
    return {};
  }
  if (state.config.empty()) {  // there is nothing to patch
    patch["apiVersion"] = "v1";
    patch["kind"] = "ConfigMap";
    patch["metadata"] = json::object{{"name", "slo-controller-config"},
                                     {"namespace", std::string(model::kSystemNamespace)}};
    std::fprintf(
        stderr,
        "koordctl: there is no ConfigMap slo-controller-config with data: %s is a whole one, "
        "for 'kubectl apply -f'\n",
        flags.patch.c_str());
  }
  return writeFileAtomic(flags.patch, toYaml(patch), 0644);
}

// The cluster's state; the snapshot of a live cluster is removed when it is read.
Result<StudiedCluster> stateOf(const TuneFlags& flags) {
  if (!flags.snapshot.empty()) return readStudiedCluster(flags.snapshot);
  LiveSnapshot live;
  const auto file = live.take(flags.kubeconfig);
  if (!file) return fail(file.error());
  return readStudiedCluster(*file);
}

void showStep(const TuneStep& step) {
  std::fprintf(stderr, "%s %-60s  batch work %.1f %% of CPUs, p99 slowdown %.2f\n",
               step.taken ? "+" : "-", step.change.empty() ? "now" : step.change.c_str(),
               meanOf(step.effects, &Effect::batchPercent),
               meanOf(step.effects, &Effect::slowdownP99));
}

Result<int> runTune(const TuneFlags& flags) {
  colocation::Parameters parameters;
  for (const std::string& assignment : flags.set)
    if (const auto set = setParameter(parameters, assignment); !set)
      return fail(Error(set.error()).within("--set"));
  const auto state = stateOf(flags);
  if (!state) return fail(Error(state.error()));
  const auto made = makeSite(*state,
                             {.nodes = static_cast<std::size_t>(flags.nodes),
                              .seed = static_cast<std::uint64_t>(flags.seed),
                              .usage = flags.usage},
                             parameters);
  if (!made) return fail(Error(made.error()));
  const TunedSite& site = **made;
  const double days = static_cast<double>(flags.days);
  const double coreHours = site.site.cores() * days * 24;
  const RunArm run = [&](const Arm& arm, std::uint64_t first, int seeds) -> Result<Effects> {
    Effects effects;
    for (int n = 0; n < seeds; ++n) {
      auto outcome =
          runWorld(site.site, site.parameters, arm, days, first + static_cast<std::uint64_t>(n));
      if (!outcome) return fail(std::move(outcome.error()));
      effects.push_back(effectOf(*outcome, coreHours, days));
    }
    return effects;
  };
  const Arm base = armOf(*state);
  std::fprintf(stderr, "%zu nodes with %zu pods; %d days, %d seeds a setting\n",
               site.site.nodes.size(), site.recording.pods.size(), static_cast<int>(flags.days),
               static_cast<int>(flags.seeds));
  const TuneOptions options{
      .limits = {.slowdownPercent = flags.maxSlowdown, .wastedPercent = flags.maxWasted},
      .seeds = static_cast<int>(flags.seeds),
      .firstSeed = static_cast<std::uint64_t>(flags.seed),
      .maxRuns = static_cast<int>(flags.maxRuns)};
  auto result = tune(base, options, run, showStep);
  if (!result) return fail(std::move(result.error()));
  TuneSubject subject{.site = &site, .days = days, .colocates = state->colocates, .services = {}};
  Arm services = base;
  services.jobs = colocation::JobKind::None;
  auto alone = run(services, confirmingSeed(options), confirmingSeeds(options));
  if (!alone) return fail(std::move(alone.error()));
  subject.services = *std::move(alone);
  const std::string text = formatted(tuneDocument(*result, subject), flags.output,
                                     [&] { return tuneText(*result, subject); });
  std::fputs(printable(text).c_str(), stdout);
  std::fflush(stdout);
  // After the report, which took minutes: writing may fail.
  if (auto written = writePatch(flags, *result, *state); !written)
    return fail(std::move(written.error()));
  return result->changed ? 0 : 1;
}

}  // namespace

void addTuneCommands(flags::Commands& commands, TuneFlags& flags) {
  auto& command = commands.add("tune", "Propose thresholds for co-location on this cluster");
  command.details = kDetails;
  auto& set = command.flags;
  set.text("snapshot", flags.snapshot, "File of 'koordctl snapshot', in place of the cluster");
  set.text("usage", flags.usage, "File of 'koordctl tune record': what pods used over time");
  set.text("patch", flags.patch, "File to write the proposal to, for 'kubectl patch'");
  set.real("max-slowdown", flags.maxSlowdown,
           "How much the p99 slowdown of services may rise, in percent")
      .within(0, 1000);
  set.real("max-wasted", flags.maxWasted,
           "How much batch work may be lost in killed pods, in percent")
      .within(0, 100);
  set.integer("nodes", flags.nodes, "Nodes of the study, a random sample of the cluster's")
      .within(1, 5000);
  set.integer("days", flags.days, "Virtual days of each run").within(1, 365);
  set.integer("seeds", flags.seeds, "Runs of each setting").within(1, 100);
  set.integer("seed", flags.seed, "Seed of the sample and of the first run")
      .within(0, 1'000'000'000);
  set.integer("max-settings", flags.maxRuns, "Settings that the search may try").within(1, 10'000);
  set.list("set", flags.set,
           "NAME=VALUE of a parameter of the model; the report of the co-location study lists all");
  addOutputFlag(set, flags.output);
  addKubeconfigFlag(set, flags.kubeconfig);
  command.run = [&](const std::vector<std::string>& names) {
    if (!names.empty()) return commands.refuse("no arguments", "tune");
    log::setup({.program = "koordctl", .file = "/dev/null"});
    const auto status = runTune(flags);
    if (status) return *status;
    printFailure(status.error());
    return 2;
  };

  auto& record =
      commands.add("tune record", "Record what pods use over time, for 'koordctl tune --usage'");
  record.arguments = "FILE";
  record.details =
      "Appends a line for each pod and NodeMetric to the file. A file that exists is continued. A\n"
      "day shows the peak of the day, a week the weekend. Ctrl-C ends it.";
  record.flags.duration("time", flags.record.time, "How long; 0 = until Ctrl-C");
  addKubeconfigFlag(record.flags, flags.record.kubeconfig);
  record.run = [&](const std::vector<std::string>& files) {
    if (files.size() != 1) return commands.refuse("one FILE", "tune record");
    return recordUsage(flags.record, files.front());
  };
}

}  // namespace koord::koordctl
