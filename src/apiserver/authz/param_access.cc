#include "apiserver/authz/param_access.h"
#include "api/group_version.h"

#include <fmt/format.h>

namespace koord::apiserver {
namespace {

// Group, version and resource of a kind; "*" where they are not known.
struct ParamResource {
  std::string group = "*", version = "*", plural = "*";
};

ParamResource resourceOf(const Registry& registry, const json::value& kind) {
  ParamResource out;
  if (!kind.is_object()) return out;
  const auto [group, version] = api::splitApiVersion(textAt(kind, "apiVersion"));
  out.group = group;
  out.version = version;
  if (const auto resource = registry.findByKind(out.group, textAt(kind, "kind")))
    out.plural = resource->plural;
  return out;
}

bool isAllowed(Authorizer& authorizer, const User& user, std::string_view verb,
               const ParamResource& params, std::string_view namespace_, std::string_view name) {
  return authorizer
      .authorize({.user = user,
                  .verb = verb,
                  .path = {},
                  .group = params.group,
                  .resource = params.plural,
                  .subresource = {},
                  .namespace_ = namespace_,
                  .name = name,
                  .selectedNode = {}})
      .allowed;
}

std::unexpected<Failure> forbidden(const Resource& resource, const json::value& object,
                                   const char* field, std::string why) {
  return refuse(
      FieldErrors()
          .forbidden(field, std::move(why))
          .failure(resource.kind + "." + resource.group, textAt(object, "metadata", "name")));
}

}  // namespace

Outcome<> admitParamAccess(Authorizer& authorizer, const Registry& registry, Store& store,
                           const User& user, const Resource& resource, const json::value& object,
                           const json::value* old) {
  if (resource.group != "admissionregistration.k8s.io" || isMaster(user)) return {};
  const json::value& spec = memberOf(object, "spec");
  const json::value none;
  const json::value& before = old ? memberOf(*old, "spec") : none;
  if (resource.plural.ends_with("admissionpolicies")) {
    const json::value& kind = memberOf(spec, "paramKind");
    if (!kind.is_object() || memberOf(before, "paramKind") == kind) return {};
    if (isAllowed(authorizer, user, "get", resourceOf(registry, kind), "*", "*")) return {};
    return forbidden(
        resource, object, "spec.paramKind",
        fmt::format("user {} must have \"get\" permission on all objects of the referenced "
                    "paramKind (kind={}, apiVersion={})",
                    user.name, textAt(kind, "kind"), textAt(kind, "apiVersion")));
  }
  if (!resource.plural.ends_with("admissionpolicybindings")) return {};
  const json::value& ref = memberOf(spec, "paramRef");
  const auto policyName = textAt(spec, "policyName");
  if (!ref.is_object() ||
      (memberOf(before, "paramRef") == ref && textAt(before, "policyName") == policyName))
    return {};
  const std::string table = resource.plural == "mutatingadmissionpolicybindings"
                                ? "mutatingadmissionpolicies.admissionregistration.k8s.io"
                                : "validatingadmissionpolicies.admissionregistration.k8s.io";
  const auto entry = store.table(table).find(std::string(policyName));
  const auto policy = entry ? parseJson(entry->text) : Result<json::value>(json::value());
  const ParamResource params =
      resourceOf(registry, policy ? memberOf(memberOf(*policy, "spec"), "paramKind") : none);
  const auto name = textAt(ref, "name");
  const std::string_view verb = name.empty() ? "list" : "get";
  if (isAllowed(authorizer, user, verb, params, textAt(ref, "namespace"), name)) return {};
  if (!entry)
    return forbidden(
        resource, object, "spec.paramRef",
        fmt::format("unable to get policy {} to determine minimum required permissions and user {} "
                    "does not have \"{}\" permission for all groups, versions and resources",
                    policyName, user.name, verb));
  return forbidden(
      resource, object, "spec.paramRef",
      fmt::format("user {} does not have \"{}\" permission on the object referenced by "
                  "paramRef",
                  user.name, verb));
}

}  // namespace koord::apiserver
