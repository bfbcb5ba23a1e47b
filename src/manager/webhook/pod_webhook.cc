#include "manager/webhook/pod_webhook.h"

#include "api/codec.h"
#include "api/schema/builtin.h"
#include "manager/webhook/device_resources.h"
#include "manager/webhook/json_diff.h"
#include "manager/webhook/pod_edit.h"

namespace koord::manager {

namespace {

bool isPod(const api::AdmissionRequest& request) {
  return request.resource.group.empty() && request.resource.resource == "pods" &&
         request.subResource.empty();
}

// For a pod that is being created, often only the request has the namespace. The pod gets it for
// the evaluation; it is removed before documents are compared.
void setNamespaceForRules(const api::AdmissionRequest& request, json::value& pod) {
  if (textAt(pod, "metadata", "namespace").empty())
    objectIn(pod.get_object(), "metadata")["namespace"] = textValue(request.namespace_);
}

void removeNamespaceForRules(const json::value& original, json::value& pod) {
  if (!textAt(original, "metadata", "namespace").empty()) return;
  json::object& metadata = objectIn(pod.get_object(), "metadata");
  const json::value* said = find(original, "metadata");
  if (const json::value* empty = said ? find(*said, "namespace") : nullptr) {
    metadata["namespace"] = *empty;
    return;
  }
  metadata.erase("namespace");
  if (!metadata.empty() || (said && said->is_object())) return;
  if (said) {
    pod.get_object()["metadata"] = *said;
  } else {
    pod.get_object().erase("metadata");
  }
}

}  // namespace

PodWebhook::PodWebhook(kube::Api& api, Executor& executor, Metrics& metrics, Random random,
                       Options options, Others others)
    : executor_(executor),
      metrics_(metrics),
      random_(random),
      options_(options),
      quotas_(others.quotas),
      rules_(others.rules),
      takeOver_(others.takeOver),
      types_(api::builtinTypes()),
      profiles_(api, executor, random_.fork()) {}

void PodWebhook::start() {
  profiles_.start();
}

bool PodWebhook::synced() const {
  return profiles_.synced();
}

Task<Result<>> PodWebhook::applyMatchingProfiles(std::string namespace_, json::value& pod) {
  const auto before = api::decode<api::Pod>(pod);
  if (!before) co_return fail(before.error());
  const std::vector<ProfilePtr> all = profiles_.profiles();
  // If the namespace cannot be found, only pods whose profiles depend on it are refused.
  api::StringMap labels;
  if (dependsOnNamespace(all, before->metadata.labels)) {
    auto labelsTask = profiles_.namespaceLabels(std::move(namespace_));
    auto found = co_await labelsTask;
    if (!found) co_return fail(std::move(found.error()));
    labels = *std::move(found);
  }

  std::vector<std::string> broken;
  const auto matching = matchProfiles(all, labels, before->metadata.labels, &broken);
  for (const auto& problem : broken)
    log::warn("ClusterColocationProfile {} matches nothing", problem);
  if (matching.empty()) co_return Result<>();

  auto classesTask = profiles_.priorityClasses(matching);
  const auto classes = co_await classesTask;
  if (!classes) co_return fail(classes.error());
  const ProfileContext context{lookupIn(*classes), *types_.find("Pod"), random_};
  co_return mutateByProfiles(matching, context, options_.mutation, pod);
}

Task<Verdict> PodWebhook::mutate(api::AdmissionRequest request) {
  if (!isPod(request) || request.operation != "CREATE") co_return allow();
  const SteadyTime began = executor_.steadyNow();
  json::value pod = request.object;
  if (!pod.is_object()) co_return refuse(400, "request.object: is not a pod");
  setNamespaceForRules(request, pod);
  auto ready = profiles_.waitUntilSynced();
  Result<> profiles = co_await ready;
  if (profiles) {
    auto task = applyMatchingProfiles(std::string(textAt(pod, "metadata", "namespace")), pod);
    profiles = co_await task;
  }
  if (profiles && takeOver_) {
    auto task = takeOver_->apply(&profiles_, std::string(textAt(pod, "metadata", "namespace")),
                                 request.dryRun, &pod);
    co_await task;
  }
  co_return finishMutation(request, std::move(pod), began, profiles);
}

Verdict PodWebhook::finishMutation(const api::AdmissionRequest& request, json::value pod,
                                   SteadyTime began, const Result<>& profiles) {
  const auto observe = [&](std::string_view plugin, bool allowed) {
    const SteadyTime now = executor_.steadyNow();
    metrics_.webhookRan("mutate", "Pod", request.operation, plugin, allowed, now - began);
    began = now;
  };
  observe("ClusterColocationProfile", profiles.has_value());
  if (!profiles)
    return refuse(profiles.error().code == ErrorCode::BadRequest ? 400 : 500,
                  profiles.error().message);
  if (!options_.mutation.disableExtendedResourceSpec) {
    const auto noted = mutateExtendedResourceSpec(pod, options_.mutation.extendedResources);
    observe("ExtendedResourceSpec", noted.has_value());
    if (!noted) return refuse(500, noted.error().message);
  }
  if (quotas_) {
    quotas_->requireNodesOfTree(std::string(textAt(pod, "metadata", "namespace")), pod);
    observe("MultiQuotaTree", true);
  }
  if (!options_.mutation.disableDeviceResourceSpec) {
    expandDeviceResources(pod);
    observe("DeviceResourceSpec", true);
  }
  removeNamespaceForRules(request.object, pod);
  Verdict verdict = allow();
  verdict.patch = createJsonPatch(request.object, pod);
  return verdict;
}

Task<Result<>> PodWebhook::checkPod(const api::AdmissionRequest& request, const api::Pod& pod,
                                    const api::Pod* old) {
  SteadyTime began = executor_.steadyNow();
  const auto judged = [&](std::string_view plugin, std::optional<std::string> problem) -> Result<> {
    const SteadyTime now = executor_.steadyNow();
    metrics_.webhookRan("validate", "Pod", request.operation, plugin, !problem, now - began);
    began = now;
    if (problem) return fail(ErrorCode::Invalid, *std::move(problem));
    return {};
  };
  if (auto ok = judged("ClusterReservation", checkReservedAnnotation(pod)); !ok) co_return ok;
  auto ok = judged("ClusterColocationProfile", checkQosAndPriority(pod, old, options_.validation));
  if (!ok) co_return ok;
  if (quotas_) ok = judged("QuotaMetaChecker", quotas_->check(pod, old));
  if (ok && options_.validation.checkDevices)
    ok = judged("DeviceResource", checkDeviceResources(pod));
  if (ok && rules_) ok = judged("EnhancedValidation", rules_->check(pod));
  if (!ok || !quotas_) co_return ok;
  // Last, because a pod that is refused afterwards would stay charged.
  auto evaluating = quotas_->evaluate(pod, old, request.dryRun);
  Result<> evaluated = co_await evaluating;
  (void)judged("EvaluateQuota",
               evaluated ? std::nullopt : std::optional(evaluated.error().message));
  co_return evaluated;
}

Task<Verdict> PodWebhook::validate(api::AdmissionRequest request) {
  if (!isPod(request) || (request.operation != "CREATE" && request.operation != "UPDATE"))
    co_return allow();
  if (!request.object.is_object()) co_return refuse(400, "request.object: is not a pod");
  auto pod = api::decode<api::Pod>(request.object);
  if (!pod) co_return refuse(400, pod.error().message);
  if (pod->metadata.namespace_.empty()) pod->metadata.namespace_ = request.namespace_;
  std::optional<api::Pod> old;
  if (request.operation == "UPDATE") {
    auto decoded = api::decode<api::Pod>(request.oldObject);
    if (!decoded) co_return refuse(400, decoded.error().message);
    old = *std::move(decoded);
  }
  auto checking = checkPod(request, *pod, old ? &*old : nullptr);
  const Result<> checked = co_await checking;
  if (!checked) co_return refuse(400, checked.error().message);
  co_return allow();
}

}  // namespace koord::manager
