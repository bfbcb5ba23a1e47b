#include "real_cgroups.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "koordlet/system/cgroup_path.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

constexpr std::string_view kControllers[] = {"cpu", "cpuacct", "cpuset", "memory"};

void removeBelow(const std::string& path) {
  for (const auto& name : listDirs(path)) removeBelow(path + "/" + name);
  ::rmdir(path.c_str());
}

}  // namespace

bool RealCgroups::usable() {
  return std::ranges::all_of(kControllers, [](std::string_view controller) {
    return ::access(fmt::format("/sys/fs/cgroup/{}/cgroup.procs", controller).c_str(), W_OK) == 0;
  });
}

RealCgroups::RealCgroups(std::string_view name) : name_(fmt::format("{}-{}", name, ::getpid())) {
  tree_.makeDir("cgroup");
  for (const auto controller : kControllers) {
    make(controller, "");
    std::filesystem::create_directory_symlink(root(controller),
                                              tree_.path(fmt::format("cgroup/{}", controller)));
    for (const KubeQos qos : kKubeQosClasses) make(controller, qosDir(CgroupDriver::Cgroupfs, qos));
  }
}

RealCgroups::~RealCgroups() {
  for (const auto controller : kControllers) removeBelow(root(controller));
}

HostDirs RealCgroups::dirs() const {
  HostDirs dirs = hostModeDirs();
  dirs.cgroupRoot = tree_.path("cgroup/");
  dirs.varLibKubelet = tree_.path("kubelet/");
  dirs.runRoot = tree_.path("run/");
  return dirs;
}

std::string RealCgroups::file(std::string_view controller, const std::string& dir,
                              std::string_view name) const {
  return fmt::format("{}/{}/{}", root(controller), dir, name);
}

void RealCgroups::make(const std::string& dir) const {
  for (const auto controller : kControllers) make(controller, dir);
}

void RealCgroups::remove(const std::string& dir) const {
  for (const auto controller : kControllers) removeBelow(root(controller) + "/" + dir);
}

std::string RealCgroups::root(std::string_view controller) const {
  return fmt::format("/sys/fs/cgroup/{}/{}", controller, name_);
}

// A new cgroup of version 1 has no CPUs, and takes no process before it has some.
void RealCgroups::make(std::string_view controller, const std::string& dir) const {
  const std::string path = root(controller) + "/" + dir;
  std::error_code ignored;
  if (!std::filesystem::create_directory(path, ignored) || controller != "cpuset") return;
  for (const auto* name : {"cpuset.cpus", "cpuset.mems"})
    if (const auto all = readSmallFile(fmt::format("/sys/fs/cgroup/cpuset/{}", name)))
      (void)writeSmallFile(path + "/" + name, *all);
}

}  // namespace koord::koordlet
