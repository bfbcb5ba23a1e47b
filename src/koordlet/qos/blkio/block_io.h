#pragma once

// Block I/O of BE pods (gate BlkIOReconcile): rates and weights per disk for the besteffort cgroup
// and for pods with an annotation, and the latencies at which the kernel takes a disk as
// overloaded. Files: blkio.* on cgroup v1 (weights need Anolis), io.max, io.weight and io.cost on
// v2.

#include <map>
#include <set>

#include "koordlet/qos/strategy.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/states.h"
#include "koordlet/system/storage.h"

namespace koord::koordlet {

// By device number of the disk, "253:16".
using BlockLimits = std::map<std::string, api::IOCfg>;

// Returns the values of one cgroup's files. Disks in `before` that have no limits get the defaults.
std::vector<CgroupUpdate> blockUpdates(CgroupVersion version, const std::string& dir,
                                       const BlockLimits& limits,
                                       const std::set<std::string>& before);
// Returns the values of the root's files: when a disk counts as overloaded, and its performance.
std::vector<FileUpdate> diskUpdates(const std::string& rootDir, CgroupVersion version,
                                    const BlockLimits& limits, const std::set<std::string>& before);

class BlockIo final : public Strategy {
 public:
  // Returns the name of the PersistentVolume of a claim, "" while it is not known.
  using VolumeOf = std::function<std::string(const std::string& ns, const std::string& claim)>;
  // `onStorage`: called in each round; `ok` is true if the node's disks could be read.
  BlockIo(const Host& host, const States& states, ResourceExecutor& executor, VolumeOf volumeOf,
          std::function<void(bool ok)> onStorage = nullptr);

  void run() override;
  json::value view() const override;

 private:
  // Returns the device number of a block's disk. An error names the block and says why no disk is
  // found.
  Result<std::string> diskOf(const api::BlockCfg& block, const PodView* pod) const;
  BlockLimits limitsOf(const std::vector<api::BlockCfg>& blocks, const PodView* pod,
                       const std::string& owner);
  std::string mountPointOf(const PodView& pod, const std::string& volume) const;
  // Returns the disks in a cgroup's files, as an earlier process left them.
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
      limited_;                          // disks, by cgroup, of cgroups whose files were read
  bool foundDisks_ = false;              // true if the root's files were read
  std::set<std::string> weightedDisks_;  // v2: disks that have weights now
  std::vector<std::string> problems_;
  std::string reason_ = "not run yet";
};

}  // namespace koord::koordlet
