#pragma once

// Block I/O of best effort (gate BlkIOReconcile): rates and shares per disk for the besteffort cgroup
// and for pods with an annotation, and how the kernel tells that a disk is overloaded. blkio files on
// cgroup v1 (those of Anolis for shares), io.max, io.weight and io.cost on v2.

#include <map>
#include <set>

#include "koordlet/qos/strategy.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/states.h"
#include "koordlet/system/storage.h"

namespace koord::koordlet {

// By number of the disk, "253:16".
using BlockLimits = std::map<std::string, api::IOCfg>;

// The values of one cgroup's files; disks that are no longer limited get their defaults.
std::vector<CgroupUpdate> blockUpdates(CgroupVersion version, const std::string& dir,
                                       const BlockLimits& limits,
                                       const std::set<std::string>& before);
// Those of the root: when a disk counts as overloaded, and what it can do.
std::vector<FileUpdate> diskUpdates(const std::string& rootDir, CgroupVersion version,
                                    const BlockLimits& limits, const std::set<std::string>& before);

class BlockIo final : public Strategy {
 public:
  // The PersistentVolume of a claim; "" while it is not known.
  using VolumeOf = std::function<std::string(const std::string& ns, const std::string& claim)>;
  // `onStorage`: told in each round whether the machine's disks could be read.
  BlockIo(const Host& host, const States& states, ResourceExecutor& executor, VolumeOf volumeOf,
          std::function<void(bool ok)> onStorage = nullptr);

  void run() override;
  json::value view() const override;

 private:
  // The disk of a block; an error says what it is called and why it is not found.
  Result<std::string> diskOf(const api::BlockCfg& block, const PodView* pod) const;
  BlockLimits limitsOf(const std::vector<api::BlockCfg>& blocks, const PodView* pod,
                       const std::string& owner);
  std::string mountPointOf(const PodView& pod, const std::string& volume) const;
  // The disks that a cgroup's files speak of, as a former process left them.
  std::set<std::string> foundIn(const std::string& dir) const;
  void apply(const std::string& dir, const BlockLimits& limits);
  void applyToPods(std::set<std::string>& dirs);
  void applyToDisks(const BlockLimits& limits, bool configured);

  const Host& host_;
  const States& states_;
  ResourceExecutor& executor_;
  VolumeOf volumeOf_;
  std::function<void(bool ok)> onStorage_;
  Storage storage_;
  std::map<std::string, std::set<std::string>>
      limited_;                    // disks, by cgroup; of those that were looked at
  bool foundDisks_ = false;        // the root's files were looked at
  std::set<std::string> weighed_;  // v2: disks that have weights now
  std::vector<std::string> problems_;
  std::string reason_ = "not run yet";
};

}  // namespace koord::koordlet
