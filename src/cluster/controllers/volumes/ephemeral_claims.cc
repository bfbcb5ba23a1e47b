#include "cluster/controllers/volumes/ephemeral_claims.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cluster/controllers/ownership.h"
#include "cluster/controllers/pod_control.h"
#include "kube/client.h"

namespace koord::cluster {

EphemeralClaims::EphemeralClaims(kube::Api& api, Executor& executor,
                                 kube::Informer<api::PersistentVolumeClaim>& claims,
                                 kube::Informer<api::Pod>& pods, kube::EventRecorder& events)
    : api_(api),
      claims_(claims),
      pods_(pods),
      events_(events),
      queue_(executor, "ephemeral-volume",
             [this](std::string key) { return sync(std::move(key)); }) {
  const auto seen = [this](const PodPtr& pod) {
    if (!isActive(*pod)) return;
    for (const auto& volume : pod->spec.volumes)
      if (!volume.ephemeral.is_null()) queue_.add(api::keyOf(pod->metadata).toString());
  };
  pods_.addHandler({seen, [seen](const auto&, const PodPtr& pod) { seen(pod); }, {}});
  // A deleted claim is created again while its pod exists.
  claims_.addHandler({{}, {}, [this](const auto& claim) {
                        const auto* owner = api::controllerOf(claim->metadata);
                        if (owner && owner->kind == "Pod")
                          queue_.add(claim->metadata.namespace_ + "/" + owner->name);
                      }});
}

Task<Result<>> EphemeralClaims::sync(std::string key) {
  const PodPtr pod = pods_.get(keyOfText(key));
  if (!pod || !isActive(*pod)) co_return Result<>{};
  for (const auto& volume : pod->spec.volumes) {
    if (volume.ephemeral.is_null()) continue;
    const std::string name = pod->metadata.name + "-" + volume.name;
    const auto claim = claims_.get({pod->metadata.namespace_, name});
    const auto* owner = claim ? api::controllerOf(claim->metadata) : nullptr;
    if (owner && owner->uid == pod->metadata.uid) continue;
    if (claim) {
      events_.record(
          kube::referenceTo(api::Pod::kType, pod->metadata), "Warning", "FailedBinding",
          fmt::format(
              "ephemeral volume {}: PVC {}/{} was not created for pod {} (pod is not owner)",
              volume.name, pod->metadata.namespace_, name, key));
      continue;
    }
    auto creating = create(pod, volume);
    auto created = co_await creating;
    if (!created) co_return created;
  }
  co_return Result<>{};
}

Task<Result<>> EphemeralClaims::create(PodPtr pod, const api::Volume& volume) {
  json::object metadata;
  if (const auto* given = at(volume.ephemeral, "volumeClaimTemplate", "metadata"))
    for (const char* field : {"labels", "annotations"})
      if (const auto* value = find(*given, field)) metadata[field] = *value;
  metadata["name"] = pod->metadata.name + "-" + volume.name;
  metadata["namespace"] = pod->metadata.namespace_;
  metadata["ownerReferences"] = controlledBy({api::Pod::kType, pod->metadata});
  const auto* spec = at(volume.ephemeral, "volumeClaimTemplate", "spec");
  json::value claim = json::object{{"apiVersion", "v1"},
                                   {"kind", "PersistentVolumeClaim"},
                                   {"metadata", std::move(metadata)},
                                   {"spec", spec ? *spec : json::value(json::object{})}};
  const api::ObjectKey target{pod->metadata.namespace_, ""};
  auto creating =
      kube::createObject(api_, api::PersistentVolumeClaim::kType, target, std::move(claim));
  auto created = co_await creating;
  if (!created && created.error().code != ErrorCode::AlreadyExists)
    co_return fail(std::move(created.error()));
  co_return Result<>{};
}

}  // namespace koord::cluster
