#include "koordlet/system/storage.h"

#include <fmt/core.h>

#include "base/split.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

std::string textOf(const std::string& path) {
  const auto text = readSmallFile(path);
  return text ? std::string(trim(*text)) : std::string();
}

// Device mapper joins group and volume with a dash and doubles the dashes in their names.
std::string groupOfMapped(std::string_view name) {
  std::string group;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '-') {
      if (i + 1 == name.size() || name[i + 1] != '-') break;
      ++i;
    }
    group += name[i];
  }
  return group;
}

// Entries of a directory that are links, as those of /sys are.
std::vector<std::string> entriesOf(const std::string& dir) {
  return listDirs(dir);
}

}  // namespace

void Storage::addDisk(const std::string& block, const std::string& name) {
  const std::string number = textOf(fmt::format("{}{}/dev", block, name));
  if (number.empty()) return;
  disks_[name] = number;
  for (const auto& part : entriesOf(block + name))
    if (pathExists(fmt::format("{}{}/{}/partition", block, name, part))) disks_[part] = number;
}

void Storage::addLogicalVolume(const std::string& block, const std::string& name) {
  if (!textOf(fmt::format("{}{}/dm/uuid", block, name)).starts_with("LVM-")) return;
  const std::string mapped = textOf(fmt::format("{}{}/dm/name", block, name));
  const std::string group = groupOfMapped(mapped);
  mapped_[mapped] = group;
  mapped_[name] = group;
  for (const auto& part : entriesOf(fmt::format("{}{}/slaves", block, name))) {
    const auto disk = disks_.find(part);
    if (disk == disks_.end()) continue;
    auto& known = groups_.try_emplace(group, disk->second).first->second;
    if (known != disk->second) known.clear();
  }
}

Storage Storage::read(const HostDirs& dirs) {
  Storage storage;
  const std::string block = dirs.sysRoot + "block/";
  const auto names = entriesOf(block);
  for (const auto& name : names)
    if (!name.starts_with("dm-")) storage.addDisk(block, name);
  for (const auto& name : names)
    if (name.starts_with("dm-")) storage.addLogicalVolume(block, name);

  auto mounts = readSmallFile(dirs.procRoot + "1/mounts");
  if (!mounts) mounts = readSmallFile(dirs.procRoot + "self/mounts");
  if (mounts)
    forEachLine(*mounts, [&](std::string_view line) {
      const auto source = takeWord(line);
      const auto point = takeWord(line);
      if (source.starts_with("/dev/")) storage.mountPoints_[std::string(point)] = source;
    });
  return storage;
}

std::optional<std::string> Storage::ofKernelName(std::string_view name) const {
  if (const auto disk = disks_.find(name); disk != disks_.end()) return disk->second;
  const auto mapped = mapped_.find(name);
  return mapped == mapped_.end() ? std::nullopt : ofVolumeGroup(mapped->second);
}

std::optional<std::string> Storage::ofDevice(std::string_view path) const {
  for (const std::string_view prefix : {"/dev/mapper/", "/dev/"})
    if (path.starts_with(prefix)) return ofKernelName(path.substr(prefix.size()));
  return std::nullopt;
}

std::optional<std::string> Storage::ofVolumeGroup(const std::string& name) const {
  const auto group = groups_.find(name);
  if (group == groups_.end() || group->second.empty()) return std::nullopt;
  return group->second;
}

std::optional<std::string> Storage::ofMountPoint(const std::string& point) const {
  const auto device = mountPoints_.find(point);
  return device == mountPoints_.end() ? std::nullopt : ofDevice(device->second);
}

}  // namespace koord::koordlet
