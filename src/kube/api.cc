#include "kube/api.h"

namespace koord::kube {

std::string_view contentTypeOf(PatchType type) {
  switch (type) {
    case PatchType::Json:
      return "application/json-patch+json";
    case PatchType::Merge:
      return "application/merge-patch+json";
    case PatchType::Strategic:
      return "application/strategic-merge-patch+json";
    case PatchType::Apply:
      return "application/apply-patch+yaml";
  }
  return "application/json";
}

Request makeRequest(Verb verb, const api::ResourceType& type, const api::ObjectKey& key) {
  Request request;
  request.verb = verb;
  request.group = type.group;
  request.version = type.version;
  request.resource = type.plural;
  request.namespace_ = key.namespace_;
  request.name = key.name;
  return request;
}

}  // namespace koord::kube
