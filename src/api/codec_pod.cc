#include "api/codec_impl.h"
#include "api/describe_pod.h"

namespace koord::api {

bool isTerminal(const Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::Pod)
KOORD_OBJECT_CODEC(koord::api::Binding)
KOORD_CODEC(koord::api::PodTemplateSpec)
KOORD_CODEC(koord::api::PodSpec)
KOORD_CODEC(koord::api::PodStatus)
KOORD_CODEC(koord::api::Affinity)
