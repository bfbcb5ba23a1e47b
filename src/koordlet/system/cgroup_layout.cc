#include "koordlet/system/cgroup_layout.h"

#include <fmt/core.h>

#include "base/mountinfo.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

constexpr std::array<std::string_view, kSubsystems> kNames = {
    "cpu", "cpuset", "cpuacct", "memory", "blkio", "net_cls", "perf_event"};
// The controller's name in v2; "" = part of every v2 cgroup or replaced by another mechanism.
constexpr std::array<std::string_view, kSubsystems> kV2Controllers = {"cpu", "cpuset", "", "memory",
                                                                      "io",  "",       ""};

bool hasWord(std::string_view list, std::string_view word) {
  while (!list.empty())
    if (takeWord(list) == word) return true;
  return false;
}

}  // namespace

std::string_view nameOf(Subsystem subsystem) {
  return kNames[static_cast<std::size_t>(subsystem)];
}

Result<CgroupLayout> CgroupLayout::detect(const HostDirs& dirs) {
  CgroupLayout layout;
  layout.cgroupRoot_ = withSlash(dirs.cgroupRoot);
  const std::string& root = layout.cgroupRoot_;

  std::string mountinfo;
  if (auto text = readSmallFile(dirs.procRoot + "self/mountinfo")) mountinfo = *std::move(text);
  std::string unified;  // root of the v2 hierarchy
  for (const MountInfo& mount : parseMountInfo(mountinfo)) {
    const std::string point = withSlash(mount.point);
    if (!point.starts_with(root)) continue;
    if (mount.type == "cgroup2" && (unified.empty() || point == root)) unified = point;
    if (mount.type != "cgroup") continue;
    for (const auto& controller : mount.superOptions)
      for (std::size_t i = 0; i < kSubsystems; ++i)
        if (kNames[i] == controller && !layout.table_[i])
          layout.table_[i] = Hierarchy{CgroupVersion::V1, point};
  }
  if (unified.empty() && pathExists(root + "cgroup.controllers")) unified = root;
  if (unified != root)
    for (std::size_t i = 0; i < kSubsystems; ++i)
      if (!layout.table_[i] && pathExists(fmt::format("{}{}/", root, kNames[i])))
        layout.table_[i] = Hierarchy{CgroupVersion::V1, fmt::format("{}{}/", root, kNames[i])};

  if (!unified.empty()) {
    std::string controllers;
    if (auto text = readSmallFile(unified + "cgroup.controllers")) controllers = *std::move(text);
    for (std::size_t i = 0; i < kSubsystems; ++i) {
      // In a hybrid, v2 has only the controllers that v1 does not mount; there cpu.stat alone does
      // not replace cpuacct.
      const bool usable =
          kV2Controllers[i].empty() ? unified == root : hasWord(controllers, kV2Controllers[i]);
      if (!layout.table_[i] && usable) layout.table_[i] = Hierarchy{CgroupVersion::V2, unified};
    }
  }

  if (!layout.has(Subsystem::Cpu) && !layout.has(Subsystem::Memory))
    return fail(
        ErrorCode::NotFound,
        fmt::format("no cpu or memory cgroup controller below {}: mount cgroups there or set "
                    "--cgroup-root-dir",
                    root));
  return layout;
}

std::string CgroupLayout::dir(Subsystem subsystem, std::string_view relative) const {
  std::string path;
  dir(subsystem, relative, path);
  return path;
}

void CgroupLayout::dir(Subsystem subsystem, std::string_view relative, std::string& path) const {
  while (relative.starts_with('/')) relative.remove_prefix(1);
  if (has(subsystem)) {
    path = at(subsystem)->root;
  } else {
    path = fmt::format("{}{}/", cgroupRoot_, nameOf(subsystem));
  }
  path += relative;
  if (!path.ends_with('/')) path += '/';
}

std::string CgroupLayout::describe() const {
  std::string v1, v2, missing;
  for (std::size_t i = 0; i < kSubsystems; ++i) {
    std::string& list = !table_[i] ? missing : table_[i]->version == CgroupVersion::V1 ? v1 : v2;
    if (!list.empty()) list += ' ';
    list += kNames[i];
  }
  std::string text = fmt::format("cgroups below {}:", cgroupRoot_);
  if (!v1.empty()) text += fmt::format(" v1 [{}]", v1);
  if (!v2.empty()) text += fmt::format(" v2 [{}]", v2);
  if (!missing.empty()) text += fmt::format(" missing [{}]", missing);
  return text;
}

}  // namespace koord::koordlet
