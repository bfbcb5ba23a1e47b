#include "descheduler/migration/workloads.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/client.h"

namespace koord::descheduler {

namespace {

std::string_view groupOf(const api::OwnerReference& owner) {
  const std::string_view text = owner.apiVersion;
  const auto slash = text.find('/');
  return slash == text.npos ? std::string_view() : text.substr(0, slash);
}

std::string_view versionOfOwner(const api::OwnerReference& owner) {
  const std::string_view text = owner.apiVersion;
  const auto slash = text.find('/');
  return slash == text.npos ? text : text.substr(slash + 1);
}

// Guessed as kubectl does: CloneSet, clonesets.
std::string pluralOf(std::string_view kind) {
  std::string name(kind);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (name.ends_with('s')) return name + "es";
  if (name.ends_with('y')) return name.substr(0, name.size() - 1) + "ies";
  return name + "s";
}

template <class T>
Workloads::Workload gone(const T&) {
  return {.state = Workloads::State::Gone, .why = "its workload does not exist"};
}

Workloads::Workload known(std::int64_t replicas, std::string uid) {
  Workloads::Workload out{.state = Workloads::State::Known, .replicas = replicas, .key = uid};
  out.owners.push_back(std::move(uid));
  return out;
}

}  // namespace

Workloads::Workloads(Handle& handle)
    : handle_(handle),
      deployments_(handle.stores().of<api::Deployment>()),
      replicaSets_(handle.stores().of<api::ReplicaSet>()),
      statefulSets_(handle.stores().of<api::StatefulSet>()) {}

void Workloads::start() {
  using SetPtr = std::shared_ptr<const api::ReplicaSet>;
  const auto follow = [this](const SetPtr& set, bool add) {
    const api::OwnerReference* owner = api::controllerOf(set->metadata);
    if (!owner || owner->kind != "Deployment") return;
    if (add) {
      replicaSetsOf_[owner->uid].insert(set->metadata.uid);
    } else {
      replicaSetsOf_[owner->uid].erase(set->metadata.uid);
      if (replicaSetsOf_[owner->uid].empty()) replicaSetsOf_.erase(owner->uid);
    }
  };
  replicaSets_.addHandler({[follow](const SetPtr& set) { follow(set, true); },
                           [follow](const SetPtr& before, const SetPtr& after) {
                             follow(before, false);
                             follow(after, true);
                           },
                           [follow](const SetPtr& last) { follow(last, false); }});
  const auto changed = [this] { unavailable_.clear(); };
  handle_.stores().pods().addHandler({[changed](const PodPtr&) { changed(); },
                                      [changed](const PodPtr&, const PodPtr&) { changed(); },
                                      [changed](const PodPtr&) { changed(); }});
}

bool Workloads::watched(const api::OwnerReference& owner) {
  return groupOf(owner) == "apps" &&
         (owner.kind == "Deployment" || owner.kind == "ReplicaSet" || owner.kind == "StatefulSet");
}

Workloads::Workload Workloads::of(const api::Pod& pod) {
  const api::OwnerReference* owner = api::controllerOf(pod.metadata);
  if (!owner) return {};
  return watched(*owner) ? ofWatched(pod, *owner) : ofRead(pod, *owner);
}

Workloads::Workload Workloads::ofWatched(const api::Pod& pod,
                                         const api::OwnerReference& owner) const {
  const auto find = [&](const auto& informer, const api::OwnerReference& reference) {
    auto object = informer.get({pod.metadata.namespace_, reference.name});
    if (object && object->metadata.uid != reference.uid) object = nullptr;
    return object;
  };
  if (owner.kind == "StatefulSet") {
    const auto set = find(statefulSets_, owner);
    return set ? known(set->spec.replicas.value_or(1), owner.uid) : gone(owner);
  }
  const auto ofDeployment = [&](const api::OwnerReference& reference) -> Workload {
    const auto deployment = find(deployments_, reference);
    if (!deployment) return gone(owner);
    Workload out = known(deployment->spec.replicas.value_or(1), reference.uid);
    if (const auto it = replicaSetsOf_.find(reference.uid); it != replicaSetsOf_.end())
      out.owners.insert(out.owners.end(), it->second.begin(), it->second.end());
    out.labels = deployment->spec.selector;
    return out;
  };
  if (owner.kind == "Deployment") return ofDeployment(owner);
  const auto set = find(replicaSets_, owner);
  if (!set) return gone(owner);
  const api::OwnerReference* above = api::controllerOf(set->metadata);
  if (above && above->kind == "Deployment") return ofDeployment(*above);
  return known(set->spec.replicas.value_or(1), owner.uid);
}

Workloads::Workload Workloads::ofRead(const api::Pod& pod, const api::OwnerReference& owner) {
  Read& entry = read_[owner.uid];
  const SteadyTime now = handle_.executor().steadyNow();
  if (!entry.asking && (entry.workload.state == State::None || now - entry.at > kKept))
    tasks_.spawn(ask(pod.metadata.namespace_, owner));
  if (const Read& after = read_[owner.uid]; after.workload.state != State::None)
    return after.workload;
  return {.state = State::Unknown,
          .key = owner.uid,
          .why = fmt::format("its {} {} is being read", owner.kind, owner.name)};
}

Task<void> Workloads::prepare(PodPtr pod) {
  const api::OwnerReference* owner = api::controllerOf(pod->metadata);
  if (!owner || watched(*owner)) co_return;
  const auto it = read_.find(owner->uid);
  const bool fresh = it != read_.end() && it->second.workload.state != State::None &&
                     handle_.executor().steadyNow() - it->second.at <= kKept;
  if (fresh) co_return;
  auto asking = ask(pod->metadata.namespace_, *owner);
  co_await asking;
}

Task<void> Workloads::ask(std::string namespace_, api::OwnerReference owner) {
  read_[owner.uid].asking = true;
  auto reading = read(namespace_, owner);
  auto answer = co_await reading;
  // Drops unused entries if there are many.
  if (read_.size() > 10000)
    std::erase_if(read_, [&](const auto& entry) {
      return !entry.second.asking && handle_.executor().steadyNow() - entry.second.at > 2 * kKept;
    });
  Read& entry = read_[owner.uid];
  entry.asking = false;
  entry.at = handle_.executor().steadyNow();
  if (answer) {
    entry.workload = *std::move(answer);
  } else {
    entry.workload = {.state = State::Unknown,
                      .key = owner.uid,
                      .why = fmt::format("the number of replicas of its {} {} cannot be read: {}",
                                         owner.kind, owner.name, answer.error().message)};
  }
}

Task<Result<Workloads::Workload>> Workloads::read(std::string namespace_,
                                                  api::OwnerReference owner) {
  const std::string group(groupOf(owner));
  std::string version(versionOfOwner(owner));
  const std::string plural = pluralOf(owner.kind);
  const bool kruise = group == "apps.kruise.io";
  if (kruise && owner.kind == "CloneSet") version = "v1alpha1";
  if (kruise && owner.kind == "StatefulSet") version = "v1beta1";
  const bool whole = kruise || (group.empty() && owner.kind == "ReplicationController") ||
                     (group == "batch" && owner.kind == "Job");
  const api::ResourceType type{group, version, plural, owner.kind, true};
  kube::Request request =
      kube::makeRequest(kube::Verb::Get, type, {std::move(namespace_), owner.name});
  if (!whole) request.subresource = "scale";
  auto calling = handle_.api().call(std::move(request));
  auto reply = co_await calling;
  if (!reply) {
    if (reply.error().code == ErrorCode::NotFound) co_return gone(owner);
    co_return fail(std::move(reply.error()));
  }
  auto document = parseJson(*reply);
  if (!document) co_return fail(std::move(document.error()));
  if (textAt(*document, "metadata", "uid") != owner.uid) co_return gone(owner);
  const json::value* count = owner.kind == "Job" ? at(*document, "spec", "parallelism")
                                                 : at(*document, "spec", "replicas");
  const std::int64_t absent = whole ? 1 : 0;
  co_return known(count && count->is_int64() ? count->get_int64() : absent, owner.uid);
}

std::vector<PodPtr> Workloads::podsOf(const Workload& workload) const {
  std::vector<PodPtr> pods;
  for (const std::string& uid : workload.owners)
    for (PodPtr& pod : handle_.stores().podsOwnedBy(uid)) {
      const api::OwnerReference* controller = api::controllerOf(pod->metadata);
      if (controller && controller->uid == uid) pods.push_back(std::move(pod));
    }
  return pods;
}

const std::set<std::string>& Workloads::unavailableOf(const Workload& workload) {
  const auto [it, fresh] = unavailable_.try_emplace(workload.key);
  if (!fresh) return it->second;
  for (const PodPtr& pod : podsOf(workload)) {
    const bool active = !pod->facts.is(PodFacts::Terminal) && !pod->facts.is(PodFacts::Terminating);
    if (!active || !pod->facts.is(PodFacts::Ready)) it->second.insert(pod->metadata.uid);
  }
  return it->second;
}

}  // namespace koord::descheduler
