#include "apiserver/discovery.h"

#include <algorithm>
#include <map>

#include "apiserver/access/reviews.h"
#include "apiserver/metricsapi/metrics_api.h"
#include "apiserver/pod_stream.h"
#include "base/json.h"

namespace koord::apiserver {
namespace {

using json::array;
using json::object;

// Versions of a group, newest stable first, and its resources by version.
struct Group {
  std::vector<std::string> versions;
  std::map<std::string, std::vector<ResourcePtr>> resources;
};

// v2 before v1 before v1beta1 before v1alpha1.
std::tuple<int, int, int> rank(std::string_view version) {
  int major = 0, minor = 0, stage = 2;
  std::size_t i = 1;
  while (i < version.size() && version[i] >= '0' && version[i] <= '9')
    major = major * 10 + (version[i++] - '0');
  if (version.substr(i).starts_with("beta"))
    stage = 1, i += 4;
  else if (version.substr(i).starts_with("alpha"))
    stage = 0, i += 5;
  while (i < version.size() && version[i] >= '0' && version[i] <= '9')
    minor = minor * 10 + (version[i++] - '0');
  return {stage, major, minor};
}

// Reviews are answered and not stored, so the registry does not have them.
std::vector<ResourcePtr> reviewResources() {
  std::vector<ResourcePtr> out;
  for (const auto& review : reviewKinds()) {
    Resource resource;
    resource.group = review.group;
    resource.plural = review.plural;
    resource.kind = review.kind;
    resource.singular = std::string(review.plural).substr(0, review.plural.size() - 1);
    resource.namespaced = review.namespaced;
    resource.createOnly = true;
    resource.versions.push_back({});
    resource.versions.back().name = "v1";
    out.push_back(std::make_shared<const Resource>(std::move(resource)));
  }
  return out;
}

std::map<std::string, Group> groupsOf(const Registry& registry) {
  std::map<std::string, Group> groups;
  auto resources = metricsResources(registry);
  for (const auto& [name, resource] : registry.all()) resources.push_back(resource);
  for (auto& review : reviewResources()) resources.push_back(std::move(review));
  for (const auto& resource : resources) {
    auto& group = groups[resource->group];
    for (const auto& version : resource->versions) {
      if (!version.served) continue;
      if (std::ranges::find(group.versions, version.name) == group.versions.end())
        group.versions.push_back(version.name);
      group.resources[version.name].push_back(resource);
    }
  }
  std::erase_if(groups, [](const auto& item) { return item.second.versions.empty(); });
  for (auto& [name, group] : groups) std::ranges::sort(group.versions, std::greater{}, rank);
  return groups;
}

// The groups in the order in which clients resolve a kind that several groups have: Kubernetes'
// groups in its order, then custom groups, and last those of aggregated servers. Therefore kubectl
// shows Koordinator's NodeMetrics and not those of metrics.k8s.io.
std::vector<std::pair<std::string, const Group*>> inOrder(
    const std::map<std::string, Group>& groups) {
  static constexpr std::string_view kFirst[] = {"",
                                                "apiregistration.k8s.io",
                                                "apps",
                                                "events.k8s.io",
                                                "authentication.k8s.io",
                                                "authorization.k8s.io",
                                                "autoscaling",
                                                "batch",
                                                "certificates.k8s.io",
                                                "networking.k8s.io",
                                                "policy",
                                                "rbac.authorization.k8s.io",
                                                "storage.k8s.io",
                                                "admissionregistration.k8s.io",
                                                "apiextensions.k8s.io",
                                                "scheduling.k8s.io",
                                                "coordination.k8s.io",
                                                "node.k8s.io",
                                                "discovery.k8s.io",
                                                "resource.k8s.io",
                                                "flowcontrol.apiserver.k8s.io"};
  const auto place = [](std::string_view name) {
    if (name == kMetricsGroup) return std::size(kFirst) + 1;
    return static_cast<std::size_t>(std::ranges::find(kFirst, name) - std::begin(kFirst));
  };
  std::vector<std::pair<std::string, const Group*>> out;
  for (const auto& [name, group] : groups) out.emplace_back(name, &group);
  std::ranges::stable_sort(out, {}, [&](const auto& item) { return place(item.first); });
  return out;
}

array names(const std::vector<std::string>& list) {
  return array(list.begin(), list.end());
}

array verbsOf(const Resource& resource) {
  if (resource.createOnly) return {"create"};
  if (resource.readOnly) return {"get", "list"};
  // Namespaces cannot be deleted as a collection.
  if (resource.isCore("namespaces"))
    return {"create", "delete", "get", "list", "patch", "update", "watch"};
  return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
}

struct SubresourceInfo {
  std::string name;
  std::string kind;
  std::string group;  // of the kind, where it is another one
  std::string version;
  array verbs;
};

std::vector<SubresourceInfo> subresourcesOf(const Resource& resource,
                                            const ResourceVersion& version) {
  std::vector<SubresourceInfo> out;
  if (version.hasStatus)
    out.push_back({"status", resource.kind, "", "", {"get", "patch", "update"}});
  if (version.scale)
    out.push_back({"scale", "Scale", "autoscaling", "v1", {"get", "patch", "update"}});
  for (const auto& name : resource.subresources) {
    if (name == "binding")
      out.push_back({name, "Binding", "", "", {"create"}});
    else if (name == "eviction")
      out.push_back({name, "Eviction", "policy", "v1", {"create"}});
    else if (const auto options = streamOptionsKind(name); !options.empty())
      out.push_back({name, std::string(options), "", "", {"create", "get"}});
    else if (name == "log")
      out.push_back({name, resource.kind, "", "", {"get"}});
    else if (name == "token")
      out.push_back({name, "TokenRequest", "authentication.k8s.io", "v1", {"create"}});
    else if (name == "finalize")
      out.push_back({name, resource.kind, "", "", {"update"}});
    else
      out.push_back({name, resource.kind, "", "", {"get", "patch", "update"}});
  }
  return out;
}

object groupObject(const std::string& name, const Group& group) {
  array versions;
  for (const auto& version : group.versions)
    versions.push_back({{"groupVersion", name + "/" + version}, {"version", version}});
  object preferred = versions.front().get_object();
  return {{"name", name},
          {"versions", std::move(versions)},
          {"preferredVersion", std::move(preferred)}};
}

std::string resourceList(const std::string& groupName, const std::string& version,
                         const std::vector<ResourcePtr>& resources) {
  array out;
  for (const auto& resource : resources) {
    object one{{"name", resource->plural},
               {"singularName", resource->singular},
               {"namespaced", resource->namespaced},
               {"kind", resource->kind},
               {"verbs", verbsOf(*resource)}};
    if (!resource->shortNames.empty()) one["shortNames"] = names(resource->shortNames);
    if (!resource->categories.empty()) one["categories"] = names(resource->categories);
    one["storageVersionHash"] = "";
    out.push_back(std::move(one));
    for (auto& sub : subresourcesOf(*resource, *resource->version(version))) {
      object entry{{"name", resource->plural + "/" + sub.name},
                   {"singularName", ""},
                   {"namespaced", resource->namespaced},
                   {"kind", sub.kind},
                   {"verbs", std::move(sub.verbs)}};
      if (!sub.group.empty()) {
        entry["group"] = sub.group;
        entry["version"] = sub.version;
      }
      out.push_back(std::move(entry));
    }
  }
  if (groupName.empty() && version == "v1")
    out.push_back({{"name", "bindings"},
                   {"singularName", "binding"},
                   {"namespaced", true},
                   {"kind", "Binding"},
                   {"verbs", array{"create"}}});
  return toJson(object{{"kind", "APIResourceList"},
                       {"apiVersion", "v1"},
                       {"groupVersion", groupName.empty() ? version : groupName + "/" + version},
                       {"resources", std::move(out)}});
}

}  // namespace

std::optional<std::string> discoveryDocument(const Registry& registry, std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  const auto groups = groupsOf(registry);
  if (path == "/api")
    return toJson(object{
        {"kind", "APIVersions"}, {"versions", {"v1"}}, {"serverAddressByClientCIDRs", array{}}});
  if (path == "/api/v1") {
    const auto& core = groups.at("").resources;
    return resourceList("", "v1", core.find("v1")->second);
  }
  if (path == "/apis") {
    array list;
    for (const auto& [name, group] : inOrder(groups))
      if (!name.empty()) list.push_back(groupObject(name, *group));
    return toJson(
        object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}});
  }
  if (!path.starts_with("/apis/")) return std::nullopt;
  path.remove_prefix(6);
  const auto slash = path.find('/');
  const auto it = groups.find(std::string(path.substr(0, slash)));
  if (it == groups.end() || it->first.empty()) return std::nullopt;
  if (slash == std::string_view::npos) {
    object out{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
    for (auto& member : groupObject(it->first, it->second))
      out.emplace(member.key(), member.value());
    return toJson(out);
  }
  const auto version = it->second.resources.find(std::string(path.substr(slash + 1)));
  if (version == it->second.resources.end()) return std::nullopt;
  return resourceList(it->first, version->first, version->second);
}

std::string aggregatedDiscovery(const Registry& registry, std::string_view path,
                                std::string_view version) {
  array items;
  const auto groups = groupsOf(registry);
  for (const auto& [name, group] : inOrder(groups)) {
    if (name.empty() != (path == "/api")) continue;
    array versions;
    for (const auto& one : group->versions) {
      array resources;
      for (const auto& resource : group->resources.at(one)) {
        object entry{{"resource", resource->plural},
                     {"responseKind",
                      {{"group", resource->group}, {"version", one}, {"kind", resource->kind}}},
                     {"scope", resource->namespaced ? "Namespaced" : "Cluster"},
                     {"singularResource", resource->singular},
                     {"verbs", verbsOf(*resource)}};
        if (!resource->shortNames.empty()) entry["shortNames"] = names(resource->shortNames);
        if (!resource->categories.empty()) entry["categories"] = names(resource->categories);
        array subs;
        for (auto& sub : subresourcesOf(*resource, *resource->version(one)))
          subs.push_back({{"subresource", sub.name},
                          {"responseKind",
                           {{"group", sub.group.empty() ? resource->group : sub.group},
                            {"version", sub.version.empty() ? one : sub.version},
                            {"kind", sub.kind}}},
                          {"verbs", std::move(sub.verbs)}});
        if (!subs.empty()) entry["subresources"] = std::move(subs);
        resources.push_back(std::move(entry));
      }
      versions.push_back(
          {{"version", one}, {"resources", std::move(resources)}, {"freshness", "Current"}});
    }
    object metadata{{"creationTimestamp", nullptr}};
    if (!name.empty()) metadata["name"] = name;
    items.push_back({{"metadata", std::move(metadata)}, {"versions", std::move(versions)}});
  }
  return toJson(object{{"kind", "APIGroupDiscoveryList"},
                       {"apiVersion", "apidiscovery.k8s.io/" + std::string(version)},
                       {"metadata", object{}},
                       {"items", std::move(items)}});
}

std::string versionDocument() {
  return toJson(object{{"major", "1"},
                       {"minor", "32"},
                       {"gitVersion", "v1.32.0+koordinator"},
                       {"gitCommit", "embedded"},
                       {"gitTreeState", "clean"},
                       {"buildDate", "2026-01-01T00:00:00Z"},
                       {"goVersion", "none"},
                       {"compiler", "gcc"},
                       {"platform", "linux/amd64"}});
}

}  // namespace koord::apiserver
