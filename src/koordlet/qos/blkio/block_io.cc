#include "koordlet/qos/blkio/block_io.h"

#include <fmt/format.h>

#include <charconv>

#include "api/codec.h"
#include "base/log.h"
#include "base/split.h"
#include "koordlet/system/small_file.h"
#include "model/well_known.h"

// First, each block of the configuration is resolved to a disk: by device, by volume group, or by
// the mount point of a volume of the pod. A block without a disk is reported and skipped; the
// others apply. Each disk then has a line in each file, "<number> <value>", or "<number>
// <key>=<value>" on v2, which the kernel keeps until another line replaces it. Disks whose limits
// were removed get the defaults: disks that this process limited, and disks that it finds in a
// cgroup's files when it reads them first, which an earlier process limited. The root's files may
// belong to other software as long as NodeSLO does not configure them.
//
// Only BE pods are limited. Rules: blkio of upstream's koordlet; upstream has no cgroup v2.

namespace koord::koordlet {
namespace {

constexpr std::int64_t kWholeWeight = 100;
constexpr std::int64_t kLatencyPercent = 95, kLatencyUs = 3000;

const std::vector<api::BlockCfg>* blocksOf(const std::optional<api::ResourceQOS>& qos) {
  if (!qos || !qos->blkioQOS || !qos->blkioQOS->enable.value_or(false)) return nullptr;
  return &qos->blkioQOS->blocks;
}

std::set<std::string> disksIn(const BlockLimits& limits) {
  std::set<std::string> disks;
  for (const auto& [disk, config] : limits) disks.insert(disk);
  return disks;
}

// The configured disks, and the previously limited ones with an empty configuration.
BlockLimits withRemoved(const BlockLimits& limits, const std::set<std::string>& before) {
  BlockLimits all = limits;
  for (const auto& disk : before) all.try_emplace(disk);
  return all;
}

std::string qosLine(const std::string& disk, const api::IOCfg& config, bool limited) {
  if (!limited) return disk + " enable=0";
  return fmt::format("{} enable=1 ctrl=user rpct={} rlat={} wpct={} wlat={}", disk,
                     config.readLatencyPercent.value_or(kLatencyPercent),
                     config.readLatency.value_or(kLatencyUs),
                     config.writeLatencyPercent.value_or(kLatencyPercent),
                     config.writeLatency.value_or(kLatencyUs));
}

std::string modelLine(const std::string& disk, const api::IOCfg& config) {
  if (!config.enableUserModel.value_or(false)) return disk + " ctrl=auto";
  return fmt::format(
      "{} ctrl=user rbps={} rseqiops={} rrandiops={} wbps={} wseqiops={} wrandiops={}", disk,
      config.modelReadBPS.value_or(1), config.modelReadSeqIOPS.value_or(1),
      config.modelReadRandIOPS.value_or(1), config.modelWriteBPS.value_or(1),
      config.modelWriteSeqIOPS.value_or(1), config.modelWriteRandIOPS.value_or(1));
}

std::optional<double> numberIn(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "rpct=95" equals "rpct=95.00", as the kernel prints it.
bool sameSetting(std::string_view has, std::string_view wanted) {
  if (has == wanted) return true;
  const auto name = wanted.substr(0, wanted.find('=') + 1);
  if (name.empty() || !has.starts_with(name)) return false;
  const auto is = numberIn(has.substr(name.size()));
  const auto asked = numberIn(wanted.substr(name.size()));
  return is && asked && *is == *asked;
}

bool hasSetting(std::string_view line, std::string_view wanted) {
  for (auto word = takeWord(line); !word.empty(); word = takeWord(line))
    if (sameSetting(word, wanted)) return true;
  return false;
}

// Disks whose line in io.cost.qos says enable=1. The others have no weights: the kernel refuses
// them.
std::set<std::string> disksWithCost(std::string_view text) {
  std::set<std::string> disks;
  forEachLine(text, [&](std::string_view line) {
    const std::string disk(takeWord(line));
    if (hasSetting(line, "enable=1")) disks.insert(disk);
  });
  return disks;
}

// Returns true if a file has the disk's line with all words of the wanted one. Without a line,
// "enable=0" holds.
bool hasDiskLine(std::string_view current, std::string_view wanted) {
  std::string_view rest = wanted;
  const auto disk = takeWord(rest);
  bool found = false, same = true;
  forEachLine(current, [&](std::string_view line) {
    if (takeWord(line) != disk) return;
    found = true;
    std::string_view words = rest;
    for (auto word = takeWord(words); !word.empty(); word = takeWord(words))
      same = same && hasSetting(line, word);
  });
  return found ? same : trim(rest) == "enable=0";
}

}  // namespace

std::vector<CgroupUpdate> blockUpdates(CgroupVersion version, const std::string& dir,
                                       const BlockLimits& limits,
                                       const std::set<std::string>& before) {
  std::vector<CgroupUpdate> updates;
  const auto add = [&](CgroupFile file, std::string value) {
    updates.push_back({file, dir, std::move(value), "UpdateBlkIO"});
  };
  for (const auto& [disk, config] : withRemoved(limits, before)) {
    const std::int64_t weight = config.ioWeightPercent.value_or(kWholeWeight);
    if (version == CgroupVersion::V2) {
      const auto rate = [](const std::optional<std::int64_t>& limit) {
        return limit.value_or(0) > 0 ? std::to_string(*limit) : std::string("max");
      };
      add(CgroupFile::IoMax,
          fmt::format("{} rbps={} wbps={} riops={} wiops={}", disk, rate(config.readBPS),
                      rate(config.writeBPS), rate(config.readIOPS), rate(config.writeIOPS)));
      // Without io.cost the kernel has no weights of disks, so they are set only if configured.
      if (config.ioWeightPercent || !limits.contains(disk))
        add(CgroupFile::IoWeight, fmt::format("{} {}", disk, weight));
      continue;
    }
    add(CgroupFile::BlkioReadIops, fmt::format("{} {}", disk, config.readIOPS.value_or(0)));
    add(CgroupFile::BlkioWriteIops, fmt::format("{} {}", disk, config.writeIOPS.value_or(0)));
    add(CgroupFile::BlkioReadBps, fmt::format("{} {}", disk, config.readBPS.value_or(0)));
    add(CgroupFile::BlkioWriteBps, fmt::format("{} {}", disk, config.writeBPS.value_or(0)));
    add(CgroupFile::BlkioCostWeight, fmt::format("{} {}", disk, weight));
  }
  return updates;
}

std::vector<FileUpdate> diskUpdates(const std::string& rootDir, CgroupVersion version,
                                    const BlockLimits& limits,
                                    const std::set<std::string>& before) {
  const bool v2 = version == CgroupVersion::V2;
  std::vector<FileUpdate> updates;
  for (const auto& [disk, config] : withRemoved(limits, before)) {
    const bool limited = limits.contains(disk);
    updates.push_back({rootDir + (v2 ? "io.cost.qos" : "blkio.cost.qos"),
                       qosLine(disk, config, limited), "UpdateBlkIO", "default", hasDiskLine,
                       disk});
    if (limited || config.enableUserModel)
      updates.push_back({rootDir + (v2 ? "io.cost.model" : "blkio.cost.model"),
                         modelLine(disk, config), "UpdateBlkIO", "default", hasDiskLine, disk});
  }
  return updates;
}

BlockIo::BlockIo(const Host& host, const States& states, ResourceExecutor& executor,
                 VolumeOf volumeOf, std::function<void(bool ok)> onStorage)
    : host_(host),
      states_(states),
      executor_(executor),
      volumeOf_(std::move(volumeOf)),
      onStorage_(std::move(onStorage)) {}

std::string BlockIo::mountPointOf(const PodView& pod, const std::string& volume) const {
  std::string name = volume;
  for (const auto& one : pod.pod->spec.volumes)
    if (one.name == volume && one.persistentVolumeClaim)
      name = volumeOf_
                 ? volumeOf_(pod.pod->metadata.namespace_, one.persistentVolumeClaim->claimName)
                 : std::string();
  if (name.empty()) return {};
  return fmt::format("{}pods/{}/volumes/kubernetes.io~csi/{}/mount", host_.dirs.varLibKubelet,
                     pod.uid(), name);
}

Result<std::string> BlockIo::diskOf(const api::BlockCfg& block, const PodView* pod) const {
  std::optional<std::string> disk;
  if (block.type == "device") disk = storage_.ofDevice(block.name);
  if (block.type == "volumegroup") disk = storage_.ofVolumeGroup(block.name);
  if (block.type == "podvolume" && pod)
    disk = storage_.ofMountPoint(mountPointOf(*pod, block.name));
  if (disk) return *disk;
  return fail(ErrorCode::NotFound,
              fmt::format("{} '{}' is not on a disk of this node", block.type, block.name));
}

BlockLimits BlockIo::limitsOf(const std::vector<api::BlockCfg>& blocks, const PodView* pod,
                              const std::string& owner) {
  BlockLimits limits;
  for (const auto& block : blocks) {
    const auto disk = diskOf(block, pod);
    if (disk) {
      limits[*disk] = block.ioCfg.value_or(api::IOCfg{});
    } else {
      problems_.push_back(fmt::format("{}: {}", owner, disk.error().message));
    }
  }
  return limits;
}

std::set<std::string> BlockIo::foundIn(const std::string& dir) const {
  using enum CgroupFile;
  std::set<std::string> disks;
  for (const auto file : {IoMax, IoWeight, BlkioReadIops, BlkioWriteIops, BlkioReadBps,
                          BlkioWriteBps, BlkioCostWeight}) {
    const auto path = cgroupFilePath(host_.layout, file, dir);
    const auto text = path ? readSmallFile(*path) : fail(path.error());
    if (!text) continue;
    forEachLine(*text, [&](std::string_view line) {
      const auto disk = takeWord(line);
      if (disk.find(':') != std::string_view::npos) disks.emplace(disk);  // no "default"
    });
  }
  return disks;
}

void BlockIo::apply(const std::string& dir, const BlockLimits& limits) {
  const auto [known, first] = limited_.try_emplace(dir);
  auto& before = known->second;
  if (first) before = foundIn(dir);
  auto updates = blockUpdates(host_.layout.version(Subsystem::Blkio), dir, limits, before);
  std::erase_if(updates, [&](const CgroupUpdate& update) {
    const std::string disk = update.value.substr(0, update.value.find(' '));
    if (update.file != CgroupFile::IoWeight || weightedDisks_.contains(disk)) return false;
    if (limits.contains(disk))
      problems_.push_back(
          fmt::format("{}: no weight for disk {}: blkioQOS of cgroupRoot does not name it, or this "
                      "kernel has no "
                      "io.cost",
                      dir, disk));
    return true;
  });
  (void)executor_.updateBatch(updates);
  // Disks whose limits were removed still get their defaults in each round.
  before.merge(disksIn(limits));
}

void BlockIo::applyToDisks(const BlockLimits& limits, bool configured) {
  auto& before = limited_[""];
  const std::string root = host_.layout.dir(Subsystem::Blkio, "");
  if (configured && !std::exchange(foundDisks_, true))
    for (const auto* name : {"io.cost.qos", "blkio.cost.qos"})
      if (const auto text = readSmallFile(root + name)) before.merge(disksWithCost(*text));
  for (const auto& update :
       diskUpdates(root, host_.layout.version(Subsystem::Blkio), limits, before))
    (void)executor_.updateFile(update);
  before.merge(disksIn(limits));
  const auto cost = readSmallFile(root + "io.cost.qos");
  weightedDisks_ = disksWithCost(cost ? *cost : "");
}

void BlockIo::run() {
  if (!states_.slo()) {
    reason_ = "no NodeSLO for this node yet";
    return;
  }
  if (!host_.layout.has(Subsystem::Blkio)) {
    reason_ = "off: this node has no controller for block I/O";
    return;
  }
  problems_.clear();
  storage_ = Storage::read(host_.dirs);
  if (onStorage_) onStorage_(!storage_.empty());
  static const std::vector<api::BlockCfg> kNone;
  const auto& qos = states_.slo()->qos;
  const auto* node = blocksOf(qos.cgroupRoot);
  const auto* be = blocksOf(qos.beClass);
  applyToDisks(limitsOf(node ? *node : kNone, nullptr, "cgroupRoot"),
               qos.cgroupRoot && qos.cgroupRoot->blkioQOS);
  apply(host_.besteffort(), limitsOf(be ? *be : kNone, nullptr, "beClass"));
  std::set<std::string> dirs{"", host_.besteffort()};
  applyToPods(dirs);
  std::erase_if(limited_, [&](const auto& entry) { return !dirs.contains(entry.first); });
  reason_ = fmt::format("{} cgroups", std::ranges::count_if(limited_, [](const auto& entry) {
                          return !entry.first.empty() && !entry.second.empty();
                        }));
  if (!problems_.empty()) reason_ += fmt::format("; {}", fmt::join(problems_, "; "));
}

// A pod without the annotation gets no limits, also if it had some before.
void BlockIo::applyToPods(std::set<std::string>& dirs) {
  for (const auto& pod : states_.pods()) {
    const auto* text = api::findIn(pod.pod->metadata.annotations, model::kAnnotationBlkioQos);
    if (pod.pod->status.phase != "Running" || pod.qos == model::Qos::None) continue;
    dirs.insert(pod.dir);
    auto own = !text || text->empty() ? Result<api::BlkIOQOS>(api::BlkIOQOS{})
                                      : api::decodeText<api::BlkIOQOS>(*text);
    if (own) {
      apply(pod.dir, limitsOf(own->blocks, &pod, pod.pod->metadata.name));
    } else {
      problems_.push_back(fmt::format("{}: annotation {}: {}", pod.pod->metadata.name,
                                      model::kAnnotationBlkioQos, own.error().message));
    }
  }
}

json::value BlockIo::view() const {
  return json::object{{"reason", reason_}};
}

}  // namespace koord::koordlet
