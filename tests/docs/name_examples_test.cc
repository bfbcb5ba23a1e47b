// The examples of docs/reference/names.md, read by the functions that read the names at work.
// Readers of model/ are tested in model/name_help_test.cc.

#include <gtest/gtest.h>

#include "api/codec.h"
#include "api/slo.h"
#include "koordlet/hooks/oomscore/oom_score.h"
#include "koordlet/hooks/resctrl/pod_resctrl.h"
#include "koordlet/qos/cpuburst/rules.h"
#include "koordlet/qos/evictor/evictor.h"
#include "model/name_help.h"
#include "model/node_names.h"
#include "model/well_known.h"
#include "scheduler/plugins/coscheduling/gang_spec.h"
#include "scheduler/plugins/deviceshare/adaption.h"
#include "scheduler/plugins/deviceshare/devices/demand.h"
#include "scheduler/plugins/deviceshare/devices/inventory.h"
#include "scheduler/plugins/elasticquota/quota_object.h"
#include "scheduler/plugins/loadawarescheduling/node_settings.h"
#include "scheduler/plugins/nodenumaresource/numa_demand.h"
#include "scheduler/plugins/nodenumaresource/numa_node.h"
#include "scheduler/plugins/reservation/operating_pod.h"
#include "scheduler/plugins/reservation/reservation_request.h"
#include "scheduler/plugins/schedulinghint/plugin.h"

namespace koord {
namespace {

std::string exampleOf(std::string_view name) {
  for (const auto& group : model::nameGroups())
    for (const auto& one : group.names)
      if (one.name == name) return std::string(one.example);
  ADD_FAILURE() << name << " has no entry";
  return {};
}
// Annotations with these keys and their examples.
api::StringMap withExamples(std::initializer_list<std::string_view> keys) {
  api::StringMap map;
  for (const auto key : keys) map[std::string(key)] = exampleOf(key);
  return map;
}

TEST(NameExamples, OfGangsAreRead) {
  api::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.annotations = withExamples(
      {model::kAnnotationGangMinAvailable, model::kAnnotationGangTotalNumber,
       model::kAnnotationGangMode, model::kAnnotationGangWaitingTime,
       model::kAnnotationGangMatchPolicy, "gang.scheduling.koordinator.sh/network-topology-spec"});
  pod.metadata.annotations[std::string(model::kAnnotationGangName)] = "ps";
  pod.metadata.annotations[std::string(model::kAnnotationGangGroups)] =
      exampleOf(model::kAnnotationGangGroups);
  const auto spec = scheduler::gangSpecOf(pod, scheduler::CoschedulingArgs{});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->problems, std::vector<std::string>());
  EXPECT_EQ(spec->minimum, 4);
  EXPECT_EQ(spec->mode, scheduler::GangMode::NonStrict);
  EXPECT_EQ(spec->group.size(), 2U);
  EXPECT_TRUE(spec->network);
}

TEST(NameExamples, OfDevicesAreRead) {
  const auto demand = scheduler::readDeviceDemand(
      {{std::string(model::kNvidiaGpu), Quantity::of(1)},
       {std::string(model::kRdma), Quantity::of(100)}},
      withExamples({scheduler::kAnnotationDeviceHint, scheduler::kAnnotationDeviceJoint,
                    scheduler::kAnnotationPartitionSpec}));
  ASSERT_TRUE(demand) << demand.error().message;
  EXPECT_EQ(demand->ignored, std::vector<std::string>());
  EXPECT_TRUE(demand->samePcie);
  EXPECT_TRUE(demand->partition.honor);
  EXPECT_TRUE(scheduler::parsePartitions(exampleOf(model::kAnnotationGpuPartitions)));
  for (const char* lock : {"cambricon.com/dsmlu.lock", "hami.io/mutex.lock"})
    EXPECT_TRUE(scheduler::parseDeviceLock(exampleOf(lock))) << lock;
}

TEST(NameExamples, OfReservationsAreRead) {
  api::Pod pod;
  pod.metadata.annotations = withExamples(
      {model::kAnnotationReservationAffinity, model::kAnnotationExactMatchReservation});
  const auto wish = scheduler::ReservationRequest::of(pod);
  EXPECT_EQ(wish.error, "");
  EXPECT_TRUE(wish.required);
  EXPECT_TRUE(wish.exact);

  pod.metadata.annotations = withExamples(
      {scheduler::kAnnotationReservationOwners, scheduler::kAnnotationReservationCurrentOwner});
  std::string error;
  const auto reservation = scheduler::reservationOf(pod, error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(reservation.spec.owners.size(), 1U);
  EXPECT_EQ(reservation.status.currentOwners.size(), 1U);
}

TEST(NameExamples, OfQuotasAreRead) {
  api::ElasticQuota quota;
  quota.metadata.annotations =
      withExamples({model::kAnnotationSharedWeight, model::kAnnotationQuotaNamespaces,
                    model::kAnnotationQuotaTotal, model::kAnnotationQuotaUnschedulable});
  scheduler::ResourceNames names;
  const auto read = scheduler::readQuota(quota, names);
  EXPECT_EQ(read.problems, std::vector<std::string>());
  EXPECT_EQ(read.namespaces.size(), 1U);
  EXPECT_FALSE(read.treeTotal.empty());
}

TEST(NameExamples, OfCpusAndLoadsAreRead) {
  scheduler::ResourceNames names;
  api::Node node;
  node.metadata.labels = withExamples(
      {scheduler::kLabelCpuBindPolicy, scheduler::kLabelNumaStrategy, scheduler::kLabelNumaPolicy});
  node.metadata.annotations =
      withExamples({model::kAnnotationAmplificationRatio, model::kAnnotationNodeReservation});
  scheduler::CpuReport report;
  report.metadata.annotations =
      withExamples({model::kAnnotationPodCpuAllocs, model::kAnnotationKubeletCpus,
                    model::kAnnotationSystemQosResource});
  EXPECT_EQ(scheduler::readNumaNode(names, &node, &report).problems, std::vector<std::string>());
  EXPECT_TRUE(scheduler::CpuTopologies().parse(exampleOf(model::kAnnotationCpuTopology)));

  const scheduler::LoadResources resources{scheduler::LoadAwareSchedulingArgs{}};
  const auto limits =
      scheduler::parseUsageLimits(resources, exampleOf(scheduler::kAnnotationUsageThresholds));
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_TRUE(limits->usage);
  EXPECT_TRUE(
      scheduler::parseRawAllocatable(resources, exampleOf(model::kAnnotationRawAllocatable)));
  for (const auto key :
       {model::kAnnotationSchedulingHint, model::kAnnotationSchedulingHintDeprecated}) {
    const auto hint = scheduler::readSchedulingHint(withExamples({key}));
    ASSERT_TRUE(hint) << hint.error().message;
    EXPECT_TRUE(*hint);
  }
}

TEST(NameExamples, OfKoordletAreRead) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.annotations =
      withExamples({model::kAnnotationCpuBurst, model::kAnnotationEvictionPolicy,
                    model::kAnnotationOomScoreAdjSpec, model::kAnnotationOomScoreAdj});
  EXPECT_EQ(koordlet::cpuburst::strategyFor(*pod, {}).policy, "auto");
  EXPECT_TRUE(koordlet::allowsEviction(*pod, "BEMemoryEvict"));
  EXPECT_FALSE(koordlet::allowsEviction(*pod, "BECPUEvict"));
  koordlet::PodView view;
  view.pod = pod;
  EXPECT_EQ(koordlet::oomScoreOf(view, "main"), -500);
  EXPECT_TRUE(api::decodeText<api::BlkIOQOS>(exampleOf(model::kAnnotationBlkioQos)));
  const koordlet::resctrl::Machine machine{
      .allWays = 0xff, .rootL3 = {{0, 0xff}}, .rootMb = {{0, 100}}};
  const auto schemata = koordlet::podSchemata(machine, exampleOf(model::kAnnotationResctrl));
  ASSERT_TRUE(schemata) << schemata.error().message;
  EXPECT_NE(schemata->l3, "");
  EXPECT_NE(schemata->mb, "");
}

}  // namespace
}  // namespace koord
