#include "scheduler/plugins/registry.h"

#include "scheduler/plugins/coscheduling/plugin.h"
#include "scheduler/plugins/defaultbinder/plugin.h"
#include "scheduler/plugins/defaultprebind/plugin.h"
#include "scheduler/plugins/defaultpreemption/plugin.h"
#include "scheduler/plugins/deviceshare/plugin.h"
#include "scheduler/plugins/dynamicresources/plugin.h"
#include "scheduler/plugins/elasticquota/plugin.h"
#include "scheduler/plugins/fragmentationaware/plugin.h"
#include "scheduler/plugins/imagelocality/plugin.h"
#include "scheduler/plugins/interpodaffinity/plugin.h"
#include "scheduler/plugins/loadawarescheduling/plugin.h"
#include "scheduler/plugins/nodeaffinity/plugin.h"
#include "scheduler/plugins/nodedeclaredfeatures/plugin.h"
#include "scheduler/plugins/nodename/plugin.h"
#include "scheduler/plugins/nodenumaresource/plugin.h"
#include "scheduler/plugins/nodeports/plugin.h"
#include "scheduler/plugins/noderesources/balanced.h"
#include "scheduler/plugins/noderesources/fit.h"
#include "scheduler/plugins/noderesourcesfitplus/plugin.h"
#include "scheduler/plugins/nodeunschedulable/plugin.h"
#include "scheduler/plugins/nodevolumelimits/plugin.h"
#include "scheduler/plugins/podtopologyspread/plugin.h"
#include "scheduler/plugins/prioritysort/plugin.h"
#include "scheduler/plugins/reservation/plugin.h"
#include "scheduler/plugins/scarceresourceavoidance/plugin.h"
#include "scheduler/plugins/schedulinggates/plugin.h"
#include "scheduler/plugins/schedulinghint/plugin.h"
#include "scheduler/plugins/tainttoleration/plugin.h"
#include "scheduler/plugins/volumebinding/plugin.h"
#include "scheduler/plugins/volumerestrictions/plugin.h"
#include "scheduler/plugins/volumezone/plugin.h"

namespace koord::scheduler {

namespace {

// A plugin without arguments. As upstream, arguments for it are ignored.
template <class P>
void add(Registry& registry) {
  registry.emplace(P::kName, [](Fields&, Handle& handle) -> std::unique_ptr<Plugin> {
    if constexpr (std::is_constructible_v<P, Handle&>) {
      return std::make_unique<P>(handle);
    } else {
      return std::make_unique<P>();
    }
  });
}

template <class P, class Args>
void add(Registry& registry) {
  registry.emplace(P::kName, [](Fields& args, Handle& handle) -> std::unique_ptr<Plugin> {
    const Args read = Args::read(args);
    return std::make_unique<P>(handle, read);
  });
}

}  // namespace

Registry makeRegistry() {
  Registry registry;
  add<Coscheduling, CoschedulingArgs>(registry);
  add<SchedulingGates>(registry);
  add<PrioritySort>(registry);
  add<NodeUnschedulable>(registry);
  add<NodeName>(registry);
  add<NodeDeclaredFeatures>(registry);
  add<TaintToleration>(registry);
  add<NodeAffinity, NodeAffinityArgs>(registry);
  add<NodePorts>(registry);
  add<NodeResourcesFit, NodeResourcesFitArgs>(registry);
  add<VolumeRestrictions>(registry);
  add<NodeVolumeLimits>(registry);
  add<VolumeBinding, VolumeBindingArgs>(registry);
  add<VolumeZone>(registry);
  add<PodTopologySpread, PodTopologySpreadArgs>(registry);
  add<InterPodAffinity, InterPodAffinityArgs>(registry);
  add<LoadAwareScheduling, LoadAwareSchedulingArgs>(registry);
  add<DynamicResources, DynamicResourcesArgs>(registry);
  add<DefaultPreemption, DefaultPreemptionArgs>(registry);
  add<ElasticQuota, ElasticQuotaArgs>(registry);
  add<NodeResourcesBalancedAllocation, NodeResourcesBalancedAllocationArgs>(registry);
  add<NodeResourcesFitPlus, NodeResourcesFitPlusArgs>(registry);
  add<ScarceResourceAvoidance, ScarceResourceAvoidanceArgs>(registry);
  add<FragmentationAware, FragmentationAwareArgs>(registry);
  add<ImageLocality>(registry);
  add<DefaultBinder>(registry);
  add<DefaultPreBind>(registry);
  add<SchedulingHint, SchedulingHintArgs>(registry);
  add<ReservationPlugin, ReservationArgs>(registry);
  add<NodeNumaResource, NodeNUMAResourceArgs>(registry);
  add<DeviceShare, DeviceShareArgs>(registry);
  return registry;
}

}  // namespace koord::scheduler
