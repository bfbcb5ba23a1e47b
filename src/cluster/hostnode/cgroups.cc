#include "cluster/hostnode/cgroups.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ranges>
#include <set>
#include <sstream>

#include "base/log.h"

namespace koord::cluster {

namespace {

constexpr const char* kV2Controllers[] = {"cpu", "cpuset", "memory", "pids", "io"};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::vector<std::string> prefixesOf(const std::string& path) {
  std::vector<std::string> prefixes;
  for (std::size_t slash = 0; (slash = path.find('/', slash)) != std::string::npos; ++slash)
    prefixes.push_back(path.substr(0, slash));
  prefixes.push_back(path);
  return prefixes;
}

}  // namespace

Cgroups::Cgroups(CgroupLayout layout, CgroupFs& fs) : layout_(std::move(layout)), fs_(fs) {
  if (layout_.version == 2) {
    mounts_.push_back(layout_.root);
    return;
  }
  for (const auto& [controller, mount] : layout_.controllers)
    if (std::ranges::find(mounts_, mount) == mounts_.end()) mounts_.push_back(mount);
}

std::string Cgroups::fileOf(const std::string& controller, const std::string& path,
                            const char* file) const {
  if (layout_.version == 2) return layout_.root + "/" + path + "/" + file;
  const auto mount = layout_.controllers.find(controller);
  if (mount == layout_.controllers.end()) return {};
  return mount->second + "/" + path + "/" + file;
}

Result<> Cgroups::createIn(const std::string& mount, const std::string& path, bool cpuset) {
  std::string parent = mount;
  for (const auto& prefix : prefixesOf(path)) {
    const std::string dir = mount + "/" + prefix;
    if (layout_.version == 2) {
      // One by one: a kernel that lacks one of them would reject the whole line.
      for (const char* controller : kV2Controllers) {
        auto on = fs_.write(parent + "/cgroup.subtree_control", fmt::format("+{}", controller));
        if (!on) log::v(2, "{}", on.error().message);
      }
    }
    if (auto made = fs_.makeDir(dir); !made) return made;
    if (cpuset) {
      for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
        if (const auto own = fs_.read(dir + file); own && !trimmed(*own).empty()) continue;
        auto inherited = fs_.read(parent + file);
        if (!inherited) return fail(std::move(inherited.error()));
        if (auto written = fs_.write(dir + file, trimmed(*inherited)); !written) return written;
      }
    }
    parent = dir;
  }
  return {};
}

Result<> Cgroups::create(const std::string& path, const CgroupValues& values) {
  const auto cpusetMount = layout_.controllers.find("cpuset");
  for (const auto& mount : mounts_) {
    const bool cpuset = cpusetMount != layout_.controllers.end() && cpusetMount->second == mount;
    if (auto made = createIn(mount, path, cpuset); !made) return made;
  }
  return update(path, values);
}

Result<> Cgroups::update(const std::string& path, const CgroupValues& values) {
  const auto write = [&](const char* controller, const char* file,
                         const std::string& text) -> Result<> {
    const std::string target = fileOf(controller, path, file);
    if (target.empty())
      return fail(ErrorCode::NotFound,
                  fmt::format("no cgroup mount for the {} controller", controller));
    return fs_.write(target, text);
  };
  const bool v2 = layout_.version == 2;
  if (values.cpuShares) {
    const auto shares = *values.cpuShares;
    auto done = v2 ? write("cpu", "cpu.weight", fmt::format("{}", 1 + (shares - 2) * 9999 / 262142))
                   : write("cpu", "cpu.shares", fmt::format("{}", shares));
    if (!done) return done;
  }
  if (values.cpuQuotaUs) {
    const auto quota = *values.cpuQuotaUs;
    if (v2) {
      const auto limit = quota < 0 ? std::string("max") : fmt::format("{}", quota);
      if (auto done = write("cpu", "cpu.max", fmt::format("{} {}", limit, values.cpuPeriodUs));
          !done)
        return done;
    } else {
      if (auto done = write("cpu", "cpu.cfs_period_us", fmt::format("{}", values.cpuPeriodUs));
          !done)
        return done;
      if (auto done = write("cpu", "cpu.cfs_quota_us", fmt::format("{}", quota)); !done)
        return done;
    }
  }
  if (values.memoryLimitBytes) {
    const auto limit = *values.memoryLimitBytes;
    const std::string text = limit < 0 && v2 ? "max" : fmt::format("{}", limit);
    if (auto done = write("memory", v2 ? "memory.max" : "memory.limit_in_bytes", text); !done)
      return done;
  }
  return {};
}

bool Cgroups::exists(const std::string& path) const {
  return std::ranges::any_of(mounts_,
                             [&](const auto& mount) { return fs_.isDir(mount + "/" + path); });
}

std::vector<std::string> Cgroups::children(const std::string& path) const {
  std::set<std::string> names;
  for (const auto& mount : mounts_)
    for (auto& name : fs_.subdirs(mount + "/" + path)) names.insert(std::move(name));
  return {names.begin(), names.end()};
}

void Cgroups::processesBelow(const std::string& dir, std::vector<int>& out) const {
  if (const auto text = fs_.read(dir + "/cgroup.procs")) {
    std::istringstream in(*text);
    for (int pid = 0; in >> pid;) out.push_back(pid);
  }
  for (const auto& name : fs_.subdirs(dir)) processesBelow(dir + "/" + name, out);
}

std::vector<int> Cgroups::processes(const std::string& path) const {
  std::vector<int> pids;
  for (const auto& mount : mounts_) processesBelow(mount + "/" + path, pids);
  std::ranges::sort(pids);
  pids.erase(std::ranges::unique(pids).begin(), pids.end());
  return pids;
}

void Cgroups::kill(const std::string& path) {
  for (const int pid : processes(path)) fs_.signal(pid, SIGKILL);
}

Result<> Cgroups::freeze(const std::string& path) {
  if (!exists(path)) return {};
  if (layout_.version == 2) return fs_.write(layout_.root + "/" + path + "/cgroup.freeze", "1");
  // They may start others meanwhile: repeated until there are no new ones.
  constexpr int kRounds = 100;
  std::set<int> stopped;
  for (int round = 0; round < kRounds; ++round) {
    bool found = false;
    for (const int pid : processes(path)) {
      if (!stopped.insert(pid).second) continue;
      found = true;
      fs_.signal(pid, SIGSTOP);
    }
    if (!found) return {};
  }
  return fail(ErrorCode::Conflict,
              path + ": its processes start others faster than they can be stopped");
}

Result<> Cgroups::thaw(const std::string& path) {
  if (!exists(path)) return {};
  if (layout_.version == 2) return fs_.write(layout_.root + "/" + path + "/cgroup.freeze", "0");
  for (const int pid : processes(path)) fs_.signal(pid, SIGCONT);
  return {};
}

Result<> Cgroups::removeTree(const std::string& dir) {
  if (!fs_.isDir(dir)) return {};
  for (const auto& name : fs_.subdirs(dir))
    if (auto removed = removeTree(dir + "/" + name); !removed) return removed;
  return fs_.removeDir(dir);
}

Result<> Cgroups::remove(const std::string& path) {
  Result<> result;
  for (const auto* mounts : {&mounts_, &layout_.others})
    for (const auto& mount : *mounts)
      if (auto removed = removeTree(mount + "/" + path); !removed && result)
        result = std::move(removed);
  return result;
}

std::vector<std::string> Cgroups::joinFiles(const std::string& path) const {
  std::vector<std::string> files;
  for (const auto& mount : mounts_) files.push_back(mount + "/" + path + "/cgroup.procs");
  return files;
}

std::string Cgroups::oomFile(const std::string& path) const {
  return fileOf("memory", path, layout_.version == 2 ? "memory.events" : "memory.oom_control");
}

std::string Cgroups::cpuset(const std::string& path) const {
  const auto text = fs_.read(
      fileOf("cpuset", path, layout_.version == 2 ? "cpuset.cpus.effective" : "cpuset.cpus"));
  return text ? trimmed(*text) : std::string();
}

Result<> checkWritable(const CgroupLayout& layout, CgroupFs& fs) {
  if (layout.version == 1) {
    for (const char* needed : {"cpu", "cpuacct", "cpuset", "memory"})
      if (!layout.controllers.contains(needed))
        return fail(ErrorCode::NotFound,
                    fmt::format("the {} cgroup controller is not mounted", needed));
  }
  Cgroups cgroups(layout, fs);
  const std::string probe = "koordctl-probe";
  auto made = cgroups.create(probe, CgroupValues{.cpuShares = 2});
  auto removed = cgroups.remove(probe);
  return made ? removed : made;
}

}  // namespace koord::cluster
