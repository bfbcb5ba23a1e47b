#include "manager/common/node_objects.h"

#include "api/patch/merge_patch.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

bool sameAnnotation(const api::Node& a, const api::Node& b, std::string_view key) {
  const auto* left = api::findIn(a.metadata.annotations, key);
  const auto* right = api::findIn(b.metadata.annotations, key);
  return left && right ? *left == *right : left == right;
}

}  // namespace

std::optional<json::value> specPatch(const json::value& from, const json::value& to) {
  auto patch = api::createMergePatch(from.is_object() ? from : json::value(json::object{}), to);
  if (!patch || (patch->is_object() && patch->get_object().empty())) return std::nullopt;
  return *std::move(patch);
}

bool nodeChanged(const api::Node& before, const api::Node& after) {
  return before.status.allocatable != after.status.allocatable ||
         before.metadata.labels != after.metadata.labels ||
         !sameAnnotation(before, after, model::kAnnotationColocationStrategy) ||
         !sameAnnotation(before, after, model::kAnnotationNetworkBandwidth);
}

}  // namespace koord::manager
