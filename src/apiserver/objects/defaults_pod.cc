#include "apiserver/objects/defaults_pod.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "api/quantity_json.h"
#include "apiserver/objects/defaults.h"
#include "apiserver/objects/edit.h"
#include "base/quantity.h"

namespace koord::apiserver {
namespace {

bool pullsAlways(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return false;
  const auto name =
      image.substr(image.rfind('/') == std::string_view::npos ? 0 : image.rfind('/') + 1);
  const auto colon = name.rfind(':');
  return colon == std::string_view::npos || name.substr(colon + 1) == "latest";
}

void setProbeDefaults(json::object& container) {
  for (const auto* name : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    auto* probe = memberObject(container, name);
    if (!probe) continue;
    setDefault(*probe, "timeoutSeconds", 1);
    setDefault(*probe, "periodSeconds", 10);
    setDefault(*probe, "successThreshold", 1);
    setDefault(*probe, "failureThreshold", 3);
    if (auto* http = memberObject(*probe, "httpGet")) {
      setDefault(*http, "path", "/");
      setDefault(*http, "scheme", "HTTP");
    }
  }
}

void setContainerDefaults(json::object& container, bool hostNetwork) {
  setDefault(container, "resources", json::object{});
  setDefault(container, "terminationMessagePath", "/dev/termination-log");
  setDefault(container, "terminationMessagePolicy", "File");
  if (isMissing(container, "imagePullPolicy")) {
    const auto image = container.if_contains("image");
    const bool always =
        !image || !image->is_string() || pullsAlways(std::string_view(image->get_string()));
    container["imagePullPolicy"] = always ? "Always" : "IfNotPresent";
  }
  setProbeDefaults(container);
  if (auto* ports = arrayAt(container, "ports")) {
    for (auto& port : *ports) {
      if (!port.is_object()) continue;
      setDefault(port.get_object(), "protocol", "TCP");
      if (hostNetwork && !isMissing(port.get_object(), "containerPort")) {
        const json::value number = memberOf(port, "containerPort");
        setDefault(port.get_object(), "hostPort", number);
      }
    }
  }
  if (auto* env = arrayAt(container, "env")) {
    for (auto& variable : *env) {
      auto* source =
          variable.is_object() ? memberObject(variable.get_object(), "valueFrom") : nullptr;
      auto* field = source ? memberObject(*source, "fieldRef") : nullptr;
      if (field) setDefault(*field, "apiVersion", "v1");
    }
  }
}

void setVolumeDefaults(json::object& volume) {
  if (volume.size() == 1 && volume.contains("name")) volume["emptyDir"] = json::object{};
  for (const auto* name : {"secret", "configMap", "downwardAPI", "projected"})
    if (auto* source = memberObject(volume, name)) setDefault(*source, "defaultMode", 420);
  auto* projected = memberObject(volume, "projected");
  if (auto* parts = projected ? arrayAt(*projected, "sources") : nullptr)
    for (auto& part : *parts)
      if (auto* token =
              part.is_object() ? memberObject(part.get_object(), "serviceAccountToken") : nullptr)
        setDefault(*token, "expirationSeconds", 3600);
  setVolumeSourceDefaults(volume);
}

template <class Fn>
void eachContainer(json::object& spec, Fn fn, const char* added = nullptr) {
  for (const auto* list : {"initContainers", "containers", added})
    if (auto* containers = list ? arrayAt(spec, list) : nullptr)
      for (auto& container : *containers)
        if (container.is_object()) fn(container.get_object());
}

}  // namespace

void setVolumeSourceDefaults(json::object& volume) {
  constexpr std::tuple<const char*, const char*, const char*> kTexts[] = {
      {"hostPath", "type", ""},
      {"iscsi", "iscsiInterface", "default"},
      {"rbd", "pool", "rbd"},
      {"rbd", "user", "admin"},
      {"rbd", "keyring", "/etc/ceph/keyring"},
      {"azureDisk", "cachingMode", "ReadWrite"},
      {"azureDisk", "kind", "Shared"},
      {"azureDisk", "fsType", "ext4"},
      {"scaleIO", "storageMode", "ThinProvisioned"},
      {"scaleIO", "fsType", "xfs"}};
  for (const auto& [name, field, text] : kTexts)
    if (auto* source = memberObject(volume, name)) setDefault(*source, field, text);
  if (auto* source = memberObject(volume, "azureDisk")) setDefault(*source, "readOnly", false);
}

void setPodSpecDefaults(json::object& spec) {
  const auto* network = spec.if_contains("hostNetwork");
  const bool hostNetwork = network && network->is_bool() && network->get_bool();
  eachContainer(
      spec, [&](json::object& container) { setContainerDefaults(container, hostNetwork); },
      "ephemeralContainers");
  if (auto* volumes = arrayAt(spec, "volumes"))
    for (auto& volume : *volumes)
      if (volume.is_object()) setVolumeDefaults(volume.get_object());
  setDefault(spec, "restartPolicy", "Always");
  setDefault(spec, "terminationGracePeriodSeconds", 30);
  setDefault(spec, "dnsPolicy", "ClusterFirst");
  setDefault(spec, "securityContext", json::object{});
  setDefault(spec, "schedulerName", "default-scheduler");
}

void setPodRequestDefaults(json::object& spec) {
  eachContainer(spec, [](json::object& container) {
    auto* resources = memberObject(container, "resources");
    const auto* limits = resources ? memberObject(*resources, "limits") : nullptr;
    if (!limits || limits->empty()) return;
    const json::object given = *limits;  // making requests may move the limits
    auto& requests = objectAt(*resources, "requests");
    for (const auto& limit : given) setDefault(requests, limit.key(), limit.value());
  });
}

void setPodDefaults(json::object& pod) {
  auto& spec = objectAt(pod, "spec");
  setPodSpecDefaults(spec);
  setPodRequestDefaults(spec);
  setDefault(spec, "enableServiceLinks", true);
  if (isMissing(spec, "serviceAccountName")) {
    const auto* old = spec.if_contains("serviceAccount");
    spec["serviceAccountName"] = old && old->is_string() ? *old : json::value("default");
  }
  const json::value account = memberOf(spec, "serviceAccountName");
  spec["serviceAccount"] = account;
}

std::string_view qosClassOf(const json::value& podSpec) {
  bool anything = false;
  bool guaranteed = true;
  const auto consider = [&](const json::value& holder) {
    const auto amount = [&](const char* part, const char* resource) -> Quantity {
      const auto* value = at(holder, "resources", part, resource);
      if (!value) return {};
      return api::readQuantity(*value).value_or(Quantity{});
    };
    for (const auto* resource : {"cpu", "memory"}) {
      const Quantity request = amount("requests", resource);
      const Quantity limit = amount("limits", resource);
      anything = anything || request.sign() > 0 || limit.sign() > 0;
      guaranteed = guaranteed && limit.sign() > 0 && request == limit;
    }
  };
  // Resources of the pod as a whole override those of its containers.
  if (at(podSpec, "resources", "requests") || at(podSpec, "resources", "limits")) {
    consider(podSpec);
  } else {
    for (const auto* list : {"initContainers", "containers"})
      if (const auto* containers = arrayAt(podSpec, list))
        for (const auto& container : *containers) consider(container);
  }
  if (!anything) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace koord::apiserver
