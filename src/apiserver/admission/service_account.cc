#include "apiserver/admission/service_account.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/objects/edit.h"
#include "apiserver/server/body.h"
#include "model/well_known.h"

namespace koord::apiserver {
namespace {

constexpr const char* kMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kVolume = "kube-api-access-";
// A little over an hour; kubelet renews the token in time.
constexpr int kTokenSeconds = 3607;

// Kubelets create mirror pods, and must not gain the rights of an account through them.
Outcome<> checkMirror(const json::value& spec, std::string_view name) {
  const auto forbidden = [&](const char* why) {
    return refuse(
        ErrorCode::Forbidden,
        fmt::format("pods \"{}\" is forbidden: a mirror pod may not reference {}", name, why));
  };
  const auto account = textAt(spec, "serviceAccountName");
  // The default is set before this check and has no meaning.
  if (!account.empty() && account != "default") return forbidden("service accounts");
  const auto* volumes = arrayAt(spec, "volumes");
  for (std::size_t i = 0; volumes && i < volumes->size(); ++i) {
    if (find((*volumes)[i], "secret")) return forbidden("secrets");
    const auto* projected = find((*volumes)[i], "projected");
    const auto* sources = projected ? arrayAt(*projected, "sources") : nullptr;
    for (std::size_t j = 0; sources && j < sources->size(); ++j)
      if (find((*sources)[j], "serviceAccountToken"))
        return forbidden("ServiceAccountToken volume projections");
  }
  return {};
}

json::object tokenVolume(const std::string& name) {
  const json::array sources{
      json::object{{"serviceAccountToken",
                    json::object{{"expirationSeconds", kTokenSeconds}, {"path", "token"}}}},
      json::object{
          {"configMap", json::object{{"name", "kube-root-ca.crt"},
                                     {"items", json::array{json::object{{"key", "ca.crt"},
                                                                        {"path", "ca.crt"}}}}}}},
      json::object{
          {"downwardAPI",
           json::object{
               {"items", json::array{json::object{
                             {"path", "namespace"},
                             {"fieldRef", json::object{{"apiVersion", "v1"},
                                                       {"fieldPath", "metadata.namespace"}}}}}}}}}};
  return {{"name", name}, {"projected", json::object{{"defaultMode", 420}, {"sources", sources}}}};
}

// Returns true if any container needs the mount.
bool mount(json::object& spec, const std::string& volume) {
  bool used = false;
  for (const char* list : {"initContainers", "containers"}) {
    auto* containers = arrayAt(spec, list);
    for (std::size_t i = 0; containers && i < containers->size(); ++i) {
      if (!(*containers)[i].is_object()) continue;
      auto& mounts = (*containers)[i].get_object()["volumeMounts"];
      if (!mounts.is_array()) mounts = json::array{};
      auto& all = mounts.get_array();
      // An existing mount at this path has priority.
      if (std::ranges::any_of(
              all, [](const auto& one) { return textAt(one, "mountPath") == kMountPath; }))
        continue;
      all.push_back(json::object{{"name", volume}, {"readOnly", true}, {"mountPath", kMountPath}});
      used = true;
    }
  }
  return used;
}

void mountToken(json::object& spec, Random& random) {
  auto& volumes = spec["volumes"];
  if (!volumes.is_array()) volumes = json::array{};
  std::string name;
  for (const auto& volume : volumes.get_array())
    if (textAt(volume, "name").starts_with(kVolume)) name = textAt(volume, "name");
  const bool there = !name.empty();
  if (!there) name = std::string(kVolume) + randomSuffix(random);
  const bool used = mount(spec, name);
  if (used && !there) volumes.get_array().push_back(tokenVolume(name));
  if (volumes.get_array().empty()) eraseMember(spec, "volumes");
}

}  // namespace

Outcome<> admitServiceAccount(json::value& pod, Store& store, Random& random) {
  const auto name = textAt(pod, "metadata", "name");
  const auto* annotations = at(pod, "metadata", "annotations");
  auto& spec = objectAt(pod.get_object(), "spec");
  if (annotations && find(*annotations, model::kAnnotationMirrorPod))
    return checkMirror(memberOf(pod, "spec"), name);
  std::string account(textAt(pod, "spec", "serviceAccountName"));
  if (account.empty()) account = textAt(pod, "spec", "serviceAccount");
  if (account.empty()) account = "default";
  spec["serviceAccountName"] = account;
  spec["serviceAccount"] = account;
  const auto namespace_ = textAt(pod, "metadata", "namespace");
  const auto entry = store.table("serviceaccounts").find(makeKey(namespace_, account));
  const auto object = entry ? parseJson(entry->text) : Result<json::value>(json::value());
  if (!entry || !object)
    return refuse(
        ErrorCode::Forbidden,
        fmt::format("pods \"{0}\" is forbidden: error looking up service account {1}/{2}: "
                    "serviceaccount \"{2}\" not found",
                    name, namespace_, account));
  const auto* wanted = spec.if_contains("automountServiceAccountToken");
  if (!wanted || !wanted->is_bool()) wanted = find(*object, "automountServiceAccountToken");
  if (!wanted || !wanted->is_bool() || wanted->get_bool()) mountToken(spec, random);
  const auto* own = arrayAt(spec, "imagePullSecrets");
  const auto* inherited = arrayAt(*object, "imagePullSecrets");
  if ((!own || own->empty()) && inherited && !inherited->empty())
    spec["imagePullSecrets"] = *inherited;
  return {};
}

}  // namespace koord::apiserver
