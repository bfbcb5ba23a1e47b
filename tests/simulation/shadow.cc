#include "simulation/shadow.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>

#include "base/json.h"
#include "scheduler/framework/services.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/dynamicresources/objects.h"
#include "scheduler/plugins/elasticquota/quotas.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"
#include "scheduler/plugins/nodenumaresource/topology_object.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/reservation/reservation_index.h"
#include "scheduler/services/explain.h"
#include "simulation/feature.h"

namespace koord::simulation {

namespace {

using scheduler::Scheduler;
using scheduler::ServicePlugin;

// Counters of changes, and events that only the process that saw them remembers.
bool isCount(std::string_view key) {
  return key == "runtimeVersion" || key == "generation" || key == "onceResourceSatisfied" ||
         key == "OnceResourceSatisfied";
}
bool hasNoLoad(const json::value& value) {
  const auto* object = value.if_object();
  const auto* list = value.if_array();
  return value.is_null() || (object && object->empty()) || (list && list->empty());
}
// An entry of a NUMA node without use.
bool isEmptyPart(const json::value& value) {
  const auto* object = value.if_object();
  return object && object->size() == 1 && object->contains("node");
}

// The order in which objects arrived and empty entries do not matter.
json::value sorted(json::value value) {
  if (auto* object = value.if_object()) {
    std::map<std::string, json::value> members;
    for (auto& member : *object)
      if (!isCount(member.key())) members[std::string(member.key())] = sorted(member.value());
    json::object ordered;
    for (auto& [key, member] : members)
      if (!hasNoLoad(member)) ordered[key] = std::move(member);
    return ordered;
  }
  if (auto* list = value.if_array()) {
    std::vector<json::value> items;
    for (auto& item : *list)
      if (json::value one = sorted(std::move(item)); !isEmptyPart(one))
        items.push_back(std::move(one));
    std::ranges::sort(items, {}, [](const json::value& item) { return toJson(item); });
    return json::array(items.begin(), items.end());
  }
  return value;
}

// Facts beyond the objects themselves.
json::value nodeFacts(const Scheduler& scheduler, const std::string& name) {
  json::value shown = scheduler::describeNode(scheduler, name).value_or(json::value(nullptr));
  auto* object = shown.if_object();
  if (!object) return shown;
  object->erase("node");
  for (const char* key : {"podsWithAffinity", "podsWithRequiredAntiAffinity"}) object->erase(key);
  json::array pods;
  if (const auto* list = object->if_contains("pods"))
    for (const auto& pod : list->as_array())
      pods.push_back(json::string(textAt(pod, "Pod", "metadata", "uid")));
  (*object)["pods"] = std::move(pods);
  return shown;
}

// Its whole state of nodes and of plugins, as its endpoints show it.
std::map<std::string, json::value> factsOf(const Scheduler& scheduler,
                                           const std::vector<std::string>& nodes) {
  std::map<std::string, json::value> facts;
  for (const std::string& node : nodes) facts["node " + node] = nodeFacts(scheduler, node);
  const api::StringMap query{{"includePods", "true"}};
  for (const auto& [name, runtime] : scheduler.profiles()) {
    for (const auto& plugin : runtime->profile().plugins) {
      auto* service = dynamic_cast<ServicePlugin*>(plugin.get());
      if (!service) continue;
      for (const auto& route : service->routes()) {
        const auto ask = [&](const std::string& rest) {
          const auto answer = route.ask ? route.ask(rest, query) : route.answer(rest);
          facts[fmt::format("{} {}{}", plugin->name(), route.path, rest)] =
              answer ? *answer : json::value(answer.error().message);
        };
        if (route.shown.find(':') == std::string::npos) ask("");
        if (route.shown.ends_with("/:nodeName"))
          for (const std::string& node : nodes) ask(node);
      }
    }
  }
  for (auto& [key, value] : facts) value = sorted(std::move(value));
  return facts;
}

// The first difference within the values.
std::string firstDifference(const json::value& a, const json::value& b, const std::string& path) {
  if (a == b) return "";
  const auto* one = a.if_object();
  const auto* other = b.if_object();
  if (one && other) {
    for (const auto& member : *one) {
      const auto* there = other->if_contains(member.key());
      const std::string below = path + "." + std::string(member.key());
      if (!there)
        return fmt::format("{} is {}, it would not be there", below, toJson(member.value()));
      if (auto found = firstDifference(member.value(), *there, below); !found.empty()) return found;
    }
    for (const auto& member : *other)
      if (!one->contains(member.key()))
        return fmt::format("{}.{} does not exist, it would be {}", path, std::string(member.key()),
                           toJson(member.value()));
  }
  return fmt::format("{} is {}, it would be {}", path, toJson(a), toJson(b));
}

std::string versionIn(const Scheduler& scheduler, const api::Pod& pod) {
  if (const auto* record = scheduler.cluster().findPod(pod.metadata.uid))
    return record->info->pod->metadata.resourceVersion;
  const auto it = scheduler.pendingPods().find(pod.metadata.uid);
  return it == scheduler.pendingPods().end() ? "" : it->second->pod->metadata.resourceVersion;
}

template <class T>
bool sameObjects(Scheduler& a, Scheduler& b) {
  const auto& one = a.stores().of<T>().all();
  const auto& other = b.stores().of<T>().all();
  return one.size() == other.size() && std::ranges::all_of(one, [&](const auto& entry) {
           const auto it = other.find(entry.first);
           return it != other.end() &&
                  it->second->metadata.resourceVersion == entry.second->metadata.resourceVersion;
         });
}

// A restarted scheduler cannot know the hardware of allocated devices whose pool has no slice. It
// assumes that it is all devices of the node (device_links.h). The running scheduler knows better.
// Removes from the facts what claims have of such nodes.
void forgetUnknownHardware(Scheduler& scheduler, std::map<std::string, json::value>& facts) {
  const auto all = facts.find("DeviceShare nodeDeviceSummaries");
  if (all == facts.end()) return;
  std::set<std::pair<std::string_view, std::string_view>> published;
  for (const auto& [key, slice] : scheduler.stores().of<api::ResourceSlice>().all())
    published.emplace(slice->spec.driver, slice->spec.pool.name);
  for (const auto& [key, claim] : scheduler.stores().of<api::ResourceClaim>().all()) {
    if (!claim->status.allocation) continue;
    for (const auto& result : std::as_const(*claim->status.allocation).devices.results) {
      auto* node = published.contains({result.driver, result.pool})
                       ? nullptr
                       : all->second.as_object().if_contains(std::string_view(result.pool));
      if (node) node->as_object().erase("devicesOfClaims");
    }
  }
}

}  // namespace

Shadow::Shadow(kube::Api& api, VirtualLoop& loop, Journal& journal, const Features& features,
               const Process& running)
    : checker_("shadow", journal, decisions_, features) {
  scheduler::Registry registry = scheduler::makeRegistry();
  checker_.join(registry);
  scheduler::SchedulerOptions options;
  options.configuration = running.scheduler().configuration();
  for (const auto& feature : features) feature->join(registry);
  auto made = Scheduler::create(std::move(options), registry, loop, &api);
  if (!made) throw std::runtime_error(made.error().message);
  scheduler_ = *std::move(made);
  checker_.watch(*scheduler_);
  informers_ = std::make_unique<scheduler::Informers>(api, loop, *scheduler_, Random(1));
  informers_->start();
  loop.runReady();
  if (!informers_->synced()) throw std::runtime_error("a shadow cannot read the store at once");
}

bool Shadow::comparable(const Process& running, const Invariants& invariants) const {
  auto& theirs = const_cast<Scheduler&>(running.scheduler());
  const auto& cluster = theirs.cluster();
  if (cluster.assumedTotal() > 0 || theirs.bindingsInFlight() > 0) return false;
  const auto known = [](const Scheduler& one) {
    return std::pair(one.cluster().podTotal(), one.pendingPods().size());
  };
  if (known(theirs) != known(*scheduler_)) return false;
  for (const auto& node : invariants.nodes.objects()) {
    const auto id = cluster.findNode(node->metadata.name);
    if (!id || !cluster.node(*id).object ||
        cluster.node(*id).object->metadata.resourceVersion != node->metadata.resourceVersion)
      return false;
  }
  for (const auto& pod : invariants.pods.objects())
    if (versionIn(theirs, *pod) != versionIn(*scheduler_, *pod)) return false;
  return cluster.liveCount() == scheduler_->cluster().liveCount() &&
         sameObjects<api::PodGroup>(theirs, *scheduler_) &&
         sameObjects<api::Device>(theirs, *scheduler_) &&
         sameObjects<scheduler::CpuReport>(theirs, *scheduler_) &&
         sameObjects<scheduler::LoadReport>(theirs, *scheduler_) &&
         sameObjects<api::Reservation>(theirs, *scheduler_) &&
         sameObjects<api::ElasticQuota>(theirs, *scheduler_) &&
         sameObjects<api::ResourceClaim>(theirs, *scheduler_) &&
         sameObjects<api::ResourceSlice>(theirs, *scheduler_);
}

std::string Shadow::difference(const Process& running, const Invariants& invariants) const {
  if (!comparable(running, invariants)) return "";
  std::vector<std::string> nodes;
  for (const auto& node : invariants.nodes.objects()) nodes.push_back(node->metadata.name);
  std::ranges::sort(nodes);
  auto is = factsOf(running.scheduler(), nodes);
  auto would = factsOf(*scheduler_, nodes);
  for (auto* facts : {&is, &would}) forgetUnknownHardware(*scheduler_, *facts);
  for (const auto& [about, fact] : is) {
    const auto it = would.find(about);
    if (it == would.end()) return about + " would not be known";
    if (auto found = firstDifference(fact, it->second, about); !found.empty()) return found;
  }
  return "";
}

}  // namespace koord::simulation
