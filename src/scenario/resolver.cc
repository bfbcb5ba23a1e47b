#include "scenario/resolver.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/group_version.h"
#include "kube/client.h"
#include "scenario/jmespath.h"

namespace koord::scenario {
namespace {

constexpr api::ResourceType kCrds{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                  "CustomResourceDefinition", false};

}  // namespace

Task<Result<std::string>> Environment::discover(std::string path) {
  co_return fail(ErrorCode::NotFound, path + ": no discovery is available");
}

const TypeResolver::Known* TypeResolver::find(const std::string& group, const std::string& version,
                                              const std::string& kind) const {
  const auto it = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return known.group == group && known.version == version && known.kind == kind;
  });
  return it == known_.end() ? nullptr : &*it;
}

Task<Result<api::ResourceType>> TypeResolver::resolve(std::string apiVersion, std::string kind) {
  const auto parts = api::splitApiVersion(apiVersion);
  const std::string group(parts.group), version(parts.version);
  if (!find(group, version, kind)) {
    const auto resource = builtin_.findByKind(group, kind);
    if (resource && builtin_.find(group, version, resource->plural)) {
      known_.push_back({group, version, resource->plural, kind, resource->namespaced});
    }
  }
  if (!find(group, version, kind) && !group.empty()) {
    auto custom = findCustom(group, version, kind);
    const auto found = co_await custom;
    if (!found) co_return fail(found.error());
  }
  if (!find(group, version, kind)) {
    auto discovered = findDiscovered(group, version, kind);
    co_await discovered;
  }
  const Known* known = find(group, version, kind);
  if (!known) {
    co_return fail(ErrorCode::NotFound,
                   fmt::format("the server has no kind {} in {}", kind, apiVersion));
  }
  co_return api::ResourceType{known->group, known->version, known->plural, known->kind,
                              known->namespaced};
}

Task<Result<bool>> TypeResolver::findCustom(std::string group, std::string version,
                                            std::string kind) {
  auto task = kube::listObjects(environment_.api(), kCrds, "", "", "");
  const auto reply = co_await task;
  if (!reply) co_return fail(reply.error());
  for (const auto& crd : at(*reply, "items")->get_array()) {
    if (textAt(crd, "spec", "group") != group || textAt(crd, "spec", "names", "kind") != kind)
      continue;
    const auto* versions = at(crd, "spec", "versions");
    const auto* list = versions ? versions->if_array() : nullptr;
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      if (textAt((*list)[i], "name") != version) continue;
      known_.push_back({group, version, std::string(textAt(crd, "spec", "names", "plural")), kind,
                        textAt(crd, "spec", "scope") == "Namespaced"});
      co_return true;
    }
  }
  co_return false;
}

Task<bool> TypeResolver::findDiscovered(std::string group, std::string version, std::string kind) {
  const std::string path =
      group.empty() ? "/api/" + version : fmt::format("/apis/{}/{}", group, version);
  auto task = environment_.discover(path);
  const auto reply = co_await task;
  if (!reply) co_return false;
  const auto document = parseJson(*reply);
  const auto* resources = document ? koord::find(*document, "resources") : nullptr;
  const auto* list = resources ? resources->if_array() : nullptr;
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const auto& resource = (*list)[i];
    const std::string plural(textAt(resource, "name"));
    if (textAt(resource, "kind") != kind || plural.find('/') != std::string::npos) continue;
    const auto* namespaced = koord::find(resource, "namespaced");
    known_.push_back({group, version, plural, kind, namespaced && isTruthy(*namespaced)});
    co_return true;
  }
  co_return false;
}

}  // namespace koord::scenario
