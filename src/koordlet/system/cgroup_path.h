#pragma once

// Names of the cgroup directories that kubelet and container runtimes create for pods, per cgroup
// driver. All paths are relative to a cgroup hierarchy and have no slash at either end.

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/qos.h"

namespace koord::koordlet {

enum class CgroupDriver { Systemd, Cgroupfs };
using KubeQos = model::KubernetesQos;

inline constexpr KubeQos kKubeQosClasses[] = {KubeQos::Guaranteed, KubeQos::Burstable,
                                              KubeQos::BestEffort};

std::string_view nameOf(CgroupDriver driver);

// The kubepods directory; also the QoS directory of Guaranteed pods.
const std::string& kubepodsDir(CgroupDriver driver);
const std::string& qosDir(CgroupDriver driver, KubeQos qos);
// The last component of a pod's directory, and the whole path.
std::string podDirName(CgroupDriver driver, KubeQos qos, std::string_view uid);
std::string podDir(CgroupDriver driver, KubeQos qos, std::string_view uid);
// From a container id as in pod status, "containerd://<id>"; docker, containerd, pouch and cri-o.
Result<std::string> containerDirName(CgroupDriver driver, std::string_view containerId);

// Parse the id in a directory's name; a pod's is its uid (with underscores under systemd).
bool isPodDirName(CgroupDriver driver, std::string_view name);
Result<std::string> parsePodDirName(CgroupDriver driver, std::string_view name);
Result<std::string> parseContainerDirName(CgroupDriver driver, std::string_view name);
KubeQos kubeQosOfPath(std::string_view path);

std::string joinPath(std::string_view dir, std::string_view name);

}  // namespace koord::koordlet
