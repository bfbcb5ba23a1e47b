#include "cluster/hostnode/cgroup_layout.h"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <vector>

namespace koord::cluster {

namespace {

constexpr std::array kControllers = {"cpu",  "cpuacct", "cpuset",  "memory",     "blkio",
                                     "pids", "net_cls", "hugetlb", "perf_event", "net_prio"};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (const auto part : std::views::split(text, separator))
    parts.emplace_back(part.begin(), part.end());
  return parts;
}

// mountinfo writes blanks, tabs, newlines and backslashes as \ooo.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '7';
    };
    if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Mount {
  std::string point;
  std::string_view type;
  std::string_view superOptions;
};

// "31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu"
std::optional<Mount> parseMount(std::string_view line) {
  const auto dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto before = split(line.substr(0, dash), ' ');
  const auto after = split(line.substr(dash + 3), ' ');
  if (before.size() < 5 || after.size() < 3) return std::nullopt;
  return Mount{unescape(before[4]), after[0], after[2]};
}

std::string parentOf(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace

Result<CgroupLayout> parseCgroupLayout(std::string_view mountinfo) {
  std::map<std::string, std::string> v1;
  std::string unified;
  std::vector<std::string> others;
  for (const auto line : split(mountinfo, '\n')) {
    const auto mount = parseMount(line);
    if (!mount) continue;
    if (mount->type == "cgroup2" && unified.empty()) unified = mount->point;
    if (mount->type == "cgroup2") others.push_back(mount->point);
    if (mount->type != "cgroup") continue;
    bool used = false;
    for (const auto option : split(mount->superOptions, ',')) {
      if (std::ranges::find(kControllers, option) == kControllers.end()) continue;
      used = true;
      v1.try_emplace(std::string(option), mount->point);
    }
    if (!used) others.push_back(mount->point);
  }
  if (const auto cpu = v1.find("cpu"); cpu != v1.end()) {
    const std::string root = parentOf(cpu->second);
    return CgroupLayout{1, root, std::move(v1), std::move(others)};
  }
  if (!unified.empty()) return CgroupLayout{2, unified, {}};
  return fail(ErrorCode::NotFound,
              "/proc/self/mountinfo: no cgroup file system with a cpu controller is mounted");
}

}  // namespace koord::cluster
