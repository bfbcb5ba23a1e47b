#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/hooks/coresched/core_sched_hook.h"
#include "koordlet/hooks/cpunormalization/cpu_normalization.h"
#include "koordlet/hooks/gpu/device_inject.h"
#include "koordlet/hooks/oomscore/oom_score.h"
#include "koordlet/hooks/terwayqos/terway_qos.h"
#include "koordlet/testing/fake_host.h"

// One table per hook: the pod's input and the expected values.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

using Texts = std::vector<std::pair<std::string, std::string>>;

// A running pod "u" of one container "a".
struct PodText {
  std::string qos = {}, kubeQos = "Burstable";
  Texts annotations = {}, labels = {};
  std::string resources = "{}";
};

json::object objectOf(const Texts& texts) {
  json::object object;
  for (const auto& [name, value] : texts) object[name] = value;
  return object;
}

PodView viewOfText(const PodText& text) {
  json::object labels = objectOf(text.labels);
  if (!text.qos.empty()) labels["koordinator.sh/qosClass"] = text.qos;
  const json::object document{
      {"metadata",
       {{"name", "p"},
        {"namespace", "d"},
        {"uid", "u"},
        {"labels", labels},
        {"annotations", objectOf(text.annotations)}}},
      {"spec",
       {{"containers",
         json::array{json::object{{"name", "a"}, {"resources", *parseJson(text.resources)}}}}}},
      {"status",
       {{"phase", "Running"},
        {"qosClass", text.kubeQos},
        {"containerStatuses",
         json::array{json::object{{"name", "a"},
                                  {"containerID", "containerd://a"},
                                  {"state", {{"running", json::object()}}}}}}}}};
  auto pod = api::decodeText<api::Pod>(toJson(document));
  EXPECT_TRUE(pod) << pod.error().message;
  return viewOf(std::make_shared<const api::Pod>(*std::move(pod)), CgroupDriver::Cgroupfs);
}

std::vector<std::string> valuesOf(std::span<const CgroupUpdate> updates) {
  std::vector<std::string> values;
  for (const auto& update : updates) values.push_back(update.value);
  return values;
}

States statesOf(std::string_view node, std::string_view qos = "{}") {
  States states;
  states.setNode(std::make_shared<const api::Node>(*api::decodeText<api::Node>(node)));
  EffectiveSlo slo = defaultSlo();
  slo.qos = *api::decodeText<api::ResourceQOSStrategy>(qos);
  states.setSlo(slo);
  return states;
}

TEST(HookTables, FasterCpusShortenTheQuotaOfPodsThatShareThem) {
  constexpr std::string_view kStatus = "scheduling.koordinator.sh/resource-status";
  const std::string four = R"({"limits":{"cpu":"4"}})";
  const struct {
    const char* name;
    std::string ratio;
    PodText pod;
    std::vector<std::string> quota;  // of the pod and of its container
  } rows[] = {
      {"faster", "1.2", {.qos = "LS", .resources = four}, {"333334"}},
      {"unlabelled", "1.2", {.resources = four}, {"333334"}},
      {"nominal", "1.0", {.qos = "LS", .resources = four}, {}},
      {"slower", "0.8", {.qos = "LS", .resources = four}, {}},
      {"nonsense", "fast", {.qos = "LS", .resources = four}, {}},
      {"negative", "-2", {.qos = "LS", .resources = four}, {}},
      {"pinned",
       "1.2",
       {.qos = "LS",
        .annotations = {{std::string(kStatus), R"({"cpuset":"1"})"}},
        .resources = four},
       {}},
      {"LSR", "1.2", {.qos = "LSR", .resources = four}, {}},
      {"best effort", "1.2", {.qos = "BE", .kubeQos = "BestEffort", .resources = four}, {}},
      {"no limit", "1.2", {.qos = "LS"}, {}},
      {"bursts its own quota",
       "1.2",
       {.qos = "LS",
        .annotations = {{"koordinator.sh/cpuBurst", R"({"policy":"auto"})"}},
        .resources = four},
       {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const States states = statesOf(fmt::format(
        R"({{"metadata":{{"annotations":{{"node.koordinator.sh/cpu-normalization-ratio":"{}"}}}}}})",
        row.ratio));
    FakeHost files(CgroupVersion::V2, {});
    const Host host = *Host::detect(files.dirs());
    CpuNormalizationHook hook(host);
    HookUpdates updates;
    hook.prepare(states, updates);
    hook.wanted(viewOfText(row.pod), updates);
    EXPECT_EQ(valuesOf(updates.pods), row.quota);
    EXPECT_EQ(valuesOf(updates.containers), row.quota);
  }
}

TEST(HookTables, AQuotaThatWasShortenedIsRestored) {
  const auto pod = viewOfText({.qos = "LS", .resources = R"({"limits":{"cpu":"4"}})"});
  FakeHost files(CgroupVersion::V2, {});
  const Host host = *Host::detect(files.dirs());
  CpuNormalizationHook hook(host);
  const auto quotaAt = [&](std::string_view annotations) {
    const States states =
        statesOf(fmt::format(R"({{"metadata":{{"annotations":{}}}}})", annotations));
    HookUpdates updates;
    hook.prepare(states, updates);
    hook.wanted(pod, updates);
    return valuesOf(updates.containers);
  };
  EXPECT_THAT(quotaAt(R"({"node.koordinator.sh/cpu-normalization-ratio":"1.6"})"),
              ElementsAre("250000"));
  EXPECT_THAT(quotaAt(R"({"node.koordinator.sh/cpu-normalization-ratio":"??"})"),
              ElementsAre("250000"));  // the last valid ratio stays
  EXPECT_THAT(quotaAt("{}"), ElementsAre("400000"));
}

TEST(HookTables, AQuotaThatAFormerProcessShortenedIsRestored) {
  FakeHost files(CgroupVersion::V2, {});
  const Host host = *Host::detect(files.dirs());
  const auto pod = viewOfText({.qos = "LS", .resources = R"({"limits":{"cpu":"4"}})"});
  files.addPod(KubeQos::Burstable, "u", {});
  const auto quotas = [&](std::string_view found) {
    files.addPod(KubeQos::Burstable, "u", {"containerd://" + pod.containers[0].id});
    files.setCgroupText(CgroupFile::CpuCfsQuota, pod.containers[0].dir, found);
    CpuNormalizationHook hook(host);
    const States states = statesOf(R"({"metadata":{}})");
    HookUpdates updates;
    for (int pass = 0; pass < 2; ++pass) {
      updates.clear();
      hook.prepare(states, updates);
      hook.wanted(pod, updates);
    }
    return valuesOf(updates.containers);
  };
  EXPECT_THAT(quotas("200000 100000"), ElementsAre("400000"));
  EXPECT_THAT(quotas("400000 100000"), IsEmpty());
  EXPECT_THAT(quotas("40000 10000"), IsEmpty());  // kubelet is configured with another period
  EXPECT_THAT(quotas("max 100000"), IsEmpty());
}

TEST(HookTables, AContainerThatCouldNotBeLookedAtIsLookedAtAgain) {
  FakeHost files(CgroupVersion::V2, {});
  const Host host = *Host::detect(files.dirs());
  const auto pod = viewOfText({.qos = "LS", .resources = R"({"limits":{"cpu":"4"}})"});
  PodView unknown = pod;
  unknown.containers[0].dir.clear();  // kubelet has just started
  files.addPod(KubeQos::Burstable, "u", {"containerd://" + pod.containers[0].id});
  files.setCgroupText(CgroupFile::CpuCfsQuota, pod.containers[0].dir, "200000 100000");
  CpuNormalizationHook hook(host);
  const States states = statesOf(R"({"metadata":{}})");
  HookUpdates updates;
  for (const PodView& view : std::vector{unknown, pod}) {
    hook.prepare(states, updates);
    hook.wanted(view, updates);
  }
  EXPECT_THAT(valuesOf(updates.containers), ElementsAre("400000"));
}

TEST(HookTables, AQuotaThatComesAfterTheFirstLookIsRestored) {
  FakeHost files(CgroupVersion::V2, {});
  const Host host = *Host::detect(files.dirs());
  const auto pod = viewOfText({.qos = "LS", .resources = R"({"limits":{"cpu":"4"}})"});
  files.addPod(KubeQos::Burstable, "u", {"containerd://" + pod.containers[0].id});
  CpuNormalizationHook hook(host);
  const States states = statesOf(R"({"metadata":{}})");
  // The runtime writes the quota of a former koordlet process after the check of the new container.
  HookUpdates updates;
  for (const char* found : {"max 100000", "200000 100000"}) {
    files.setCgroupText(CgroupFile::CpuCfsQuota, pod.containers[0].dir, found);
    hook.prepare(states, updates);
    hook.wanted(pod, updates);
  }
  EXPECT_THAT(valuesOf(updates.containers), ElementsAre("400000"));
}

TEST(HookTables, AShortenedQuotaOfThePodAloneIsRestored) {
  FakeHost files(CgroupVersion::V2, {});
  const Host host = *Host::detect(files.dirs());
  const auto pod = viewOfText({.qos = "LS", .resources = R"({"limits":{"cpu":"4"}})"});
  files.addPod(KubeQos::Burstable, "u", {"containerd://" + pod.containers[0].id});
  // The container was restarted while koordlet did not run.
  files.setCgroupText(CgroupFile::CpuCfsQuota, pod.containers[0].dir, "400000 100000");
  files.setCgroupText(CgroupFile::CpuCfsQuota, pod.dir, "200000 100000");
  CpuNormalizationHook hook(host);
  const States states = statesOf(R"({"metadata":{}})");
  HookUpdates updates;
  hook.prepare(states, updates);
  hook.wanted(pod, updates);
  EXPECT_THAT(valuesOf(updates.pods), ElementsAre("400000"));
}

TEST(HookTables, FilesOfContainersThatWereLookedAtAreClosed) {
  FakeHost files(CgroupVersion::V2, {});
  const Host host = *Host::detect(files.dirs());
  const auto pod = viewOfText({.qos = "LS", .resources = R"({"limits":{"cpu":"4"}})"});
  files.addPod(KubeQos::Burstable, "u", {"containerd://" + pod.containers[0].id});
  CpuNormalizationHook hook(host);
  const States states = statesOf(R"({"metadata":{}})");
  HookUpdates updates;
  hook.prepare(states, updates);
  hook.wanted(pod, updates);
  EXPECT_GT(files.tree().openFiles(), 0);
  for (int pass = 0; pass < 2; ++pass) hook.prepare(states, updates);
  EXPECT_EQ(files.tree().openFiles(), 0);
}

TEST(HookTables, QuotasAreOfThePeriodThatTheCgroupHas) {
  FakeHost files(CgroupVersion::V2, {});
  const Host host = *Host::detect(files.dirs());
  const auto pod = viewOfText({.qos = "LS", .resources = R"({"limits":{"cpu":"4"}})"});
  files.addPod(KubeQos::Burstable, "u", {"containerd://" + pod.containers[0].id});
  files.setCgroupText(CgroupFile::CpuCfsQuota, pod.dir, "40000 10000");
  files.setCgroupText(CgroupFile::CpuCfsQuota, pod.containers[0].dir, "40000 10000");
  const States states = statesOf(
      R"({"metadata":{"annotations":{"node.koordinator.sh/cpu-normalization-ratio":"1.6"}}})");
  CpuNormalizationHook hook(host);
  HookUpdates updates;
  hook.prepare(states, updates);
  hook.wanted(pod, updates);
  EXPECT_THAT(valuesOf(updates.pods), ElementsAre("25000"));
  EXPECT_THAT(valuesOf(updates.containers), ElementsAre("25000"));
}

TEST(HookTables, OomScoresAreOfTheContainerOrOfAll) {
  constexpr const char* kAll = "koordinator.sh/oom-score-adj";
  constexpr const char* kEach = "koordinator.sh/oom-score-adj-spec";
  const struct {
    Texts annotations;
    std::optional<int> score;
  } rows[] = {
      {{}, std::nullopt},
      {{{kAll, "500"}}, 500},
      {{{kAll, "-1000"}}, -1000},
      {{{kAll, "1001"}}, std::nullopt},
      {{{kAll, "much"}}, std::nullopt},
      {{{kAll, ""}}, std::nullopt},
      {{{kEach, R"({"a":-5})"}}, -5},
      {{{kEach, R"({"a":-5})"}, {kAll, "500"}}, -5},
      {{{kEach, R"({"b":1})"}}, std::nullopt},
      {{{kEach, R"({"a":2000})"}}, std::nullopt},
      {{{kEach, R"({"a":"x"})"}}, std::nullopt},
      {{{kEach, "{torn"}, {kAll, "7"}}, 7},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(toJson(objectOf(row.annotations)));
    EXPECT_EQ(oomScoreOf(viewOfText({.annotations = row.annotations}), "a"), row.score);
  }
}

TEST(HookTables, AllProcessesOfAContainerHaveItsOomScore) {
  FakeHost files(CgroupVersion::V2, {});
  const auto dir = files.addPod(KubeQos::Burstable, "u", {"containerd://a"});
  files.setCgroupText(CgroupFile::Procs, files.containerDir(dir, "containerd://a"),
                      "11\n0\nnoise\n12\n");
  for (const int pid : {11, 12})
    files.tree().write(fmt::format("proc/{}/oom_score_adj", pid), "0\n");
  const Host host = *Host::detect(files.dirs());
  int told = 0;
  OomScoreHook hook(host, [&](const PodView&, const std::string& container, int score) {
    EXPECT_EQ(container, "a");
    EXPECT_EQ(score, 300);
    ++told;
  });
  HookUpdates updates;
  hook.wanted(viewOfText({.annotations = {{"koordinator.sh/oom-score-adj", "300"}}}), updates);
  EXPECT_EQ(told, 1);
  VirtualLoop loop;
  AuditRing audit;
  ResourceExecutor executor(host, loop, {}, audit);
  for (const auto& update : updates.files)
    EXPECT_EQ(executor.updateFile(update, ResourceExecutor::Caching::No).value(),
              UpdateOutcome::Written);
  EXPECT_EQ(files.tree().read("proc/11/oom_score_adj"), "300");
  EXPECT_EQ(files.tree().read("proc/12/oom_score_adj"), "300");
  EXPECT_EQ(updates.files.size(), 2U);
}

TEST(HookTables, TerwayIsToldOfClassesAndPodsInBytes) {
  FakeHost files(CgroupVersion::V1, {});
  const Host host = *Host::detect(files.dirs());
  VirtualLoop loop;
  AuditRing audit;
  ResourceExecutor executor(host, loop, {}, audit);
  States states = statesOf("{}", R"({"policies":{"netQOSPolicy":"terway-qos"},
      "lsClass":{"networkQOS":{"enable":true,"egressRequest":30,"egressLimit":"8G"}},
      "beClass":{"networkQOS":{"enable":true,"egressLimit":"2G","ingressLimit":10}}})");
  EffectiveSlo slo = *states.slo();
  slo.system.totalNetworkBandwidth = *Quantity::parse("10G");
  states.setSlo(slo);
  const struct {
    PodText pod;
    int prio;
    std::int64_t egress;
  } rows[] = {
      {{.qos = "SYSTEM"}, 0, 0},
      {{.qos = "LSE"}, 1, 0},
      {{.qos = "LS", .annotations = {{"koordinator.sh/networkQOS", R"({"egressLimit":"80M"})"}}},
       1,
       10'000'000},
      {{.qos = "LS", .annotations = {{"koordinator.sh/networkQOS", R"({"EgressLimit":"80M"})"}}},
       1,
       10'000'000},
      {{.qos = "LS", .annotations = {{"koordinator.sh/networkQOS", R"({"egressLimit":50})"}}},
       1,
       625'000'000},
      {{.qos = "BE", .annotations = {{"koordinator.sh/networkQOS", "torn"}}}, 2, 0},
      {{.kubeQos = "Guaranteed"}, 1, 0},
      {{.kubeQos = "BestEffort"}, 2, 0},
  };
  const std::string dir = files.tree().path("terway/qos");
  TerwayQosHook hook(dir, executor);
  HookUpdates updates;
  for (const auto& row : rows) {
    states.setPods({viewOfText(row.pod)});
    hook.prepare(states, updates);
    const auto pods = parseJson(files.tree().read("terway/qos/pod.json"));
    ASSERT_TRUE(pods);
    SCOPED_TRACE(toJson(*pods));
    EXPECT_EQ(at(*pods, "u", "prio")->to_number<int>(), row.prio);
    EXPECT_EQ(at(*pods, "u", "qosConfig", "egressBandwidth")->to_number<std::int64_t>(),
              row.egress);
  }
  const std::string text = files.tree().read("terway/qos/global_bps_config");
  for (const auto* line : {"hw_tx_bps_max 1250000000", "offline_l1_tx_bps_min 375000000",
                           "offline_l1_tx_bps_max 1000000000", "offline_l2_tx_bps_max 250000000",
                           "offline_l2_rx_bps_max 125000000"})
    EXPECT_THAT(text, HasSubstr(line));
  slo.qos.policies->netQOSPolicy = "tc";
  states.setSlo(slo);
  hook.prepare(states, updates);
  EXPECT_FALSE(std::filesystem::exists(dir + "/pod.json"));
}

TEST(HookTables, TerwaysFilesThatWereMadeAnewSayWhatIsWanted) {
  FakeHost files(CgroupVersion::V1, {});
  const Host host = *Host::detect(files.dirs());
  VirtualLoop loop;
  AuditRing audit;
  ResourceExecutor executor(host, loop, {}, audit);
  TerwayQosHook hook(files.tree().path("terway"), executor);
  const auto warningFor = [&](std::string_view policy, const PodText& pod) {
    States states =
        statesOf("{}", fmt::format(R"({{"policies":{{"netQOSPolicy":"{}"}}}})", policy));
    states.setPods({viewOfText(pod)});
    HookUpdates updates;
    hook.prepare(states, updates);
    return files.tree().read("terway/pod.json");
  };
  (void)warningFor("terway-qos", {.qos = "LS"});
  const std::string ls = warningFor("terway-qos", {.qos = "LS"});
  EXPECT_EQ(warningFor("tc", {.qos = "LS"}), "");
  EXPECT_NE(warningFor("terway-qos", {.qos = "BE"}), ls);
  EXPECT_EQ(warningFor("terway-qos", {.qos = "LS"}), ls);
}

TEST(HookTables, GpusAreNamedAndSharedOnesLimited) {
  const TempTree tree;
  const std::string library = tree.path("vgpu/libvgpu.so");
  constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";
  const std::string half =
      R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"50",
         "koordinator.sh/gpu-memory":"8Gi","koordinator.sh/gpu-memory-ratio":"50"}}]})";
  const Texts hami{{"koordinator.sh/gpu-isolation-provider", "HAMi-core"}};
  const Texts manuals{{"koordinator.sh/gpu-isolation-provider", "hami-core"}};
  using Env = std::vector<std::pair<std::string, std::string>>;
  const struct {
    const char* name;
    PodText pod;
    Env env;
    std::size_t mounts;
  } rows[] = {
      {"none", {}, {}, 0},
      {"two",
       {.annotations = {{kAllocated, R"({"gpu":[{"minor":2},{"minor":3}]})"}}},
       {{"NVIDIA_VISIBLE_DEVICES", "2,3"}},
       0},
      {"other devices", {.annotations = {{kAllocated, R"({"rdma":[{"minor":0}]})"}}}, {}, 0},
      {"shared, nobody limits",
       {.annotations = {{kAllocated, half}}},
       {{"NVIDIA_VISIBLE_DEVICES", "1"}},
       0},
      {"shared",
       {.annotations = {{kAllocated, half}}, .labels = hami},
       {{"NVIDIA_VISIBLE_DEVICES", "1"},
        {"CUDA_DEVICE_MEMORY_LIMIT", "8589934592"},
        {"CUDA_DEVICE_SM_LIMIT", "50"},
        {"LD_PRELOAD", library}},
       2},
      {"shared, as upstream's manuals write it",
       {.annotations = {{kAllocated, half}}, .labels = manuals},
       {{"NVIDIA_VISIBLE_DEVICES", "1"},
        {"CUDA_DEVICE_MEMORY_LIMIT", "8589934592"},
        {"CUDA_DEVICE_SM_LIMIT", "50"},
        {"LD_PRELOAD", library}},
       2},
      {"whole",
       {.annotations =
            {{kAllocated,
              R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-memory-ratio":"100"}}]})"}},
        .labels = hami},
       {{"NVIDIA_VISIBLE_DEVICES", "0"}},
       0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto pod = viewOfText(row.pod);
    ContainerStart start;
    GpuEnvHook hook({library, false});
    ASSERT_TRUE(hook.starting(pod, pod.containers.front(), start));
    EXPECT_EQ(start.env, row.env);
    EXPECT_EQ(start.mounts.size(), row.mounts);
  }
  const auto torn = viewOfText({.annotations = {{kAllocated, "{torn"}}});
  ContainerStart start;
  const auto refused = GpuEnvHook({library, false}).starting(torn, torn.containers.front(), start);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(kAllocated));
}

TEST(HookTables, TheMonitorsFolderIsTheContainersOwn) {
  const TempTree tree;
  const auto pod = viewOfText(
      {.annotations =
           {{"scheduling.koordinator.sh/device-allocated",
             R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-memory-ratio":"50"}}]})"}},
       .labels = {{"koordinator.sh/gpu-isolation-provider", "HAMi-core"}}});
  ContainerStart start;
  ASSERT_TRUE(GpuEnvHook({tree.path("vgpu/libvgpu.so"), true})
                  .starting(pod, pod.containers.front(), start));
  EXPECT_THAT(start.env, testing::Contains(
                             Pair("CUDA_DEVICE_MEMORY_SHARED_CACHE", tree.path("vgpu/u_a.cache"))));
  struct stat info{};
  ASSERT_EQ(::stat(tree.path("vgpu/containers/u_a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0777U);
  EXPECT_EQ(start.mounts.back().source, tree.path("vgpu/containers/u_a"));
  EXPECT_EQ(start.mounts.back().target, tree.path("vgpu"));
}

TEST(HookTables, ROOT_RdmaCardsAreTheirDeviceFiles) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make device files";
  FakeHost files(CgroupVersion::V2, {});
  files.tree().makeDir("dev/infiniband");
  for (const auto& [name, minor] : {std::pair("rdma_cm", 58), {"uverbs0", 192}, {"uverbs3", 195}})
    if (::mknod(files.tree().path(std::string("dev/infiniband/") + name).c_str(), S_IFCHR | 0600,
                makedev(231, static_cast<unsigned>(minor))) != 0)
      GTEST_SKIP() << "device files cannot be made here";
  const auto verbs = [&](const std::string& bus, const std::string& name) {
    files.tree().makeDir(fmt::format("sys/bus/pci/devices/{}/infiniband_verbs/{}", bus, name));
  };
  verbs("0000:01:00.0", "uverbs0");
  verbs("0000:01:00.5", "uverbs3");
  const Host host = *Host::detect(files.dirs());
  RdmaDeviceHook hook(host, files.tree().path("dev/"));
  const struct {
    const char* allocated;
    std::vector<std::int64_t> minors;
    const char* problem;
  } rows[] = {
      {R"({"gpu":[{"minor":0}]})", {}, ""},
      {R"({"rdma":[{"minor":0,"id":"0000:01:00.0"}]})", {58, 192}, ""},
      {R"({"rdma":[{"id":"0000:01:00.0","extension":{"vfs":[{"busID":"0000:01:00.5"}]}}]})",
       {58, 195},
       ""},
      {R"({"rdma":[{"id":"../../etc"}]})", {}, "is not a PCI address"},
      {R"({"rdma":[{"id":"0000:02:00.0"}]})", {}, "no RDMA device"},
      {"[]", {}, "not a JSON object"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.allocated);
    const auto pod = viewOfText(
        {.annotations = {{"scheduling.koordinator.sh/device-allocated", row.allocated}}});
    ContainerStart start;
    const auto done = hook.starting(pod, pod.containers.front(), start);
    EXPECT_EQ(done.has_value(), row.problem[0] == '\0');
    if (!done) {
      EXPECT_THAT(done.error().message, HasSubstr(row.problem));
      continue;
    }
    std::vector<std::int64_t> minors;
    for (const auto& device : start.devices) {
      minors.push_back(device.minor);
      EXPECT_TRUE(device.path.starts_with("/dev/infiniband/")) << device.path;
      EXPECT_EQ(device.mode, 0666U);
    }
    EXPECT_EQ(minors, row.minors);
  }
}

TEST(HookTables, GroupsOfCoreSchedulingFollowLabelsAndClass) {
  const auto rule = coreSchedRule(*api::decodeText<api::ResourceQOSStrategy>(
      R"({"policies":{"cpuPolicy":"coreSched"},
          "lsClass":{"cpuQOS":{"enable":true,"coreExpeller":true}},
          "beClass":{"cpuQOS":{"enable":true}}})"));
  constexpr const char* kId = "koordinator.sh/core-sched-group-id";
  constexpr const char* kPolicy = "koordinator.sh/core-sched-policy";
  const struct {
    PodText pod;
    std::optional<std::string> group;
  } rows[] = {
      {{.qos = "LS", .labels = {{kId, "team"}}}, "team-expeller"},
      {{.qos = "LS"}, "-expeller"},
      {{.qos = "BE", .labels = {{kId, "team"}}}, "team"},
      {{.qos = "LS", .labels = {{kPolicy, "exclusive"}, {kId, "team"}}}, "u-expeller"},
      {{.qos = "LS", .labels = {{kPolicy, "none"}}}, std::nullopt},
      {{.qos = "SYSTEM"}, std::nullopt},
      {{.qos = "LSR"}, std::nullopt},  // its class is off
      {{.kubeQos = "BestEffort"}, ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.pod.qos + toJson(objectOf(row.pod.labels)));
    EXPECT_EQ(coreSchedGroup(viewOfText(row.pod), rule), row.group);
  }
}

}  // namespace
}  // namespace koord::koordlet
