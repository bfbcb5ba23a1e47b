#include "cluster/controllers/pod_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/gather.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

// After that an event counts as lost; upstream uses five minutes, too.
constexpr Duration kLostEvent = std::chrono::minutes(5);

void appendCanonical(const json::value& value, std::string& out) {
  if (const auto* object = value.if_object()) {
    std::vector<std::pair<std::string_view, const json::value*>> members;
    for (const auto& entry : *object)
      members.emplace_back(std::string_view(entry.key().data(), entry.key().size()),
                           &entry.value());
    std::ranges::sort(members, {}, [](const auto& member) { return member.first; });
    out += '{';
    for (const auto& [key, member] : members) {
      out.append(key).append(":");
      appendCanonical(*member, out);
      out += ',';
    }
    out += '}';
  } else if (const auto* array = value.if_array()) {
    out += '[';
    for (const auto& item : *array) {
      appendCanonical(item, out);
      out += ',';
    }
    out += ']';
  } else {
    out += toJson(value);
  }
}

// Upstream has different messages for the pods of StatefulSets.
bool isNumbered(Owner owner) {
  return owner.type.kind == "StatefulSet";
}

std::string_view controllerUid(const api::Pod& pod) {
  const auto* owner = api::controllerOf(pod.metadata);
  return owner ? std::string_view(owner->uid) : std::string_view();
}

Result<> firstError(std::vector<Result<>> results) {
  for (auto& result : results)
    if (!result) return std::move(result);
  return {};
}

// The metadata of a pod created from a template.
json::object metadataOf(const Owner& owner, const json::value* ofTemplate, const PodName& name) {
  json::object metadata;
  for (const char* member : {"labels", "annotations", "finalizers"})
    if (const auto* value = ofTemplate ? find(*ofTemplate, member) : nullptr)
      metadata[member] = *value;
  metadata["namespace"] = owner.meta.namespace_;
  metadata["ownerReferences"] = controlledBy(owner);
  if (!name.name.empty())
    metadata["name"] = name.name;
  else
    metadata["generateName"] = name.prefix.empty() ? owner.meta.name + "-" : name.prefix;
  return metadata;
}

}  // namespace

PodControl::PodControl(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
                       kube::EventRecorder& events)
    : api_(api), executor_(executor), pods_(pods), events_(events) {
  pods_.addHandler({[this](const auto& pod) { file(pod); },
                    [this](const auto& before, const auto& pod) {
                      if (controllerUid(*before) != controllerUid(*pod)) removeFromIndex(*before);
                      file(pod);
                    },
                    [this](const auto& pod) { gone(*pod); }});
}

void PodControl::file(const PodPtr& known) {
  const api::Pod& pod = *known;
  const auto* owner = api::controllerOf(pod.metadata);
  auto& group = owner ? byOwner_[owner->uid] : orphans_[pod.metadata.namespace_];
  group.insert_or_assign(api::keyOf(pod.metadata), known);
  const auto pending = owner ? pending_.find(owner->uid) : pending_.end();
  if (pending == pending_.end()) return;
  pending->second.creations.erase(pod.metadata.uid);
  if (pod.metadata.deletionTimestamp) pending->second.deletions.erase(pod.metadata.uid);
}

void PodControl::removeFromIndex(const api::Pod& pod) {
  const auto* owner = api::controllerOf(pod.metadata);
  Groups& groups = owner ? byOwner_ : orphans_;
  const auto group = groups.find(owner ? owner->uid : pod.metadata.namespace_);
  if (group == groups.end()) return;
  group->second.erase(api::keyOf(pod.metadata));
  if (group->second.empty()) groups.erase(group);
}

void PodControl::gone(const api::Pod& pod) {
  removeFromIndex(pod);
  const auto* owner = api::controllerOf(pod.metadata);
  const auto pending = owner ? pending_.find(owner->uid) : pending_.end();
  if (pending == pending_.end()) return;
  pending->second.creations.erase(pod.metadata.uid);
  pending->second.deletions.erase(pod.metadata.uid);
}

std::vector<PodPtr> PodControl::podsOf(const std::string& ownerUid) const {
  std::vector<PodPtr> pods;
  const auto group = byOwner_.find(ownerUid);
  if (group == byOwner_.end()) return pods;
  pods.reserve(group->second.size());
  for (const auto& [key, pod] : group->second) pods.push_back(pod);
  return pods;
}

Task<Result<std::vector<PodPtr>>> PodControl::claim(Owner owner,
                                                    std::optional<api::LabelSelector> selector,
                                                    Member member, std::string finalizer) {
  const auto compiled = ownSelector(selector);
  if (!compiled) co_return fail(compiled.error());
  std::vector<PodPtr> candidates = podsOf(owner.meta.uid);
  if (const auto group = orphans_.find(owner.meta.namespace_); group != orphans_.end())
    for (const auto& [key, pod] : group->second)
      if (compiled->matches(pod->metadata.labels)) candidates.push_back(pod);
  std::vector<PodPtr> claimed;
  Claims claims(api_, owner, api::Pod::kType, std::move(finalizer));
  for (auto& pod : candidates) {
    if (member && !member(*pod)) continue;
    const bool matches = compiled->matches(pod->metadata.labels);
    if (!claims.isSettled(pod->metadata, matches)) {
      auto claiming = claims.claim({pod, &pod->metadata}, matches);
      auto mine = co_await claiming;
      if (!mine) co_return fail(std::move(mine.error()));
      if (!*mine) continue;
    }
    claimed.push_back(std::move(pod));
  }
  co_return claimed;
}

bool PodControl::settled(const std::string& ownerUid) {
  const auto pending = pending_.find(ownerUid);
  if (pending == pending_.end()) return true;
  const bool done = pending->second.creations.empty() && pending->second.deletions.empty();
  if (!done && executor_.steadyNow() - pending->second.since < kLostEvent) return false;
  pending_.erase(pending);
  return true;
}

Task<Result<>> PodControl::create(Owner owner, json::value podTemplate, PodName called) {
  const std::string uid = owner.meta.uid;
  const std::string namespace_ = owner.meta.namespace_;
  const auto reference = kube::referenceTo(owner.type, owner.meta);
  json::object pod = podTemplate.is_object() ? std::move(podTemplate.get_object()) : json::object{};
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"] = metadataOf(owner, pod.if_contains("metadata"), called);
  const bool numbered = isNumbered(owner);
  const api::ObjectKey target{namespace_, ""};
  auto creating = kube::createObject(api_, api::Pod::kType, target, std::move(pod));
  auto created = co_await creating;
  if (!created) {
    if (namespaceEnds(created.error())) co_return Result<>{};
    events_.record(reference, "Warning", "FailedCreate",
                   numbered ? fmt::format("create Pod {} in StatefulSet {} failed error: {}",
                                          called.name, owner.meta.name, created.error().message)
                            : "Error creating pod: " + created.error().message);
    co_return fail(std::move(created.error()));
  }
  const std::string podUid(textAt(*created, "metadata", "uid"));
  const std::string name(textAt(*created, "metadata", "name"));
  events_.record(
      reference, "Normal", "SuccessfulCreate",
      numbered ? fmt::format("create Pod {} in StatefulSet {} successful", name, owner.meta.name)
               : "Created pod: " + name);
  const auto seen = pods_.get({namespace_, name});
  if (!seen || seen->metadata.uid != podUid) {
    auto& pending = pending_[uid];
    pending.creations.insert(podUid);
    pending.since = executor_.steadyNow();
  }
  co_return Result<>{};
}

Task<Result<>> PodControl::remove(Owner owner, PodPtr pod) {
  const std::string uid = owner.meta.uid;
  const auto reference = kube::referenceTo(owner.type, owner.meta);
  kube::DeleteOptions options;
  options.uid = pod->metadata.uid;
  auto deleting =
      kube::deleteObject(api_, api::Pod::kType, api::keyOf(pod->metadata), std::move(options));
  auto deleted = co_await deleting;
  if (!deleted) {
    const auto code = deleted.error().code;
    if (code == ErrorCode::NotFound || code == ErrorCode::Conflict) co_return Result<>{};
    co_return deleted;
  }
  events_.record(reference, "Normal", "SuccessfulDelete",
                 isNumbered(owner) ? fmt::format("delete Pod {} in StatefulSet {} successful",
                                                 pod->metadata.name, owner.meta.name)
                                   : "Deleted pod: " + pod->metadata.name);
  const auto seen = pods_.get(api::keyOf(pod->metadata));
  if (seen && seen->metadata.uid == pod->metadata.uid && !seen->metadata.deletionTimestamp) {
    auto& pending = pending_[uid];
    pending.deletions.insert(pod->metadata.uid);
    pending.since = executor_.steadyNow();
  }
  co_return Result<>{};
}

Task<Result<>> PodControl::createMany(Owner owner, std::vector<NewPod> pods) {
  std::size_t next = 0;
  for (std::size_t batch = 1; next < pods.size(); batch *= 2) {
    std::vector<Task<Result<>>> creations;
    for (; creations.size() < batch && next < pods.size(); ++next)
      creations.push_back(
          create(owner, std::move(pods[next].podTemplate), std::move(pods[next].name)));
    auto creating = gather(executor_, std::move(creations));
    auto results = co_await creating;
    auto created = firstError(std::move(results));
    if (!created) co_return created;
  }
  co_return Result<>{};
}

Task<Result<>> PodControl::removeMany(Owner owner, std::vector<PodPtr> pods) {
  std::vector<Task<Result<>>> removals;
  for (auto& pod : pods) removals.push_back(remove(owner, std::move(pod)));
  auto removing = gather(executor_, std::move(removals));
  auto results = co_await removing;
  co_return firstError(std::move(results));
}

bool isActive(const api::Pod& pod) {
  return !api::isTerminal(pod) && !pod.metadata.deletionTimestamp;
}

bool isReady(const api::Pod& pod) {
  for (const auto& condition : pod.status.conditions)
    if (condition.type == "Ready") return condition.status == "True";
  return false;
}

std::optional<Duration> timeUntilAvailable(const api::Pod& pod, std::int32_t minReadySeconds,
                                           WallTime now) {
  for (const auto& condition : pod.status.conditions)
    if (condition.type == "Ready" && condition.status == "True") {
      if (minReadySeconds == 0) return Duration::zero();
      const WallTime since = condition.lastTransitionTime.value_or(now);
      return since + std::chrono::seconds(minReadySeconds) - now;
    }
  return std::nullopt;
}

std::string templateHash(const json::value& podTemplate, int collisions) {
  std::string canonical;
  appendCanonical(podTemplate, canonical);
  if (collisions > 0) canonical += fmt::format("{}", collisions);
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const unsigned char c : canonical) hash = (hash ^ c) * 1099511628211ULL;
  // The alphabet of Kubernetes' generated names: no vowels, so no words.
  constexpr std::string_view alphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string name;
  for (int i = 0; i < 10; ++i, hash /= alphabet.size()) name += alphabet[hash % alphabet.size()];
  return name;
}

void setLabel(json::value& object, std::string_view key, std::string_view value) {
  if (!object.is_object()) object = json::object{};
  auto& metadata = object.get_object()["metadata"];
  if (!metadata.is_object()) metadata = json::object{};
  auto& labels = metadata.get_object()["labels"];
  if (!labels.is_object()) labels = json::object{};
  labels.get_object()[json::string_view(key.data(), key.size())] =
      json::string_view(value.data(), value.size());
}

api::ObjectKey keyOfText(const std::string& text) {
  const auto slash = text.find('/');
  if (slash == std::string::npos) return {"", text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

}  // namespace koord::cluster
