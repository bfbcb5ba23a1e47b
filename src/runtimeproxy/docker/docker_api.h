#pragma once

// The part of the Docker Engine API that the proxy uses: the requests that it intercepts, and how
// kubelet's Docker shims (dockershim, cri-dockerd) represent pods in names, labels and HostConfigs.
// Pure functions.

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
  std::string name;  // of a container to create
};
// "/v1.39/containers/create?name=k8s_main_web_default_1_0"; the version is optional. nullopt for
// requests that pass unchanged.
std::optional<DockerTarget> dockerTargetOf(std::string_view method, std::string_view target);

// k8s_<container>_<pod>_<namespace>_<uid>_<attempt>
struct KubernetesName {
  std::string container;
  std::string pod;
  std::string namespace_;
  std::string uid;
  std::uint32_t attempt = 0;
};
// Also takes names with Docker's leading slash. nullopt: not a container of kubelet.
std::optional<KubernetesName> kubernetesNameOf(std::string_view name);

// Returns true if a container with these labels is a sandbox; Docker has sandboxes as containers.
bool isSandbox(const json::value& labels);
std::string_view sandboxOf(const json::value& labels);  // "" if not in the labels

// `config`: the labels, environment; `hostConfig`: resources, cgroup parent. Labels that begin with
// "annotation." are annotations.
runtimehook::PodSandboxHookRequest dockerPod(const KubernetesName& name, const json::value& config,
                                             const json::value& hostConfig, bool systemd);
runtimehook::ContainerResourceHookRequest dockerContainer(const KubernetesName& name,
                                                          const json::value& config,
                                                          const json::value& hostConfig);

Resources dockerResources(const json::value& hostConfig);
// Writes the fields that differ between the two. Equal fields stay as they are, or absent.
void writeResources(const Resources& before, const Resources& now, json::object& hostConfig);
// Writes all fields that an update may have, because Docker replaces all of them.
void writeUpdate(const Resources& now, json::object& update);
// "K=V" each. Variables keep their positions; new ones follow, sorted.
void writeEnvironment(const google::protobuf::Map<std::string, std::string>& variables,
                      json::object& config);

// With systemd, Docker has only the last slice of a path, and hook servers have all of it:
// "kubepods-besteffort-pod1.slice" is
// "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice".
std::string hookCgroupParent(std::string_view docker, bool systemd);
std::string dockerCgroupParent(std::string_view hook, bool systemd);

}  // namespace koord::runtimeproxy
