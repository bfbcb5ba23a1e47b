#include "api/codec_impl.h"
#include "api/describe_pod.h"

namespace koord::api {

bool isTerminal(const Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

}  // namespace koord::api

KOORD_FIELDS(koord::api::ResourceRequirements)
KOORD_FIELDS(koord::api::NodeSelector)
KOORD_FIELDS(koord::api::NodeSelectorTerm)
KOORD_FIELDS(koord::api::Taint)
KOORD_FIELDS(koord::api::PodSpec)
KOORD_FIELDS(koord::api::PodTemplateSpec)

KOORD_OBJECT_CODEC(koord::api::Pod)
KOORD_OBJECT_CODEC(koord::api::Binding)
KOORD_CODEC(koord::api::PodTemplateSpec)
KOORD_CODEC(koord::api::PodSpec)
KOORD_CODEC(koord::api::PodStatus)
KOORD_CODEC(koord::api::Container)
KOORD_CODEC(koord::api::ContainerStatus)
KOORD_CODEC(koord::api::Affinity)
