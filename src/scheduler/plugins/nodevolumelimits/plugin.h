#pragma once

// NodeVolumeLimits: a node can hold only so many volumes of each CSI driver.

#include <set>

#include "scheduler/framework/registry.h"
#include "scheduler/plugins/nodevolumelimits/attachments.h"

namespace koord::scheduler {

class NodeVolumeLimits final : public Plugin,
                               public PreFilterPlugin,
                               public FilterPlugin,
                               public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeVolumeLimits";
  explicit NodeVolumeLimits(Handle& handle)
      : cluster_(handle.cluster()),
        stores_(handle.stores()),
        users_(handle.claimUsers()),
        attachments_(handle.stores().attachments) {}
  std::string_view name() const override { return kName; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  // Distinct volumes, as "driver" and "driver/handle".
  using Volumes = std::set<std::pair<std::string, std::string>>;
  struct Wanted {
    Volumes volumes;
    std::string missing;  // what to say of a claim that is not there
  };

  void addVolume(const std::string& namespace_, const std::string& claim, Volumes& out) const;
  bool exceeds(NodeId node, const Volumes& wanted) const;

  Cluster& cluster_;
  Stores& stores_;
  const ClaimUsers& users_;
  Attachments attachments_;
};

}  // namespace koord::scheduler
