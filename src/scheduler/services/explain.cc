#include "scheduler/services/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "base/time.h"
#include "scheduler/framework/device_backed.h"
#include "scheduler/framework/services.h"

namespace koord::scheduler {

namespace {

constexpr std::size_t kNodesPerReason = 10;
constexpr std::size_t kBestNodes = 10;

json::array textArray(const std::vector<std::string>& texts) {
  json::array array;
  for (const auto& text : texts) array.push_back(json::string(text));
  return array;
}

json::value decisionJson(const Decision& decision) {
  json::array rejections;
  for (const auto& entry : decision.rejections) {
    rejections.push_back(json::object{{"plugin", entry.plugin},
                                      {"code", json::string(nameOf(entry.code))},
                                      {"reasons", textArray(entry.reasons)},
                                      {"nodes", entry.nodes}});
  }
  return json::object{{"time", formatMicroTime(decision.time)},
                      {"attempt", decision.attempt},
                      {"result", decision.result},
                      {"node", decision.node},
                      {"message", decision.message},
                      {"profile", decision.profile},
                      {"evaluatedNodes", decision.evaluatedNodes},
                      {"feasibleNodes", decision.feasibleNodes},
                      {"durationMicroseconds", decision.duration.count() / 1000},
                      {"rejections", std::move(rejections)}};
}

// Calls fn(resource, amount, free) for what the node lacks of the pod's requests: not for resources
// that devices provide there. `devices` may be nullptr.
template <class F>
void forEachMissing(const DeviceBackedResources* devices, const Cluster& cluster,
                    const PodInfo& pod, NodeId node, F&& fn) {
  const auto isBacked = [&](ResourceId id) { return devices && devices->isBacked(id); };
  pod.request.forEach([&](ResourceId id, std::int64_t amount) {
    const std::int64_t all = Cluster::columnAt(cluster.allocatable(id), node);
    const std::int64_t free = all - Cluster::columnAt(cluster.requested(id), node);
    if (amount > 0 && amount > free && (all != 0 || !isBacked(id))) fn(id, amount, free);
  });
}

// The node that lacks the least of what the pod requests, and how much.
json::value nearestMiss(const Profile& profile, const Cluster& cluster, const PodInfo& pod,
                        const NodeSet& rejected) {
  const auto offers = profile.offers<const DeviceBackedResources>();
  const DeviceBackedResources* const devices = offers.empty() ? nullptr : offers.front();
  NodeId best = kNoNode;
  double least = 0;
  rejected.forEach([&](NodeId node) {
    double missing = 0;
    forEachMissing(devices, cluster, pod, node, [&](ResourceId, auto amount, auto free) {
      missing += static_cast<double>(amount - free) / static_cast<double>(amount);
    });
    if (missing > 0 && (best == kNoNode || missing < least)) {
      best = node;
      least = missing;
    }
  });
  if (best == kNoNode) return nullptr;
  json::object missing;
  forEachMissing(devices, cluster, pod, best, [&](ResourceId id, auto amount, auto free) {
    missing.emplace(cluster.resources().name(id), amountText(id, addSaturating(amount, -free)));
  });
  return json::object{{"node", cluster.node(best).name}, {"missing", std::move(missing)}};
}

// The advice of the only plugin that rejects the node; "" if no program can give one.
std::string changeFor(const Profile& profile, const std::string& plugin, const PodInfo& pod,
                      NodeId node) {
  for (const auto& each : profile.plugins)
    if (each->name() == plugin)
      if (const auto* remedy = dynamic_cast<const RemedyPlugin*>(each.get()))
        return remedy->remedyFor(pod, node);
  return {};
}

// Nodes that only one plugin rejects, by plugin and reason: there the least must change.
json::array butForOne(const Profile& profile, const Cluster& cluster, const PodInfo& pod,
                      const NodeSet& nearly, const Verdicts& verdicts) {
  json::array result;
  std::map<VerdictId, std::vector<NodeId>> groups;
  nearly.forEach([&](NodeId node) { groups[verdicts.at(node)].push_back(node); });
  for (const auto& [id, members] : groups) {
    const Rejection& rejection = verdicts.rejection(id);
    const std::string& plugin = profile.filter[rejection.plugin].name;
    json::array names;
    for (std::size_t i = 0; i < std::min(members.size(), kNodesPerReason); ++i)
      names.push_back(json::string(cluster.node(members[i]).name));
    result.push_back(json::object{{"plugin", plugin},
                                  {"reasons", textArray(rejection.reasons)},
                                  {"count", members.size()},
                                  {"nodes", std::move(names)},
                                  {"change", changeFor(profile, plugin, pod, members.front())}});
  }
  return result;
}

json::value scoresJson(const Cluster& cluster, const ScoreTable& table) {
  std::vector<std::size_t> order(table.nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return table.totals[i]; });
  json::array rows;
  for (std::size_t i = 0; i < std::min(order.size(), kBestNodes); ++i) {
    const std::size_t n = order[i];
    json::object plugins;
    for (std::size_t p = 0; p < table.plugins.size(); ++p)
      plugins.emplace(table.plugins[p], table.values[p][n]);
    rows.push_back(json::object{{"node", cluster.node(table.nodes[n]).name},
                                {"score", table.totals[n]},
                                {"plugins", std::move(plugins)}});
  }
  return rows;
}

// Facts of the plugins of the pod's profile.
template <class F>
void forEachKnowing(const Scheduler& scheduler, const PodInfo& pod, F&& fn) {
  const auto profile = scheduler.profiles().find(pod.pod->spec.schedulerName);
  if (profile == scheduler.profiles().end()) return;
  for (const auto& plugin : profile->second->profile().plugins)
    if (const auto* knowing = dynamic_cast<const PodFactsPlugin*>(plugin.get()))
      fn(std::string(plugin->name()), *knowing);
}

void addFacts(const Scheduler& scheduler, const PodInfo& pod, json::object& out) {
  if (json::object facts = pluginFacts(scheduler, pod); !facts.empty())
    out.emplace("plugins", std::move(facts));
}

// The reasons for rejected nodes, one entry per reason, with the names of some nodes.
json::array rejectionsJson(const Cluster& cluster, const Diagnosis& diagnosis,
                           const NodeSet& rejected) {
  const Verdicts& verdicts = *diagnosis.verdicts;
  json::array rejections;
  for (VerdictId id = 1; id < verdicts.size(); ++id) {
    const Rejection& rejection = verdicts.rejection(id);
    if (verdicts.count(id) == 0) continue;
    json::array names;
    rejected.forEach([&](NodeId node) {
      if (verdicts.at(node) == id && names.size() < kNodesPerReason)
        names.push_back(json::string(cluster.node(node).name));
    });
    rejections.push_back(json::object{{"plugin", diagnosis.filterPlugins[rejection.plugin]},
                                      {"code", json::string(nameOf(rejection.code))},
                                      {"reasons", textArray(rejection.reasons)},
                                      {"count", verdicts.count(id)},
                                      {"nodes", std::move(names)}});
  }
  return rejections;
}

// Nodes that a single plugin rejects, and the missing amounts if it rejects them for resources.
void addNearMisses(const Cluster& cluster, NodeSearch& search, CycleState& state, const PodPtr& pod,
                   const Diagnosis& diagnosis, const NodeSet& rejected, json::object& out) {
  const Verdicts& verdicts = *diagnosis.verdicts;
  const auto rejectingPlugins = search.rejectingPlugins(state, pod, rejected);
  if (!rejectingPlugins) return;
  NodeSet nearly, tooFull;  // rejected by one plugin; of these, for resources
  std::size_t n = 0;
  rejected.forEach([&](NodeId node) {
    if (std::popcount((*rejectingPlugins)[n++]) != 1) return;
    nearly.insert(node);
    const auto& plugin = diagnosis.filterPlugins[verdicts.rejection(verdicts.at(node)).plugin];
    if (plugin == "NodeResourcesFit") tooFull.insert(node);
  });
  out.emplace("nearestMiss", nearestMiss(search.profile(), cluster, *pod, tooFull));
  out.emplace("butForOne", butForOne(search.profile(), cluster, *pod, nearly, verdicts));
}

// The plugins' current answers.
void addVerdicts(Scheduler& scheduler, const PodPtr& pod, json::object& out) {
  const auto profile = scheduler.profiles().find(pod->pod->spec.schedulerName);
  if (profile == scheduler.profiles().end()) {
    out.emplace("message", "this scheduler has no profile " + pod->pod->spec.schedulerName.str());
    return;
  }
  const Cluster& cluster = scheduler.cluster();
  NodeSearch& search = profile->second->search();
  CycleState state;
  SearchResult prepared = search.prepare(state, pod);
  out.emplace("totalNodes", cluster.liveCount());
  if (!prepared.status.ok()) {
    out.emplace("feasibleNodes", 0);
    out.emplace("message", prepared.diagnosis.message());
    out.emplace("rejections",
                json::array{json::object{{"plugin", prepared.status.plugin()},
                                         {"code", json::string(nameOf(prepared.status.code))},
                                         {"reasons", textArray(prepared.status.reasons())},
                                         {"count", cluster.liveCount()}}});
    return;
  }
  NodeSet feasible = cluster.live();
  Verdicts verdicts;
  verdicts.clear(cluster.capacity());
  if (const Status status = search.filterNodes(state, pod, feasible, verdicts); !status.ok()) {
    out.emplace("message", status.message());
    return;
  }
  Diagnosis diagnosis;
  diagnosis.totalNodes = cluster.liveCount();
  diagnosis.verdicts = &verdicts;
  diagnosis.filterPlugins = search.filterNames();
  NodeSet rejected = cluster.live();
  rejected.subtract(feasible);
  out.emplace("feasibleNodes", feasible.size());
  out.emplace("rejections", rejectionsJson(cluster, diagnosis, rejected));
  if (feasible.empty()) {
    out.emplace("message", diagnosis.message());
    addNearMisses(cluster, search, state, pod, diagnosis, rejected, out);
    return;
  }
  std::vector<NodeId> nodes;
  feasible.copyTo(nodes);
  if (const auto table = search.scoreNodes(state, pod, nodes))
    out.emplace("bestNodes", scoresJson(cluster, *table));
}

}  // namespace

json::object pluginFacts(const Scheduler& scheduler, const PodInfo& pod) {
  json::object facts;
  forEachKnowing(scheduler, pod, [&](const std::string& name, const PodFactsPlugin& plugin) {
    if (json::value known = plugin.factsOf(pod); !known.is_null())
      facts.emplace(name, std::move(known));
  });
  return facts;
}

std::string waitReason(const Scheduler& scheduler, const PodInfo& pod) {
  std::string why;
  forEachKnowing(scheduler, pod, [&](const std::string&, const PodFactsPlugin& plugin) {
    if (why.empty()) why = plugin.waitReason(pod);
  });
  return why;
}

Result<json::value> explainPodObject(Scheduler& scheduler, std::shared_ptr<const api::Pod> pod) {
  json::object out{{"pod", api::keyOf(pod->metadata).toString()}, {"state", "unknown"}};
  const PodPtr described = scheduler.describe(pod);
  addVerdicts(scheduler, described, out);
  addFacts(scheduler, *described, out);
  return json::value(std::move(out));
}

Result<json::value> explainPod(Scheduler& scheduler, const api::ObjectKey& key) {
  json::object out{{"pod", key.toString()}};
  const auto* decisions = scheduler.decisions().of(key.toString());
  const PodPtr pending = scheduler.pending(key);
  PodPtr bound;
  if (!pending) {
    for (const auto& record : scheduler.cluster().pods()) {
      if (api::keyOf(record.info->pod->metadata) != key) continue;
      bound = record.info;
      out.emplace("node", scheduler.cluster().node(record.node).name);
      out.emplace("state", record.assumed ? "binding" : "bound");
    }
  }
  if (!pending && !bound && !decisions)
    return fail(ErrorCode::NotFound, "cannot find pod " + key.toString());
  if (pending) {
    out.emplace("state", json::string(nameOf(scheduler.queue().placeOf(pending->uid()))));
    if (const QueuedPod* queued = scheduler.queue().find(pending->uid())) {
      out.emplace("attempts", queued->attempts);
      json::array plugins;
      for (const auto& plugin : queued->unschedulablePlugins)
        plugins.push_back(json::string(plugin));
      for (const auto& plugin : queued->pendingPlugins) plugins.push_back(json::string(plugin));
      out.emplace("waitsFor", std::move(plugins));
      if (!queued->gatingPlugin.empty()) out.emplace("gatedBy", queued->gatingPlugin);
      if (queued->backoffExpiration)
        out.emplace("backoffUntil", formatMicroTime(*queued->backoffExpiration));
    }
    addVerdicts(scheduler, pending, out);
  }
  if (pending || bound) addFacts(scheduler, pending ? *pending : *bound, out);
  json::array log;
  if (decisions)
    for (const Decision& decision : *decisions) log.push_back(decisionJson(decision));
  out.emplace("decisions", std::move(log));
  return json::value(std::move(out));
}

}  // namespace koord::scheduler
