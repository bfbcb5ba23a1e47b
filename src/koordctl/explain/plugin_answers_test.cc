#include "koordctl/explain/plugin_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "koordctl/explain/explanation.h"
#include "koordctl/explain/layout.h"

namespace koord::koordctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ofPod(std::string_view answer) {
  std::string out;
  addPluginAnswers(out, *parseJson(answer));
  return out;
}

void expectNarrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kWidth) << line;
}

TEST(PluginAnswersTest, AGangIsToldByItsMembers) {
  const std::string text = ofPod(R"({"gang": {"gang": "shop/train", "groups": [
      {"name": "shop/train", "minMember": 4, "present": 3, "bound": 0, "missing": 1, "failed": [
        {"pod": "shop/train-2", "reason": "0/5 nodes are available: 1 node(s) had untolerated taint(s), 4 Insufficient cpu."}]},
      {"name": "shop/ps", "minMember": 1, "present": 1, "bound": 1, "missing": 0, "failed": []}],
    "waitingFor": "1 more pod of shop/train, or room for shop/train-2"}})");
  EXPECT_EQ(text,
            R"(
Gang   shop/train
  GROUP       NEEDS  PRESENT  BOUND  MISSING
  shop/train  4      3        0      1
  shop/ps     1      1        1      0
  shop/train-2: 0/5 nodes are available: 1 node(s) had untolerated taint(s), 4
  Insufficient cpu.
It waits for 1 more pod of shop/train, or room for shop/train-2
)");
  expectNarrow(text);
}

TEST(PluginAnswersTest, ReservationsThatMatchComeFirst) {
  const std::string text = ofPod(R"({"reservations": {"pod": "shop/web", "reservations": [
      {"name": "for-others", "node": "sim-1", "matched": false, "reason": "its owners are labelled app=batch"},
      {"name": "for-web", "node": "sim-2", "matched": true, "reason": "Insufficient cpu"}]}})");
  EXPECT_EQ(text,
            "\nReservations\n"
            "  for-web on sim-2 matches: Insufficient cpu\n"
            "  for-others on sim-1 does not match: its owners are labelled app=batch\n");
}

TEST(PluginAnswersTest, OfVeryManyOnlySomeAreShown) {
  std::string list, failed;
  for (int i = 0; i < 500; ++i) {
    list += std::string(list.empty() ? "" : ",") + R"({"name": "r", "matched": false})";
    failed += std::string(failed.empty() ? "" : ",") + R"({"pod": "p", "reason": "full"})";
  }
  EXPECT_THAT(ofPod(R"({"reservations": {"reservations": [)" + list + "]}}"),
              HasSubstr("and 490 more"));
  EXPECT_THAT(ofPod(R"({"gang": {"gang": "g", "groups": [{"failed": [)" + failed + "]}]}}"),
              HasSubstr("and 490 more"));
}

TEST(PluginAnswersTest, AQuotaIsATableOfItsResources) {
  // As upstream's scheduler describes a quota.
  const std::string text = quotaText(*parseJson(R"({"name": "team-a", "parentName": "root",
      "used": {"cpu": "8", "memory": "16Gi"}, "runtime": {"cpu": "10", "memory": "20Gi"},
      "min": {"cpu": "4", "memory": "8Gi"}, "max": {"cpu": "40", "memory": "80Gi"},
      "request": {"cpu": "12"}, "sharedWeight": {"cpu": "40", "memory": "80Gi"}})"));
  EXPECT_EQ(text,
            R"(Quota  team-a, below root
  RESOURCE  USED  RUNTIME  MIN  MAX   REQUESTED  WEIGHT
  cpu       8     10       4    40    12         40
  memory    16Gi  20Gi     8Gi  80Gi  -          80Gi
)");
}

TEST(PluginAnswersTest, AGangOfItsOwnIsAsUpstreamDescribesIt) {
  const std::string text = gangText(*parseJson(R"({"name": "shop/train", "mode": "Strict",
      "gangMatchPolicy": "once-satisfied", "gangFrom": "GangFromPodGroupCrd", "minRequiredNumber": 3,
      "totalChildrenNum": 4, "gangGroup": ["shop/train", "shop/ps"],
      "boundChildren": {}, "waitingForBindChildren": {"shop/a": {}},
      "pendingChildren": ["shop/c", "shop/b"], "onceResourceSatisfied": true})"));
  EXPECT_EQ(text,
            R"(Gang   shop/train
Kind   Strict, once-satisfied, made of GangFromPodGroupCrd
Needs  3 pods at a time, of 4 in all
Group  with shop/ps, shop/train
       1 pod waiting to be bound: shop/a
       2 pods pending: shop/b, shop/c
The gang was complete before; later pods do not wait.
)");
}

TEST(PluginAnswersTest, AGangThatWaitsSaysWhatItLacksAndWhatIsWrongWithIt) {
  const std::string text = gangText(*parseJson(R"({"name": "shop/train", "mode": "Strict",
      "minRequiredNumber": 2, "pendingChildren": {"shop/a": {}}, "gang": "shop/train", "groups": [
        {"name": "shop/train", "minMember": 2, "present": 1, "bound": 0, "missing": 1,
         "failed": [{"pod": "shop/a", "reason": "too large"}],
         "problems": ["metadata.annotations[x]: Invalid value"]}],
      "waitingFor": "1 more pod of gang shop/train"})"));
  EXPECT_EQ(text,
            R"(Gang   shop/train
Kind   Strict
Needs  2 pods at a time
       1 pod pending: shop/a
  GROUP       NEEDS  PRESENT  BOUND  MISSING
  shop/train  2      1        0      1
  shop/a: too large
Problem: shop/train: metadata.annotations[x]: Invalid value
It waits for 1 more pod of gang shop/train
)");
}

TEST(PluginAnswersTest, AReservationIsATableOfWhatItHolds) {
  const std::string text = reservationText(*parseJson(R"({"name": "r", "phase": "Available",
      "node": "sim-1", "allocateOnce": true, "allocatePolicy": "Aligned", "unschedulable": true,
      "allocatable": {"cpu": "4"}, "allocated": {"cpu": "1"}, "remaining": {"cpu": "3"},
      "assignedPods": [{"Namespace": "shop", "Name": "a"}], "expires": "2026-11-23T00:00:00Z",
      "conditions": [{"type": "Scheduled", "reason": "Scheduled", "message": ""},
                     {"type": "Ready", "reason": "Expired", "message": "it is over"}],
      "problems": ["spec.owners: none"]})"));
  EXPECT_EQ(text,
            R"(Reservation  r
Phase        Available, closed for new pods
Node         sim-1
Expires      2026-11-23T00:00:00Z
Rules        Aligned, for one owner (allocateOnce)
  RESOURCE  RESERVED  USED  LEFT
  cpu       4         1     3
Used by      shop/a
Ready        Expired: it is over
Problem: spec.owners: none
)");
}

TEST(PluginAnswersTest, AQuotaIsToldWithAllLevelsAboveIt) {
  const std::string text = quotaText(*parseJson(R"({"name": "team-a", "levels": [
      {"name": "team-a", "parentName": "org", "used": {"cpu": "8"}, "max": {"cpu": "8"},
       "full": ["cpu: uses 8 of 8"],
       "arithmetic": ["cpu: org has 20 for 2 quotas; their mins take 10 and lend 0; 10 are distributed by weight"]},
      {"name": "org", "used": {"cpu": "9"}, "max": {"cpu": "20"}, "full": [], "arithmetic": []}],
    "pods": {"assigned": 1, "waiting": 3}, "problems": [],
    "biggestUsers": [{"pod": "shop/a", "quota": "team-a", "priority": 5,
                      "request": {"cpu": "8", "memory": "1Gi"}}]})"));
  EXPECT_EQ(text,
            R"(Quota  team-a, below org
  RESOURCE  USED  MAX
  cpu       8     8
  full: cpu: uses 8 of 8
  cpu: org has 20 for 2 quotas; their mins take 10 and lend 0; 10 are
  distributed by weight
Quota  org
  RESOURCE  USED  MAX
  cpu       9     20
1 pod in it, 3 waiting
Largest users
  POD     QUOTA   PRIORITY  REQUESTS
  shop/a  team-a  5         cpu 8, memory 1Gi
)");
  expectNarrow(text);
}

TEST(PluginAnswersTest, APodIsToldWhichLevelOfItsQuotaIsFull) {
  EXPECT_EQ(ofPod(R"({"plugins": {"ElasticQuota": {"quota": "team-a", "fullAt": "org",
      "message": "Insufficient quotas, quotaName: org",
      "biggestUsers": [{"pod": "shop/a", "quota": "team-b", "priority": 0,
                        "request": {"cpu": "8"}}]}},
    "quota": {"levels": [{"name": "team-a", "used": {"cpu": "1"}, "full": []},
                         {"name": "org", "used": {"cpu": "9"}, "full": ["cpu: uses 9 of 9"]}]}})"),
            R"(
Quota  team-a
It waits for quota org.
  Insufficient quotas, quotaName: org
Quota  org
  RESOURCE  USED
  cpu       9
  full: cpu: uses 9 of 9
Largest users
  POD     QUOTA   PRIORITY  REQUESTS
  shop/a  team-b  0         cpu 8
)");
}

TEST(PluginAnswersTest, APodThatIsTooLargeForWhatIsLeftIsToldHowThatCameAbout) {
  EXPECT_EQ(ofPod(R"({"plugins": {"ElasticQuota": {"quota": "team-a", "fullAt": "team-a"}},
    "quota": {"levels": [{"name": "team-a", "used": {"cpu": "1"}, "full": [],
                          "arithmetic": ["cpu: org has 20 for 2 quotas"]},
                         {"name": "org", "used": {"cpu": "9"}, "full": []}]}})"),
            R"(
Quota  team-a
It waits for quota team-a.
Quota  team-a
  RESOURCE  USED
  cpu       1
  cpu: org has 20 for 2 quotas
)");
}

TEST(PluginAnswersTest, APodIsToldItsCpusOrWhereSomeAre) {
  EXPECT_EQ(ofPod(R"({"plugins": {"NodeNUMAResource": {"cpus": 4, "cpuBindPolicy": "FullPCPUs",
      "required": true, "nodes": [{"name": "a", "usable": 2, "cpus": 8, "numa": [
        {"node": 0, "free": 3, "inWholeCores": 2}, {"node": 1, "free": 1, "inWholeCores": 0}]}]}}})"),
            R"(
CPUs   4, which must be FullPCPUs
  NODE  USABLE  OF  NUMA  FREE  IN WHOLE CORES
  a     2       8   0     3     2
                    1     1     0
)");
  EXPECT_EQ(ofPod(R"({"plugins": {"NodeNUMAResource": {"cpus": 2, "cpuset": "0-1",
      "because": "1 cores, 1 of them whole", "ignored": ["requiredCPUBindPolicy: unknown"],
      "numaNodeResources": [{"node": 0, "resources": {"cpu": "2"}}]}}})"),
            R"(
CPUs   0-1
       1 cores, 1 of them whole
  ignored: requiredCPUBindPolicy: unknown
  on NUMA node 0: cpu 2
)");
}

TEST(PluginAnswersTest, APodIsToldWhatItWouldGetAndWhy) {
  EXPECT_EQ(ofPod(R"({"plugins": {"NodeNUMAResource": {"cpus": 2, "cpuBindPolicy": "FullPCPUs",
      "required": false, "nodes": [
        {"name": "a", "usable": 1, "cpus": 2, "numa": [{"node": 0, "free": 1, "inWholeCores": 0}]},
        {"name": "b", "usable": 2, "cpus": 2, "wouldGet": "0-1",
         "numa": [{"node": 0, "free": 2, "inWholeCores": 2}]}]}}})"),
            R"(
CPUs   2, if possible FullPCPUs
  NODE  USABLE  OF  NUMA  FREE  IN WHOLE CORES  WOULD GET
  a     1       2   0     1     0
  b     2       2   0     2     2               0-1
)");
  EXPECT_EQ(ofPod(R"({"plugins": {"DeviceShare": {"nodesWithDevices": 1, "nodes": [
      {"node": "a", "fits": true, "wouldGet": {"gpu": [0, 1], "rdma": [2]}, "because": "of one switch",
       "devices": {"gpu": {"0": "idle", "1": "idle"}}}]}}})"),
            R"(
Devices
  a: enough; gpu 0,1: idle
    it would get gpu 0,1, rdma 2: of one switch
)");
}

TEST(PluginAnswersTest, DevicesAreThoseThePodHasOrWhereThereAreSome) {
  EXPECT_EQ(ofPod(R"({"plugins": {"DeviceShare": {"node": "n", "reservation": "r", "devices": {
      "gpu": [{"minor": 3, "id": "GPU-3", "resources": {"koordinator.sh/gpu-core": "50"}}]}}}})"),
            R"(
Devices
  TYPE  NUMBER  ID     HAS
  gpu   3       GPU-3  50 gpu-core
  of reservation r
)");
  EXPECT_EQ(ofPod(R"({"plugins": {"DeviceShare": {"nodesWithDevices": 3, "nodes": [
      {"node": "a", "fits": false, "reason": "Insufficient GPU Devices",
       "devices": {"gpu": {"0": "idle", "1": "full", "2": "idle"}}}]}}})"),
            R"(
Devices
  a: Insufficient GPU Devices; gpu 0,2: idle; 1: full
  and 2 more nodes with less
)");
}

TEST(PluginAnswersTest, WhatIsNotThereIsNotMentioned) {
  EXPECT_EQ(ofPod(R"({"pod": "d/p", "state": "bound"})"), "");
  EXPECT_THAT(
      explanationText(*parseJson(R"({"pod": "d/p", "gang": {"gang": "d/g", "groups": []}})")),
      HasSubstr("\nGang   d/g\n"));
}

TEST(PluginAnswersTest, WhateverTheAnswerIsItDoesNotCrash) {
  for (const char* odd :
       {"[]", "null", "3", "{}", R"({"gang": 3, "quota": [], "reservations": "x"})",
        R"({"gang": {"gang": "g", "groups": [1, {"failed": {"pod": 1}}]},
                              "quota": {"levels": [null, {"name": "q", "used": {"cpu": []}, "full": 3}]},
                              "reservations": {"reservations": [null, {"matched": "yes"}]}})",
        R"({"name": 1, "min": 3, "gangGroup": "a", "boundChildren": 1})"}) {
    const json::value answer = *parseJson(odd);
    EXPECT_THAT(ofPod(odd), Not(HasSubstr("\t")));
    gangText(answer);
    quotaText(answer);
    reservationText(answer);
  }
}

TEST(PluginAnswersTest, LongWordsAndLinesAreCutAtBlanks) {
  std::string out;
  addParagraph(out, "head ", std::string(100, 'x') + " short " + std::string(70, 'y') + "  end\n");
  EXPECT_EQ(out, "head " + std::string(100, 'x') + "\n     short\n     " + std::string(70, 'y') +
                     " end\n");
  out.clear();
  addParagraph(out, "head ", "");
  EXPECT_EQ(out, "head\n");
}

}  // namespace
}  // namespace koord::koordctl
