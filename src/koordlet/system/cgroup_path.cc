#include "koordlet/system/cgroup_path.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

namespace koord::koordlet {
namespace {

struct RuntimeName {
  std::string_view type;           // scheme of the container id
  std::string_view systemdPrefix;  // of the scope
};
constexpr std::array kRuntimes = {
    RuntimeName{"docker", "docker-"},
    RuntimeName{"containerd", "cri-containerd-"},
    RuntimeName{"pouch", "pouch-"},
    RuntimeName{"cri-o", "crio-"},
};

// Prefixes of scopes whose names contain the id. A bare "crio-<id>" is checked last because it has
// no suffix.
constexpr std::array<std::string_view, 4> kScopePrefixes = {"docker-", "cri-containerd-", "crio-",
                                                            "pouch-"};
constexpr std::array<std::string_view, 3> kPodSlicePrefixes = {
    "kubepods-besteffort-pod", "kubepods-burstable-pod", "kubepods-pod"};

std::string_view slicePrefix(KubeQos qos) {
  switch (qos) {
    case KubeQos::Guaranteed:
      return "kubepods";
    case KubeQos::Burstable:
      return "kubepods-burstable";
    case KubeQos::BestEffort:
      break;
  }
  return "kubepods-besteffort";
}

std::optional<std::string_view> podIdIn(CgroupDriver driver, std::string_view name) {
  if (driver == CgroupDriver::Cgroupfs)
    return name.starts_with("pod") ? std::optional(name.substr(3)) : std::nullopt;
  if (!name.ends_with(".slice")) return std::nullopt;
  name.remove_suffix(6);
  for (const auto prefix : kPodSlicePrefixes)
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return std::nullopt;
}

}  // namespace

std::string_view nameOf(CgroupDriver driver) {
  return driver == CgroupDriver::Systemd ? "systemd" : "cgroupfs";
}

std::string joinPath(std::string_view dir, std::string_view name) {
  if (dir.empty()) return std::string(name);
  if (name.empty()) return std::string(dir);
  return fmt::format("{}/{}", dir, name);
}

const std::string& kubepodsDir(CgroupDriver driver) {
  static const std::string systemd = "kubepods.slice", cgroupfs = "kubepods";
  return driver == CgroupDriver::Systemd ? systemd : cgroupfs;
}

// Cached, because they are needed many times each second.
const std::string& qosDir(CgroupDriver driver, KubeQos qos) {
  static const auto make = [](CgroupDriver of, KubeQos one) {
    const std::string& root = kubepodsDir(of);
    if (of == CgroupDriver::Systemd) return fmt::format("{}/{}.slice", root, slicePrefix(one));
    return joinPath(root, one == KubeQos::Burstable ? "burstable" : "besteffort");
  };
  static const std::string burstable[] = {make(CgroupDriver::Systemd, KubeQos::Burstable),
                                          make(CgroupDriver::Cgroupfs, KubeQos::Burstable)};
  static const std::string besteffort[] = {make(CgroupDriver::Systemd, KubeQos::BestEffort),
                                           make(CgroupDriver::Cgroupfs, KubeQos::BestEffort)};
  if (qos == KubeQos::Guaranteed) return kubepodsDir(driver);
  return (qos == KubeQos::Burstable ? burstable
                                    : besteffort)[driver == CgroupDriver::Systemd ? 0 : 1];
}

std::string podDirName(CgroupDriver driver, KubeQos qos, std::string_view uid) {
  if (driver == CgroupDriver::Cgroupfs) return fmt::format("pod{}", uid);
  std::string escaped(uid);
  std::ranges::replace(escaped, '-', '_');
  return fmt::format("{}-pod{}.slice", slicePrefix(qos), escaped);
}

std::string podDir(CgroupDriver driver, KubeQos qos, std::string_view uid) {
  return joinPath(qosDir(driver, qos), podDirName(driver, qos, uid));
}

Result<std::string> containerDirName(CgroupDriver driver, std::string_view containerId) {
  const auto separator = containerId.find("://");
  if (separator != std::string_view::npos) {
    const auto type = containerId.substr(0, separator);
    const auto id = containerId.substr(separator + 3);
    for (const auto& runtime : kRuntimes) {
      if (runtime.type != type) continue;
      if (driver == CgroupDriver::Cgroupfs) return std::string(id);
      return fmt::format("{}{}.scope", runtime.systemdPrefix, id);
    }
  }
  return fail(ErrorCode::Invalid,
              fmt::format("container id '{}' is not '<type>://<id>' with type docker, containerd, "
                          "pouch or cri-o",
                          containerId));
}

bool isPodDirName(CgroupDriver driver, std::string_view name) {
  return podIdIn(driver, name).has_value();
}

Result<std::string> parsePodDirName(CgroupDriver driver, std::string_view name) {
  if (const auto id = podIdIn(driver, name)) return std::string(*id);
  return fail(ErrorCode::Invalid, fmt::format("'{}' is not the directory of a pod", name));
}

Result<std::string> parseContainerDirName(CgroupDriver driver, std::string_view name) {
  if (driver == CgroupDriver::Cgroupfs) return std::string(name);
  if (name.ends_with(".scope")) {
    const auto stem = name.substr(0, name.size() - 6);
    for (const auto prefix : kScopePrefixes)
      if (stem.starts_with(prefix)) return std::string(stem.substr(prefix.size()));
  } else if (name.starts_with("crio-")) {
    return std::string(name.substr(5));
  }
  return fail(ErrorCode::Invalid, fmt::format("'{}' is not the directory of a container", name));
}

KubeQos kubeQosOfPath(std::string_view path) {
  if (path.find("besteffort") != std::string_view::npos) return KubeQos::BestEffort;
  if (path.find("burstable") != std::string_view::npos) return KubeQos::Burstable;
  return KubeQos::Guaranteed;
}

}  // namespace koord::koordlet
