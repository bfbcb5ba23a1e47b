#include "scheduler/oracle/scratch_server.h"

#include <algorithm>

#include "api/codec.h"
#include "api/patch/merge_patch.h"
#include "kube/received.h"
#include "scheduler/framework/transforms.h"
#include "scheduler/oracle/kinds.h"
#include "scheduler/oracle/question.h"
#include "scheduler/preemption/budgets.h"

namespace koord::scheduler::oracle {

namespace {

api::ObjectKey keyIn(const kube::Request& request) {
  return {request.namespace_, request.name};
}

// The parts of a pod's status that the scheduler writes and reads.
void applyStatus(api::Pod& pod, const json::value& patch) {
  if (const json::value* node = at(patch, "status", "nominatedNodeName"))
    pod.status.nominatedNodeName = node->is_string() ? std::string(node->get_string()) : "";
  const json::value* list = at(patch, "status", "conditions");
  if (!list || !list->is_array()) return;
  for (const json::value& entry : list->get_array()) {
    const std::string_view type = textAt(entry, "type");
    auto known = std::ranges::find(pod.status.conditions, type, &api::PodCondition::type);
    if (known == pod.status.conditions.end()) {
      pod.status.conditions.emplace_back().type = type;
      known = std::prev(pod.status.conditions.end());
    }
    known->status = textAt(entry, "status");
    known->reason = textAt(entry, "reason");
    known->message = textAt(entry, "message");
  }
}

void applyMap(api::StringMap& map, const json::value* changes) {
  if (!changes || !changes->is_object()) return;
  for (const auto& [key, value] : changes->get_object()) {
    if (value.is_string()) {
      map[key] = std::string(value.get_string());
    } else {
      map.erase(std::string(key));
    }
  }
}

// The object that exists, with the fields of the other one.
Result<json::value> applied(const json::value& before, const json::value& changes,
                            const std::string& version) {
  json::value patch = changes;
  patch.get_object().erase("status");
  json::object& metadata = patch.get_object()["metadata"].get_object();
  metadata.erase("uid");
  metadata["resourceVersion"] = version;
  return api::applyMergePatch(before, patch);
}

}  // namespace

Result<std::string> ScratchServer::answer(const kube::Request& request) {
  if (request.verb == kube::Verb::Get || request.verb == kube::Verb::List)
    return fail(ErrorCode::Unavailable, "a simulation reads nothing from the API server");
  if (request.group.empty() && request.resource == "pods") return answerPod(request);
  if (request.verb == kube::Verb::Patch && storedResource(request.group, request.resource))
    return patchStored(request);
  return request.body.starts_with('{') ? request.body : std::string("{}");
}

Result<std::string> ScratchServer::answerPod(const kube::Request& request) {
  if (request.subresource == "binding") return bind(request);
  if (request.verb == kube::Verb::Delete) return remove(request);
  if (request.verb == kube::Verb::Patch) return patchPod(request);
  return fail(ErrorCode::Unavailable, "not part of a simulation");
}

ScratchServer::PodObject ScratchServer::podOf(const std::string& uid,
                                              const api::ObjectKey& key) const {
  if (const auto it = changed_.find(uid); it != changed_.end()) return it->second;
  const auto& waiting = scheduler_.pendingPods();
  if (const auto it = waiting.find(uid); it != waiting.end()) return it->second->pod;
  if (const auto* record = scheduler_.cluster().findPod(uid)) return record->info->pod;
  if (!uid.empty()) return nullptr;
  const PodPtr pending = scheduler_.pending(key);
  return pending ? pending->pod : nullptr;
}

void ScratchServer::deliver(const PodObject& before, std::shared_ptr<api::Pod> after) {
  after->metadata.resourceVersion = nextVersion();
  changed_[after->metadata.uid] = after;
  executor_.post([this, before, after] {
    const auto last = changed_.find(after->metadata.uid);
    if (last != changed_.end() && last->second == after) changed_.erase(last);
    scheduler_.podUpdated(before, after);
  });
}

Result<std::string> ScratchServer::bind(const kube::Request& request) {
  auto binding = kube::objectIn<api::Binding>(request.body);
  if (!binding) return fail(std::move(binding.error()));
  const PodObject before = podOf(binding->metadata.uid, keyIn(request));
  if (!before) return fail(ErrorCode::NotFound, "the pod does not exist");
  if (!before->spec.nodeName.empty()) return "{}";
  auto after = std::make_shared<api::Pod>(*before);
  after->spec.nodeName = binding->target.name;
  for (const auto& [key, value] : binding->metadata.annotations)
    after->metadata.annotations[key] = value;
  deliver(before, std::move(after));
  return "{}";
}

Result<std::string> ScratchServer::remove(const kube::Request& request) {
  const auto options = parseJson(request.body);
  const std::string uid(options ? textAt(*options, "preconditions", "uid") : std::string_view());
  if (!podOf(uid, keyIn(request))) return fail(ErrorCode::NotFound, "the pod does not exist");
  deletePod(uid);
  return "{}";
}

// It terminates, and is gone one turn later.
void ScratchServer::deletePod(const std::string& uid) {
  const PodObject before = podOf(uid, {});
  if (!before) return;
  auto after = std::make_shared<api::Pod>(*before);
  after->metadata.deletionTimestamp = executor_.wallNow();
  deliver(before, after);
  executor_.post([this, uid, after] {
    const PodObject last = podOf(uid, {});
    if (!last) return;
    if (scheduler_.cluster().findPod(uid)) useBudgets(*last);
    scheduler_.podDeleted(last);
  });
}

void ScratchServer::endPod(const std::string& uid) {
  const PodObject last = podOf(uid, {});
  if (!last) return;
  changed_.erase(uid);
  scheduler_.podDeleted(last);
}

void ScratchServer::useBudgets(const api::Pod& pod) {
  auto& store = scheduler_.stores().of<api::PodDisruptionBudget>();
  for (const auto& before : disruptionBudgetsOf(*scheduler_.profiles().begin()->second).of(pod)) {
    auto after = std::make_shared<api::PodDisruptionBudget>(*before);
    for (std::int32_t* count : {&after->status.disruptionsAllowed, &after->status.currentHealthy})
      *count = std::max(0, *count - 1);
    after->metadata.resourceVersion = nextVersion();
    store.set(std::move(after));
  }
}

Result<std::string> ScratchServer::patchPod(const kube::Request& request) {
  const auto patch = parseJson(request.body);
  if (!patch) return fail(ErrorCode::Invalid, "not a patch");
  const PodObject before = podOf(std::string(textAt(*patch, "metadata", "uid")), keyIn(request));
  if (!before) return fail(ErrorCode::NotFound, "the pod does not exist");
  auto after = std::make_shared<api::Pod>(*before);
  if (request.subresource == "status") {
    applyStatus(*after, *patch);
  } else {
    applyMap(after->metadata.annotations, at(*patch, "metadata", "annotations"));
    applyMap(after->metadata.labels, at(*patch, "metadata", "labels"));
  }
  deliver(before, std::move(after));
  return "{}";  // no caller reads it
}

Result<std::string> ScratchServer::patchStored(const kube::Request& request) {
  const StoredKind& kind = *storedResource(request.group, request.resource);
  const auto patch = parseJson(request.body);
  if (!patch) return fail(ErrorCode::Invalid, "not a patch");
  const json::value before = kind.get(scheduler_.stores(), keyIn(request));
  if (before.is_null()) return fail(ErrorCode::NotFound, "the object does not exist");
  auto after = api::applyMergePatch(before, *patch);
  if (!after) return fail(std::move(after.error()));
  if (auto* metadata = find(*after, "metadata"); metadata && metadata->is_object())
    metadata->get_object()["resourceVersion"] = nextVersion();
  std::string text = toJson(*after);
  executor_.post([this, &kind, key = keyIn(request), object = *std::move(after)] {
    if (!kind.get(scheduler_.stores(), key).is_null()) (void)kind.set(scheduler_.stores(), object);
  });
  return text;
}

void ScratchServer::createPod(std::shared_ptr<api::Pod> pod) {
  pod->metadata.resourceVersion = nextVersion();
  transformPod(*pod, scheduler_.podTransforms());
  scheduler_.podAdded(std::move(pod));
}

Result<bool> ScratchServer::create(const json::value& object) {
  const StoredKind* kind =
      storedKind(groupOf(textAt(object, "apiVersion")), textAt(object, "kind"));
  if (!kind) return fail(ErrorCode::Invalid, "unknown kind");
  const api::ObjectKey key{std::string(textAt(object, "metadata", "namespace")),
                           std::string(textAt(object, "metadata", "name"))};
  const json::value before = kind->get(scheduler_.stores(), key);
  const bool fresh = before.is_null();
  auto after = fresh ? Result<json::value>(object) : applied(before, object, nextVersion());
  if (!after) return fail(std::move(after.error()));
  if (auto set = kind->set(scheduler_.stores(), *after); !set) return fail(std::move(set.error()));
  return fresh;
}

void ScratchServer::createNode(std::shared_ptr<api::Node> node) {
  node->metadata.resourceVersion = nextVersion();
  transformNode(*node);
  scheduler_.nodeAdded(std::move(node));
}

bool ScratchServer::cordon(const std::string& name) {
  const Cluster& cluster = scheduler_.cluster();
  const auto id = cluster.findNode(name);
  if (!id || !cluster.node(*id).object) return false;
  const auto before = cluster.node(*id).object;
  auto after = std::make_shared<api::Node>(*before);
  after->spec.unschedulable = true;
  // As Kubernetes' node controller marks such nodes.
  api::Taint taint;
  taint.key = "node.kubernetes.io/unschedulable";
  taint.effect = "NoSchedule";
  const auto known = std::ranges::find(after->spec.taints, taint.key, &api::Taint::key);
  if (known == after->spec.taints.end()) after->spec.taints.push_back(std::move(taint));
  after->metadata.resourceVersion = nextVersion();
  scheduler_.nodeUpdated(before, after);
  return true;
}

bool ScratchServer::deleteNode(const std::string& name) {
  const Cluster& cluster = scheduler_.cluster();
  const auto id = cluster.findNode(name);
  if (!id || !cluster.node(*id).object) return false;
  scheduler_.nodeDeleted(cluster.node(*id).object);
  return true;
}

}  // namespace koord::scheduler::oracle
