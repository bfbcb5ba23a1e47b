#include "descheduler/migration/evictor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/time.h"
#include "descheduler/migration/keys.h"
#include "kube/client.h"

namespace koord::descheduler {

namespace {

bool isPolicy(std::string_view name) {
  return name == "Eviction" || name == "Delete" || name == "SoftEviction";
}

}  // namespace

bool isSoftEvicted(const api::Pod& pod) {
  return api::findIn(pod.metadata.annotations, kAnnotationSoftEviction) != nullptr;
}

std::string PodEvictor::policyOf(const api::PodMigrationJob& job, const api::Pod& pod) const {
  for (const auto* labels : {&pod.metadata.labels, &job.metadata.labels})
    if (const std::string* policy = api::findIn(*labels, kLabelEvictPolicy))
      return isPolicy(*policy) ? *policy : args_.evictionPolicy;
  return args_.evictionPolicy;
}

Duration PodEvictor::takeToken() {
  const SteadyTime now = handle_.executor().steadyNow();
  if (refilled_ != SteadyTime{}) {
    const double passed = std::chrono::duration<double>(now - refilled_).count();
    tokens_ = std::min(static_cast<double>(args_.evictBurst), tokens_ + passed * args_.evictQPS);
  }
  refilled_ = now;
  if (tokens_ < 1 - 1e-9) {
    const std::chrono::duration<double> missing((1 - tokens_) / args_.evictQPS);
    return std::chrono::duration_cast<Duration>(missing) + std::chrono::milliseconds(1);
  }
  tokens_ -= 1;
  return {};
}

json::object PodEvictor::deleteOptionsOf(const api::PodMigrationJob& job,
                                         const api::Pod& pod) const {
  const json::value& configured =
      job.spec.deleteOptions.is_object() ? job.spec.deleteOptions : args_.defaultDeleteOptions;
  json::object options = configured.is_object() ? configured.get_object() : json::object();
  json::value& conditions = options["preconditions"];
  if (!conditions.is_object()) conditions = json::object();
  conditions.get_object()["uid"] = pod.metadata.uid;
  return options;
}

Task<Result<>> PodEvictor::requestEviction(JobPtr job, std::shared_ptr<const api::Pod> pod) {
  json::object asked{{"timestamp", formatTime(handle_.executor().wallNow())},
                     {"initiator", json::string(annotationOf(*job, kAnnotationEvictTrigger))},
                     {"reason", evictReasonOf(*job)}};
  const json::value& options =
      job->spec.deleteOptions.is_object() ? job->spec.deleteOptions : args_.defaultDeleteOptions;
  if (options.is_object()) asked["deleteOptions"] = options;
  json::object annotations;
  annotations[kAnnotationSoftEviction] = toJson(json::value(std::move(asked)));
  json::value patch =
      json::object{{"metadata", json::object{{"uid", pod->metadata.uid},
                                             {"annotations", std::move(annotations)}}}};
  auto patching = kube::patchOnly(handle_.api(), api::Pod::kType, api::keyOf(pod->metadata),
                                  kube::PatchType::Strategic, std::move(patch));
  auto done = co_await patching;
  co_return done;
}

Task<Result<>> PodEvictor::evictByPolicy(JobPtr job, std::shared_ptr<const api::Pod> pod,
                                         std::string policy) {
  if (policy == "SoftEviction") {
    auto asking = requestEviction(job, pod);
    auto asked = co_await asking;
    co_return asked;
  }
  const api::ObjectKey key = api::keyOf(pod->metadata);
  json::object options = deleteOptionsOf(*job, *pod);
  kube::Request request = kube::makeRequest(
      policy == "Delete" ? kube::Verb::Delete : kube::Verb::Create, api::Pod::kType, key);
  if (policy == "Delete") {
    options["apiVersion"] = "v1";
    options["kind"] = "DeleteOptions";
    request.body = toJson(json::value(std::move(options)));
  } else {
    request.subresource = "eviction";
    request.body = toJson(json::value(
        json::object{{"apiVersion", "policy/v1"},
                     {"kind", "Eviction"},
                     {"metadata", json::object{{"namespace", key.namespace_}, {"name", key.name}}},
                     {"deleteOptions", std::move(options)}}));
  }
  auto calling = handle_.api().call(std::move(request));
  auto reply = co_await calling;
  if (reply) co_return Result<>();
  Error error = std::move(reply.error());
  if (error.code == ErrorCode::TooManyRequests) {
    error.message =
        fmt::format("error when evicting pod (ignoring) \"{}\": {}", key.name, error.message);
  } else if (error.code == ErrorCode::NotFound) {
    error.message = fmt::format("pod not found when evicting \"{}\": {}", key.name, error.message);
  }
  co_return fail(std::move(error));
}

Task<Result<>> PodEvictor::evict(JobPtr job, std::shared_ptr<const api::Pod> pod) {
  const std::string policy = policyOf(*job, *pod);
  auto carrying = evictByPolicy(job, pod, policy);
  auto done = co_await carrying;
  const std::string trigger(annotationOf(*job, kAnnotationEvictTrigger));
  const std::string& node = pod->spec.nodeName;
  handle_.metrics().podEvicted(done ? "success" : "error", trigger, pod->metadata.namespace_, node);
  if (!done) co_return done;
  const std::string reason = evictReasonOf(*job);
  log::v(1, "pod {} evicted from node {} by {}: {} ({})", api::keyOf(pod->metadata).toString(),
         node, trigger, reason, policy);
  handle_.events().record(
      kube::referenceTo(api::Pod::kType, pod->metadata), "Normal", "Descheduled",
      fmt::format("Pod evicted from node \"{}\" by the reason \"{}\"", node, reason),
      "Descheduling");
  co_return done;
}

Task<Result<>> PodEvictor::revert(api::ObjectKey pod, std::string uid) {
  json::object annotations;
  annotations[kAnnotationSoftEviction] = nullptr;
  json::value patch = json::object{
      {"metadata", json::object{{"uid", uid}, {"annotations", std::move(annotations)}}}};
  auto patching = kube::patchOnly(handle_.api(), api::Pod::kType, pod, kube::PatchType::Merge,
                                  std::move(patch));
  auto done = co_await patching;
  co_return done;
}

}  // namespace koord::descheduler
