#include "simulation/invariants.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "api/selector.h"
#include "model/pod_requests.h"
#include "simulation/feature.h"

namespace koord::simulation {

using scheduler::testing::amountIn;

namespace {

bool foreign(const api::Pod& pod) {
  return pod.metadata.labels.contains(kForeign);
}

const api::List<api::PodAffinityTerm>& requiredApart(const api::Pod& pod) {
  static const api::List<api::PodAffinityTerm> kNone;
  if (!pod.spec.affinity || !pod.spec.affinity->podAntiAffinity) return kNone;
  return pod.spec.affinity->podAntiAffinity->requiredDuringSchedulingIgnoredDuringExecution;
}

bool isAbout(const api::Pod& owner, const api::PodAffinityTerm& term, const api::Pod& other) {
  // The checker checks selectors over namespaces.
  if (term.namespaceSelector) return false;
  const auto& there = other.metadata.namespace_;
  const bool here = term.namespaces.empty()
                        ? there == owner.metadata.namespace_
                        : std::ranges::find(term.namespaces, there) != term.namespaces.end();
  return here && api::Selector::compile(term.labelSelector)->matches(other.metadata.labels);
}

}  // namespace

Invariants::Invariants(kube::Api& api, VirtualLoop& loop, Journal& journal,
                       const Decisions& decisions, const Features& features)
    : pods(api, loop),
      nodes(api, loop),
      claims(api, loop),
      volumes(api, loop),
      budgets(api, loop),
      loop_(loop),
      journal_(journal),
      decisions_(decisions),
      features_(features) {
  pods.addHandler({[this](const auto& pod) { changed(nullptr, pod); },
                   [this](const auto& before, const auto& after) { changed(before, after); },
                   [this](const auto& pod) {
                     lastChange_ = loop_.steadyNow();
                     journal_.note("pod {} is gone", pod->metadata.name);
                   }});
  volumes.addHandler(
      {[this](const auto& volume) { promised(nullptr, *volume); },
       [this](const auto& before, const auto& after) { promised(before.get(), *after); },
       {}});
  claims.addHandler(
      {{}, [this](const auto& before, const auto& after) { claimed(*before, *after); }, {}});
  const auto keep = [this](const NodeObject& node) {
    lastChange_ = loop_.steadyNow();
    history_[node->metadata.name].push_back(node);
  };
  nodes.addHandler({keep, [keep](const auto&, const auto& after) { keep(after); },
                    [this](const auto&) { lastChange_ = loop_.steadyNow(); }});
}

void Invariants::start() {
  pods.start();
  nodes.start();
  claims.start();
  volumes.start();
  budgets.start();
}

std::vector<PodObject> Invariants::sortedPods() const {
  std::vector<PodObject> all;
  for (const auto& pod : pods.objects()) all.push_back(pod);
  std::ranges::sort(all, {}, [](const auto& pod) {
    return std::tie(pod->metadata.namespace_, pod->metadata.name);
  });
  return all;
}

bool Invariants::hasReceived(const Choice& choice, const std::string& uid,
                             const std::string& node) const {
  const auto binding = bindings_.find(uid);
  if (binding == bindings_.end()) return false;  // not bound by a scheduler
  // A leader may have placed the unit on another node itself before it receives the binding.
  const auto known = choice.known.find(uid);
  if (binding->second.process == choice.process) return binding->second.number <= choice.number;
  return binding->second.time < decisions_.starts.at(choice.process) ||
         (known != choice.known.end() && known->second == node);
}

std::vector<PodObject> Invariants::others(const Choice& choice, const std::string& node) const {
  std::vector<PodObject> found;
  for (const auto& pod : sortedPods()) {
    if (pod->spec.nodeName.empty() || api::isTerminal(*pod)) continue;
    if (!node.empty() && pod->spec.nodeName != node) continue;
    if (hasReceived(choice, pod->metadata.uid, pod->spec.nodeName)) found.push_back(pod);
  }
  return found;
}

std::vector<PodObject> Invariants::holders(const Choice& choice) const {
  std::vector<PodObject> found = others(choice, choice.node);
  for (const auto& feature : features_)
    for (const PodObject& unit : feature->units())
      if (unit->spec.nodeName == choice.node &&
          hasReceived(choice, unit->metadata.uid, choice.node))
        found.push_back(unit);
  return found;
}

std::vector<Invariants::Arrival> Invariants::arrivalsOn(const std::string& node,
                                                        SteadyTime since) const {
  std::map<std::uint64_t, Arrival> found;
  for (const auto& [uid, binding] : bindings_)
    if (binding.pod->spec.nodeName == node && binding.chosen >= since)
      found[binding.number] = {binding.process, binding.pod};
  std::vector<Arrival> came;
  for (auto& [number, one] : found) came.push_back(std::move(one));
  return came;
}

PodObject Invariants::stored(const api::Pod& pod) const {
  PodObject found = pods.get(api::keyOf(pod.metadata));
  for (const auto& feature : features_) {
    if (found) break;
    for (const PodObject& unit : feature->units())
      if (unit->metadata.uid == pod.metadata.uid) found = unit;
  }
  return found && found->metadata.uid == pod.metadata.uid ? found : nullptr;
}

void Invariants::changed(const PodObject& before, const PodObject& after) {
  lastChange_ = loop_.steadyNow();
  if (foreign(*after)) return;
  const std::string was = before ? before->spec.nodeName : "";
  if (!was.empty() && was != after->spec.nodeName)
    journal_.violated("bound once", "{} moves from {} to {}", after->metadata.name, was,
                      after->spec.nodeName);
  if (was.empty() && !after->spec.nodeName.empty()) bound(after);
  const bool left = before && before->metadata.deletionTimestamp;
  if (after->metadata.deletionTimestamp && !left) evicted(*after);
}

const Choice* Invariants::choiceOf(const api::Pod& pod) const {
  const auto choices = decisions_.choices.find(pod.metadata.uid);
  if (choices == decisions_.choices.end()) return nullptr;
  const auto one = std::ranges::find(choices->second, pod.spec.nodeName, &Choice::node);
  return one == choices->second.end() ? nullptr : &*one;
}

void Invariants::bound(const PodObject& pod) {
  journal_.note("pod {} is bound to {}", pod->metadata.name, pod->spec.nodeName);
  const Choice* choice = choiceOf(*pod);
  if (!choice)
    return journal_.violated("chosen node", "nobody chose {} for {}", pod->spec.nodeName,
                             pod->metadata.name);
  const Binding own{choice->process, loop_.steadyNow(), choice->number, pod, choice->time};
  bindings_[pod->metadata.uid] = own;
  for (const auto& feature : features_) feature->told(*pod);
  check(*pod, *choice);
  std::map<std::uint64_t, const Binding*> later;
  for (const auto& [uid, other] : bindings_)
    if (other.process == own.process && other.number > own.number) later[other.number] = &other;
  for (const auto& [number, other] : later) {
    const Choice* its = choiceOf(*other->pod);
    if (its && its->number == number) check(*other->pod, *its);
  }
}

void Invariants::check(const api::Pod& pod, const Choice& choice) {
  checkRoom(pod, choice);
  checkPorts(pod, choice);
  checkApart(pod, choice);
  checkVolumes(pod, choice);
  for (const auto& feature : features_) feature->bound(pod, choice);
}

std::vector<Invariants::NodeObject> Invariants::versionsSince(const Choice& choice) const {
  const auto& all = history_.at(choice.node);
  const auto known = std::ranges::find_if(
      all, [&](const auto& node) { return node->metadata.resourceVersion == choice.nodeVersion; });
  return {known, all.end()};
}

void Invariants::checkRoom(const api::Pod& pod, const Choice& choice) {
  const auto versions = versionsSince(choice);
  std::map<std::string, std::int64_t> used;
  for (const auto& other : others(choice, pod.spec.nodeName)) {
    ++used["pods"];
    for (const auto& [name, quantity] : model::podRequests(*other))
      used[name] += amountIn({{name, quantity}}, name);
  }
  for (const auto& feature : features_) feature->addUsed(pod, choice, used);
  for (const auto& [name, sum] : used) {
    std::int64_t most = 0;
    for (const auto& node : versions)
      most = std::max(most, amountIn(node->status.allocatable, name));
    if (sum > most && sum > 0 && (name == "pods" || model::podRequests(pod).contains(name))) {
      std::vector<std::string> there;
      for (const auto& other : others(choice, pod.spec.nodeName))
        there.push_back(fmt::format("{} ({})", other->metadata.name,
                                    amountIn(model::podRequests(*other), name)));
      journal_.violated("allocatable", "{} takes {} to {} of {} {}; there are {}",
                        pod.metadata.name, pod.spec.nodeName, sum, most, name,
                        fmt::join(there, ", "));
    }
  }
}

// Other processes may conflict: the second of two leaders may not have seen yet what the first had
// bound.
void Invariants::checkPorts(const api::Pod& pod, const Choice& choice) {
  const auto portsOf = [](const api::Pod& of) {
    std::set<std::int32_t> ports;
    for (const auto& container : of.spec.containers)
      for (const auto& port : container.ports)
        if (port.hostPort > 0) ports.insert(port.hostPort);
    return ports;
  };
  const auto wanted = portsOf(pod);
  if (wanted.empty()) return;
  for (const auto& other : others(choice, pod.spec.nodeName)) {
    if (other->metadata.uid == pod.metadata.uid) continue;
    for (const std::int32_t port : portsOf(*other))
      if (wanted.contains(port))
        journal_.violated("host ports", "{} and {} have port {} of {}", pod.metadata.name,
                          other->metadata.name, port, pod.spec.nodeName);
  }
}

// Only for labels that nodes never change.
void Invariants::checkApart(const api::Pod& pod, const Choice& choice) {
  const auto valueOn = [&](const std::string& node, const std::string& key) -> std::string {
    const auto object = nodes.get({"", node});
    const auto* value = object ? api::findIn(object->metadata.labels, key) : nullptr;
    return value ? *value : "";
  };
  const auto check = [&](const api::Pod& owner, const api::Pod& other) {
    for (const auto& term : requiredApart(owner)) {
      if (term.topologyKey != "zone" && term.topologyKey != "kubernetes.io/hostname") continue;
      const std::string value = valueOn(owner.spec.nodeName, term.topologyKey);
      if (value.empty() || value != valueOn(other.spec.nodeName, term.topologyKey) ||
          !isAbout(owner, term, other))
        continue;
      journal_.violated("anti-affinity", "{} keeps away from {}, both are in {} {}",
                        owner.metadata.name, other.metadata.name, term.topologyKey, value);
    }
  };
  for (const auto& other : others(choice)) {
    if (other->metadata.uid == pod.metadata.uid) continue;
    check(pod, *other);
    check(*other, pod);
  }
}

std::shared_ptr<const api::PersistentVolume> Invariants::volumeOf(const api::Pod& pod,
                                                                  const std::string& claim) const {
  const auto object = claims.get({pod.metadata.namespace_, claim});
  return object ? volumes.get({"", object->spec.volumeName}) : nullptr;
}

void Invariants::checkVolumes(const api::Pod& pod, const Choice& choice) {
  const auto versions = versionsSince(choice);
  std::set<std::string> attached;
  for (const auto& other : others(choice, pod.spec.nodeName)) {
    if (other->metadata.uid == pod.metadata.uid) continue;
    for (const auto& volume : other->spec.volumes)
      if (volume.persistentVolumeClaim)
        if (const auto found = volumeOf(*other, volume.persistentVolumeClaim->claimName);
            found && found->spec.csi)
          attached.insert(found->spec.csi->volumeHandle);
  }
  for (const auto& volume : pod.spec.volumes) {
    if (!volume.persistentVolumeClaim) continue;
    const std::string& name = volume.persistentVolumeClaim->claimName;
    const auto claim = claims.get({pod.metadata.namespace_, name});
    const auto found = volumeOf(pod, name);
    if (!found) {
      journal_.violated("volumes", "{} is bound before its claim {}", pod.metadata.name, name);
      continue;
    }
    const bool fresh = found->spec.csi && attached.insert(found->spec.csi->volumeHandle).second;
    if (choice.limited && fresh && attached.size() > kVolumesPerNode)
      journal_.violated("attach limit", "{} takes {} to {} volumes", pod.metadata.name,
                        pod.spec.nodeName, attached.size());
    if (found->spec.nodeAffinity && found->spec.nodeAffinity->required) {
      const auto where = api::NodeSelectorMatcher::compile(*found->spec.nodeAffinity->required);
      const bool usable = std::ranges::any_of(versions, [&](const auto& node) {
        return where->matches(node->metadata.labels, node->metadata.name).value_or(false);
      });
      if (!usable)
        journal_.violated("volumes", "{} of {} cannot be used on {}", found->metadata.name,
                          pod.metadata.name, pod.spec.nodeName);
    }
    if (std::ranges::find(claim->spec.accessModes, "ReadWriteOncePod") ==
        claim->spec.accessModes.end())
      continue;
    for (const auto& other : others(choice))
      if (other->metadata.uid != pod.metadata.uid &&
          other->metadata.namespace_ == pod.metadata.namespace_ &&
          nodes.get({"", other->spec.nodeName}) &&
          std::ranges::any_of(other->spec.volumes, [&](const auto& one) {
            return one.persistentVolumeClaim && one.persistentVolumeClaim->claimName == name;
          }))
        journal_.violated("ReadWriteOncePod", "{} and {} use {}", pod.metadata.name,
                          other->metadata.name, name);
  }
}

void Invariants::promised(const api::PersistentVolume* before, const api::PersistentVolume& after) {
  const auto uidOf = [](const api::PersistentVolume* volume) {
    return volume && volume->spec.claimRef ? volume->spec.claimRef->uid : std::string();
  };
  const std::string was = uidOf(before), is = uidOf(&after);
  if (!was.empty() && was != is)
    journal_.violated("one claim", "{} was promised to {} and is now to {}", after.metadata.name,
                      was, is);
  if (is.empty() || was == is) return;
  for (const auto& other : volumes.objects())
    if (other->metadata.name != after.metadata.name && uidOf(other.get()) == is)
      journal_.violated("one volume", "{} and {} are promised to the claim {}", after.metadata.name,
                        other->metadata.name, after.spec.claimRef->name);
}

void Invariants::claimed(const api::PersistentVolumeClaim& before,
                         const api::PersistentVolumeClaim& after) {
  const std::string& volume = after.spec.volumeName;
  if (volume == before.spec.volumeName) return;
  if (!before.spec.volumeName.empty())
    journal_.violated("bound once", "{} moves from {} to {}", after.metadata.name,
                      before.spec.volumeName, volume);
  for (const auto& other : claims.objects())
    if (other->metadata.uid != after.metadata.uid && other->spec.volumeName == volume)
      journal_.violated("one claim", "{} and {} are bound to {}", after.metadata.name,
                        other->metadata.name, volume);
}

bool wasPreempted(const api::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions, [](const auto& condition) {
    return condition.type == "DisruptionTarget" && condition.reason == "PreemptionByScheduler";
  });
}

void Invariants::evicted(const api::Pod& pod) {
  if (!wasPreempted(pod)) return;
  journal_.note("pod {} is preempted on {}", pod.metadata.name, pod.spec.nodeName);
  if (!decisions_.victims.contains(pod.metadata.uid) &&
      std::ranges::none_of(features_, [&](const auto& each) { return each->mayEvict(pod); }))
    journal_.violated("victims", "{} need not leave {}", pod.metadata.name, pod.spec.nodeName);
}

}  // namespace koord::simulation
