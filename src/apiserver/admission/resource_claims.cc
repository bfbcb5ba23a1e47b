#include "apiserver/admission/resource_claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "api/resource_claims.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/resource_status.h"
#include "apiserver/objects/resource_versions.h"
#include "apiserver/objects/validate_resource.h"
#include "kube/verb_name.h"

namespace koord::apiserver {
namespace {

constexpr const char* kNodeNameExtra = "authentication.kubernetes.io/node-name";

// The path of the first field that grants administrative access; "" if there is none.
std::string adminPath(const json::value& object, const json::value* before,
                      const Resource& resource) {
  if (!before) {
    const auto index = adminRequestOf(object, resource);
    return index ? fmt::format("spec.devices.requests[{}].adminAccess", *index) : "";
  }
  const auto granted = [](const json::value& claim) -> std::optional<std::size_t> {
    const auto* results = at(claim, "status", "allocation", "devices", "results");
    for (std::size_t i = 0; results && results->is_array() && i < results->get_array().size(); ++i)
      if (flagAt(results->get_array()[i], "adminAccess")) return i;
    return std::nullopt;
  };
  const auto index = granted(object);
  if (!index || granted(*before)) return "";
  return fmt::format("status.allocation.devices.results[{}].adminAccess", *index);
}

// The node that an allocation is limited to by its name; "" if there is none.
std::string_view nodeOf(const json::value& claim) {
  const auto* terms = at(claim, "status", "allocation", "nodeSelector", "nodeSelectorTerms");
  if (!terms || !terms->is_array() || terms->get_array().size() != 1) return {};
  const auto& term = terms->get_array().front();
  const auto* fields = arrayAt(term, "matchFields");
  if (arrayAt(term, "matchExpressions") || !fields || fields->size() != 1) return {};
  const auto& field = fields->front();
  const auto* values = arrayAt(field, "values");
  if (textAt(field, "key") != "metadata.name" || textAt(field, "operator") != "In" || !values ||
      values->size() != 1 || !values->front().is_string())
    return {};
  return values->front().get_string();
}

bool isOnNode(const User& user, std::string_view node) {
  if (node.empty() || !user.name.starts_with("system:serviceaccount:")) return false;
  const auto extra = user.extra.find(kNodeNameExtra);
  return extra != user.extra.end() && extra->second.size() == 1 && extra->second.front() == node;
}

// The drivers of entries of status.devices that were added, changed or removed.
std::set<std::string> changedDrivers(const json::value& object, const json::value& before) {
  const auto byId = [](const json::value& claim) {
    std::map<std::string, const json::value*> out;
    const auto* devices = at(claim, "status", "devices");
    if (devices && devices->is_array())
      for (const auto& device : devices->get_array()) out[deviceIdOf(device)] = &device;
    return out;
  };
  const auto now = byId(object);
  auto old = byId(before);
  std::set<std::string> drivers;
  for (const auto& [id, device] : now) {
    const auto known = old.find(id);
    if (known == old.end() || *known->second != *device) drivers.emplace(textAt(*device, "driver"));
    if (known != old.end()) old.erase(known);
  }
  for (const auto& [id, device] : old) drivers.emplace(textAt(*device, "driver"));
  return drivers;
}

// Why the user may not do this with a part of claims; "" if it is allowed.
std::string denied(Authorizer& authorizer, const Call& call, std::string_view verb,
                   std::string_view part, std::string_view namespace_, std::string_view name) {
  const Attributes attributes{.user = call.user,
                              .verb = verb,
                              .path = {},
                              .group = kResourceGroup,
                              .resource = "resourceclaims",
                              .subresource = part,
                              .namespace_ = namespace_,
                              .name = name,
                              .selectedNode = {}};
  const auto decision = authorizer.authorize(attributes);
  return decision.allowed ? "" : forbiddenReply(attributes, decision.reason).error->message;
}

Outcome<> verdictOf(const FieldErrors& errors, const json::value& object) {
  return errors.verdict(fmt::format("{}.{}", textAt(object, "kind"), kResourceGroup),
                        textAt(object, "metadata", "name"));
}

}  // namespace

Outcome<> admitAdminAccess(const json::value& object, const json::value* before,
                           const Resource& resource, Store& store) {
  if (resource.group != kResourceGroup || !resource.namespaced) return {};
  auto path = adminPath(object, before, resource);
  if (path.empty()) return {};
  const auto entry = store.table("namespaces").find(textAt(object, "metadata", "namespace"));
  if (entry)
    if (const auto it = entry->labels.find(api::kAdminAccessLabel);
        it != entry->labels.end() && it->second == "true")
      return {};
  return verdictOf(FieldErrors().forbidden(
                       std::move(path),
                       fmt::format("admin access to devices requires the `{}: true` label on the "
                                   "containing namespace",
                                   api::kAdminAccessLabel)),
                   object);
}

Outcome<> admitClaimStatus(const Call& call, const json::value& object, const json::value& before,
                           Authorizer& authorizer) {
  FieldErrors errors;
  const std::string verb(kube::verbName(call.request.verb));
  const auto& status = memberOf(object, "status");
  const auto& old = memberOf(before, "status");
  if (memberOf(status, "allocation") != memberOf(old, "allocation") ||
      memberOf(status, "reservedFor") != memberOf(old, "reservedFor"))
    if (const auto why = denied(authorizer, call, verb, "binding", {}, {}); !why.empty())
      errors.forbidden(
          "status.allocation",
          fmt::format("changing status.allocation or status.reservedFor requires "
                      "resource=\"resourceclaims/binding\", verb=\"{}\" permission: {}",
                      verb, why));
  if (find(status, "allocation")) {
    std::vector<std::string> verbs;
    if (isOnNode(call.user, nodeOf(object))) verbs.push_back("associated-node:" + verb);
    verbs.push_back("arbitrary-node:" + verb);
    for (const auto& driver : changedDrivers(object, before)) {
      std::string why;
      for (const auto& one : verbs) {
        auto reason = denied(authorizer, call, one, "driver",
                             textAt(object, "metadata", "namespace"), driver);
        if (reason.empty()) {
          why.clear();
          break;
        }
        if (why.empty()) why = std::move(reason);
      }
      if (!why.empty())
        errors.forbidden("status.devices",
                         fmt::format("changing status.devices requires "
                                     "resource=\"resourceclaims/driver\", verb=\"[{}]\" "
                                     "permission: {}",
                                     fmt::join(verbs, " "), why));
    }
  }
  return verdictOf(errors, object);
}

}  // namespace koord::apiserver
