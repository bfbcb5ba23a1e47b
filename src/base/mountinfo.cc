#include "base/mountinfo.h"

#include <optional>

#include "base/split.h"

namespace koord {

namespace {

// Blanks, tabs, newlines and backslashes of a path are written as \ooo.
std::string unescaped(std::string_view text) {
  const auto octal = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '7';
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
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

// "31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu": the number of
// fields in front of the dash varies.
std::optional<MountInfo> parseLine(std::string_view line) {
  const auto dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto mount = splitAll(line.substr(0, dash), ' ');
  const auto source = splitAll(line.substr(dash + 3), ' ');
  if (mount.size() < 6 || source.size() < 3) return std::nullopt;
  MountInfo info{unescaped(mount[4]), std::string(source[0]), {}};
  for (const auto option : splitAll(source[2], ',')) info.superOptions.emplace_back(option);
  return info;
}

}  // namespace

std::vector<MountInfo> parseMountInfo(std::string_view text) {
  std::vector<MountInfo> mounts;
  for (const auto line : splitAll(text, '\n'))
    if (auto mount = parseLine(line)) mounts.push_back(*std::move(mount));
  return mounts;
}

}  // namespace koord
