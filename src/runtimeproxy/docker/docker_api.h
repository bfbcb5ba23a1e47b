#pragma once

// What the proxy knows of the Docker Engine API: which requests it looks into, and how kubelet's Docker shims
// (dockershim, cri-dockerd) put pods into names, labels and HostConfigs. Pure functions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "runtime_hook.pb.h"
#include "runtimeproxy/merge.h"

namespace koord::runtimeproxy {

enum class DockerMethod { Create, Start, Stop, Update, Remove };
std::string_view nameOf(DockerMethod method);  // "ContainerCreate", for metrics

struct DockerTarget {
  DockerMethod method;
  std::string id;    // of the container; "" at Create
  std::string name;  // of a container to be made
};
// "/v1.39/containers/create?name=k8s_main_web_default_1_0"; the version may be missing. nullopt for all
// that passes as it is.
std::optional<DockerTarget> dockerTargetOf(std::string_view method, std::string_view target);

// k8s_<container>_<pod>_<namespace>_<uid>_<attempt>
struct KubernetesName {
  std::string container;
  std::string pod;
  std::string namespace_;
  std::string uid;
  std::uint32_t attempt = 0;
};
// Also with the slash that Docker puts before names. nullopt: not one of kubelet's.
std::optional<KubernetesName> kubernetesNameOf(std::string_view name);

// Of a container's configuration; sandboxes are containers to Docker.
bool isSandbox(const json::value& labels);
std::string_view sandboxOf(const json::value& labels);  // "" when the labels do not say

// `config`: the labels, environment; `hostConfig`: resources, cgroup parent. Labels that begin with
// "annotation." are annotations.
runtimehook::PodSandboxHookRequest dockerPod(const KubernetesName& name, const json::value& config,
                                             const json::value& hostConfig, bool systemd);
runtimehook::ContainerResourceHookRequest dockerContainer(const KubernetesName& name,
                                                          const json::value& config,
                                                          const json::value& hostConfig);

Resources dockerResources(const json::value& hostConfig);
// Writes what differs between the two; what is equal stays as it was written, or absent.
void writeResources(const Resources& before, const Resources& now, json::object& hostConfig);
// All that an update may carry, because Docker takes it as a whole.
void writeUpdate(const Resources& now, json::object& update);
// "K=V" each; they keep their places, new ones come after them, sorted.
void writeEnvironment(const google::protobuf::Map<std::string, std::string>& variables,
                      json::object& config);

// With systemd, Docker has the last slice of a path, and hook servers all of it:
// "kubepods-besteffort-pod1.slice" is "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice".
std::string hookCgroupParent(std::string_view docker, bool systemd);
std::string dockerCgroupParent(std::string_view hook, bool systemd);

}  // namespace koord::runtimeproxy
