#include "scheduler/plugins/loadawarescheduling/load_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "kube/client.h"
#include "kube/events.h"
#include "scheduler/framework/shared_states.h"
#include "scheduler/framework/stores.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"

namespace koord::scheduler {

namespace {

using namespace std::chrono_literals;

// The largest expected difference between clocks of nodes and ours.
constexpr Duration kClockSkew = 10s;

struct LoadTables {
  std::vector<std::unique_ptr<LoadTable>> all;
};

LoadTables& tablesOf(Handle& handle) {
  return handle.shared().of<LoadTables>([] { return std::make_unique<LoadTables>(); });
}

std::string textOf(const LoadResources& resources, const LoadAmounts& amounts) {
  return amounts.empty() ? "nothing" : toJson(resources.toJson(amounts));
}

}  // namespace

LoadTable& LoadTable::of(Handle& handle, const LoadAwareSchedulingArgs& args) {
  Settings settings{LoadResources(args), Estimator::settingsOf(args), args.prodUsageIncludeSys};
  auto& tables = tablesOf(handle).all;
  for (const auto& table : tables) {
    const Settings& known = table->settings_;
    if (known.resources.names() == settings.resources.names() &&
        known.estimates == settings.estimates &&
        known.prodIncludesSystem == settings.prodIncludesSystem) {
      return *table;
    }
  }
  tables.push_back(std::make_unique<LoadTable>(handle, std::move(settings)));
  return *tables.back();
}

const std::vector<std::unique_ptr<LoadTable>>& LoadTable::all(Handle& handle) {
  return tablesOf(handle).all;
}

LoadTable::LoadTable(Handle& handle, Settings settings)
    : handle_(handle),
      cluster_(handle.cluster()),
      executor_(handle.executor()),
      reports_(handle.stores().of<LoadReport>()),
      settings_(std::move(settings)),
      estimator_(settings_.resources, settings_.estimates) {
  for (const std::string& name : settings_.resources.names())
    ids_.push_back(cluster_.resources().intern(name));
  cluster_.watchNodeAnnotation(std::string(kAnnotationUsageThresholds));
  cluster_.watchNodeAnnotation(std::string(kAnnotationRawAllocatable));
  cluster_.addLedger(*this);
  cluster_.addListener(*this);
  reports_.listen([this](const auto& before, const auto& after) {
    const auto node = cluster_.findNode((after ? after : before)->metadata.name);
    if (node && cluster_.node(*node).object) report(*node);
  });
  cluster_.live().forEach([this](NodeId node) { nodeChanged(node); });
}

LoadTable::Row& LoadTable::row(NodeId node) {
  if (node >= rows_.size()) rows_.resize(std::max<std::size_t>(cluster_.capacity(), node + 1));
  return rows_[node];
}

const NodeLoad* LoadTable::at(NodeId node) const {
  return node < rows_.size() && rows_[node].load.reported() ? &rows_[node].load : nullptr;
}

const NodeSettings* LoadTable::settingsOf(NodeId node) const {
  return node < rows_.size() ? rows_[node].settings.get() : nullptr;
}

std::int64_t LoadTable::capacity(NodeId node, const NodeSettings* settings,
                                 std::size_t resource) const {
  if (settings && settings->rawAllocatable && (*settings->rawAllocatable)[resource] >= 0)
    return (*settings->rawAllocatable)[resource];
  return std::clamp<std::int64_t>(Cluster::columnAt(cluster_.allocatable(ids_[resource]), node), 0,
                                  kMaxLoad);
}

// --- Reports.

void LoadTable::nodeChanged(NodeId node) {
  Row& here = row(node);
  const NodeRow& known = cluster_.node(node);
  withSettings_ -= here.settings ? 1 : 0;
  if (!known.object) {
    const NodeLoad before = std::exchange(here, Row()).load;
    reportedProblems_.erase({node, Source::Node});
    reportedProblems_.erase({node, Source::Report});
    return changed(node, before);
  }
  std::string problems;
  NodeSettings settings =
      readSettings(settings_.resources, known.object->metadata.annotations,
                   [&](const std::string& problem) { problems += problem + "; "; });
  if (!problems.empty()) problems += "it is ignored";
  reportProblem(node, Source::Node, api::Node::kType, known.object->metadata, std::move(problems));
  here.settings = settings.empty() ? nullptr : std::make_unique<NodeSettings>(std::move(settings));
  withSettings_ += here.settings ? 1 : 0;
  if (here.name != known.name) report(node);
  notifyLoad(node, true);
}

void LoadTable::report(NodeId node) {
  Row& here = row(node);
  const NodeLoad before = std::exchange(here.load, NodeLoad());
  here.name = cluster_.node(node).name;
  if (const auto metric = reports_.get({"", here.name})) {
    const WallTime now = executor_.wallNow();
    notifyReport(node, *metric, now);
    here.load.setReport(settings_.resources, metric, now, settings_.prodIncludesSystem);
    forEachPod(node,
               [&](const PodInfo& pod, const AssignedLoad& load) { here.load.addPod(pod, load); });
  }
  changed(node, before);
}

void LoadTable::notifyReport(NodeId node, const LoadReport& report, WallTime now) {
  std::string text = report.problems.empty() ? "" : report.problems + "; they count as 0";
  if (report.updateTime && *report.updateTime > now + kClockSkew) {
    text += fmt::format("{}status.updateTime: is in the future; the time of its receipt counts",
                        text.empty() ? "" : "; ");
  }
  reportProblem(node, Source::Report, LoadReport::kType, report.metadata, std::move(text));
}

void LoadTable::reportProblem(NodeId node, Source source, const api::ResourceType& type,
                              const api::ObjectMeta& about, std::string text) {
  if (text.empty()) {
    reportedProblems_.erase({node, source});
    return;
  }
  std::string& reported = reportedProblems_[{node, source}];
  if (text == reported) return;
  reported = text;
  log::warn("{} {}: {}", type.kind, about.name, text);
  if (kube::EventRecorder* events = handle_.events())
    events->record(kube::referenceTo(type, about), "Warning",
                   source == Source::Node ? "InvalidAnnotation" : "InvalidNodeMetric",
                   std::move(text), "Scheduling");
}

void LoadTable::changed(NodeId node, const NodeLoad& before) {
  notifyLoad(node);
  if (!before.reported() && !rows_[node].load.reported()) return;
  reported_ -= before.reported() ? 1 : 0;
  reported_ += rows_[node].load.reported() ? 1 : 0;
  if (!rows_[node].load.sameAnswers(before)) cluster_.touch(node);
  for (const auto& fn : listeners_) fn(node);
}

// --- Pods.

void LoadTable::assign(const PodInfo& pod) {
  if (pod.kind) return;
  const Cluster::PodRecord* const record = cluster_.findPod(pod.uid());
  if (!record) return;
  cluster_.regrant(*record, id(), grantFor(estimator_.assigned(pod, executor_.wallNow())));
}

// Pods of one workload are usually scheduled at the same time.
const GrantPtr& LoadTable::grantFor(const AssignedLoad& load) {
  if (!last_ || !(lastLoad_ == load)) {
    lastLoad_ = load;
    last_ = grantOf(load);
  }
  return last_;
}

std::optional<AssignedLoad> LoadTable::readValue(const PodInfo& pod, NodeId,
                                                 const AssignedLoad* held) {
  if (pod.kind) return std::nullopt;
  return estimator_.assigned(pod, held ? held->since : executor_.wallNow());
}

bool LoadTable::unchangedValue(const PodInfo& pod, const AssignedLoad& held) const {
  return estimator_.stays(pod, held);
}

void LoadTable::addValue(NodeId node, const PodInfo& pod, const AssignedLoad& load) {
  if (!at(node)) return;
  rows_[node].load.addPod(pod, load);
  notifyLoad(node);
}

void LoadTable::removeValue(NodeId node, const PodInfo& pod, const AssignedLoad& load) {
  if (!at(node)) return;
  rows_[node].load.removePod(pod, load);
  notifyLoad(node);
}

std::string LoadTable::verifyValues(NodeId node, Held held) const {
  const NodeLoad* kept = at(node);
  if (!kept) return "";
  LoadAmounts delta = settings_.resources.none();
  LoadAmounts estimated = settings_.resources.none();
  for (const auto& [pod, load] : held) {
    const LoadShare share = kept->shareOf(*pod, *load);
    for (std::size_t i = 0; i < delta.size(); ++i) {
      delta[i] += share.of(i).delta;
      estimated[i] += share.of(i).estimated;
    }
  }
  if (delta == kept->delta() && estimated == kept->estimated()) return "";
  return fmt::format("kept {} of {}, counted {} of {}; ",
                     textOf(settings_.resources, kept->delta()),
                     textOf(settings_.resources, kept->estimated()),
                     textOf(settings_.resources, delta), textOf(settings_.resources, estimated));
}

}  // namespace koord::scheduler
