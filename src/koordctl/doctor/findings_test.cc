// Findings of preflight and doctor; healthy clusters have none.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/file.h"
#include "base/yaml.h"
#include "cluster/up/slo_config.h"
#include "koordctl/doctor/findings.h"

namespace koord::koordctl {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr WallTime kToday = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};

template <class T>
T made(std::string_view text) {
  return api::decodeText<T>(text).value();
}

// A healthy cluster.
ClusterState healthy() {
  ClusterState state;
  state.now = kToday;
  state.version = "v1.30.2";
  state.nodes.push_back(made<api::Node>(R"({"metadata":{"name":"n1"},"status":{
      "allocatable":{"kubernetes.io/batch-cpu":"1000"},
      "nodeInfo":{"operatingSystem":"linux","architecture":"amd64","containerRuntimeVersion":"containerd://1.7"}}})"));
  state.nodeMetrics.push_back(made<api::NodeMetric>(
      R"({"metadata":{"name":"n1"},"status":{"updateTime":"2025-12-31T23:59:30Z"}})"));
  for (const char* name : {"koordinator-manager", "koord-scheduler"})
    state.leases.push_back(made<api::Lease>(
        R"({"metadata":{"name":")" + std::string(name) +
        R"("},"spec":{"holderIdentity":"pod-1","leaseDurationSeconds":15,"renewTime":"2025-12-31T23:59:58.000000Z"}})"));
  for (const char* name :
       {"nodemetrics.slo.koordinator.sh", "nodeslos.slo.koordinator.sh",
        "clustercolocationprofiles.config.koordinator.sh", "devices.scheduling.koordinator.sh",
        "reservations.scheduling.koordinator.sh", "elasticquotas.scheduling.sigs.k8s.io",
        "podgroups.scheduling.sigs.k8s.io", "elasticquotaprofiles.quota.koordinator.sh",
        "noderesourcetopologies.topology.node.k8s.io"})
    state.crds.push_back(json::object{{"metadata", json::object{{"name", name}}}});
  state.mutating.push_back(made<api::MutatingWebhookConfiguration>(
      R"({"metadata":{"name":"koordinator-mutating-webhook-configuration"},"webhooks":[
          {"name":"mpod-create.koordinator.sh","clientConfig":{"caBundle":"YQ=="}}]})"));
  state.validating.push_back(made<api::ValidatingWebhookConfiguration>(
      R"({"metadata":{"name":"koordinator-validating-webhook-configuration"},"webhooks":[
          {"name":"vpod.koordinator.sh","clientConfig":{"caBundle":"YQ=="}}]})"));
  state.sloConfig = made<api::ConfigMap>(
      R"({"metadata":{"name":"c"},"data":{"colocation-config":"{\"enable\":true}"}})");
  return state;
}

TEST(Doctor, FindsNothingInAClusterThatIsWell) {
  EXPECT_FALSE(hasProblem(diagnose(healthy()))) << findingsText(diagnose(healthy()));
  EXPECT_THAT(findingsText(diagnose(healthy())), Not(HasSubstr("warning")));
  EXPECT_FALSE(hasProblem(preflight(healthy())));
}

TEST(Doctor, AnEmptyClusterIsAllProblems) {
  const auto text = findingsText(diagnose({}));
  EXPECT_THAT(text, HasSubstr("custom resource definitions are missing"));
  EXPECT_THAT(text, HasSubstr("koord-manager has never led"));
  EXPECT_THAT(text, HasSubstr("does not exist"));
}

TEST(Doctor, NamesWhatStoppedWorking) {
  auto state = healthy();
  state.now += std::chrono::minutes(10);
  auto text = findingsText(diagnose(state));
  EXPECT_THAT(text, HasSubstr("koord-manager has no leader"));
  EXPECT_THAT(text, HasSubstr("older than 5 minutes: n1"));
  state = healthy();
  state.mutating[0].webhooks[0].clientConfig.caBundle.clear();
  EXPECT_THAT(findingsText(diagnose(state)), HasSubstr("koord-manager has not set"));
  state = healthy();
  state.nodes[0].status.allocatable.clear();
  EXPECT_THAT(findingsText(diagnose(state)), HasSubstr("koordctl explain node n1"));
}

TEST(Doctor, NamesTheFieldOfABrokenConfiguration) {
  auto state = healthy();
  state.sloConfig->data["colocation-config"] = R"({"enable":1})";
  EXPECT_THAT(findingsText(diagnose(state)),
              HasSubstr("PROBLEM  slo-controller-config: colocation-config"));
}

TEST(Doctor, FindsPodsThatWereAdmittedWithoutTheirProfile) {
  auto state = healthy();
  state.profiles.push_back(made<api::ClusterColocationProfile>(
      R"({"metadata":{"name":"batch"},"spec":{"selector":{"matchLabels":{"tier":"batch"}},"qosClass":"BE"}})"));
  state.namespaces.push_back(made<api::Namespace>(R"({"metadata":{"name":"shop"}})"));
  state.pods.push_back(made<api::Pod>(
      R"({"metadata":{"namespace":"shop","name":"seen","labels":{"tier":"batch","koordinator.sh/qosClass":"BE"}}})"));
  EXPECT_THAT(findingsText(diagnose(state)), Not(HasSubstr("without the profile")));
  state.pods.push_back(made<api::Pod>(
      R"({"metadata":{"namespace":"shop","name":"missed","labels":{"tier":"batch"}}})"));
  state.pods.push_back(made<api::Pod>(R"({"metadata":{"namespace":"shop","name":"other"}})"));
  EXPECT_THAT(findingsText(diagnose(state)),
              HasSubstr("1 pods were admitted without the profile batch: shop/missed"));
}

// A ConfigMap of deploy/.
api::ConfigMap shippedConfig(const std::string& file) {
  const auto text = readFile(std::string(KOORD_CRDS) + "/../" + file);
  return api::decode<api::ConfigMap>(parseYaml(text.value()).value()).value();
}

// A workload of deploy/ with a patch of deploy/recommended, whose gates come last.
json::value shippedWorkload(const std::string& file, const std::string& patch) {
  const std::string deploy = std::string(KOORD_CRDS) + "/../";
  json::value object = parseYamlDocuments(readFile(deploy + file).value()).value().front();
  if (patch.empty()) return object;
  json::value& spec = *find(*find(*find(object, "spec"), "template"), "spec");
  json::value& args = *find(find(spec, "containers")->get_array().front(), "args");
  const json::value operations = parseYaml(readFile(deploy + patch).value()).value();
  for (const auto& operation : operations.get_array())
    args.get_array().push_back(*find(operation, "value"));
  return object;
}

std::vector<std::string> offIn(const ClusterState& state) {
  std::vector<std::string> off;
  for (const auto& finding : featuresOff(state)) {
    EXPECT_EQ(finding.level, Finding::Level::Off);
    EXPECT_NE(finding.advice, "");
    off.push_back(finding.what);
  }
  return off;
}

TEST(Doctor, NamesTheFeaturesThatAreOffAsUpstreamShipsThem) {
  ClusterState state;
  EXPECT_TRUE(offIn(state).empty()) << "nothing is said of what was not read";
  state.sloConfig = shippedConfig("manifests/slo-controller-config.yaml");
  state.schedulerConfig = shippedConfig("manifests/scheduler-config.yaml");
  state.deschedulerConfig = shippedConfig("manifests/descheduler-config.yaml");
  state.manager = shippedWorkload("manifests/manager-deployment.yaml", "");
  state.scheduler = shippedWorkload("manifests/scheduler-deployment.yaml", "");
  state.koordlet = shippedWorkload("manifests/koordlet-daemonset.yaml", "");
  EXPECT_THAT(offIn(state),
              testing::ElementsAre(
                  "CPU burst", "memory QoS", "filter for overloaded nodes: all thresholds are 0",
                  "preemption for whole gangs", "placement of gangs by network topology",
                  "CPU quotas scaled by the node's CPU model (gate CPUNormalization of koordlet)",
                  "restriction of containers to their GPUs (gate GPUEnvInject of koordlet)",
                  "joint allocation of network cards and GPUs (gate RDMADevices of koordlet)",
                  "restriction of containers to their network cards (gate RDMADeviceInject of "
                  "koordlet)",
                  "recommendations (gate Recommender of koord-manager)",
                  "pods that share a GPU (gate EnableSyncGPUSharedResource of koord-manager)",
                  "amplified resources of nodes (gate NodeMutatingWebhook of koord-manager)",
                  "multiple quota trees (gate MultiQuotaTree of koord-manager)",
                  "multiple quota trees (gate MultiQuotaTree of koord-scheduler)",
                  "eviction of pods from hot nodes", "the recommended profile"));
  EXPECT_FALSE(hasProblem(featuresOff(state))) << "it may be meant";
  const std::string text = findingsText(featuresOff(state));
  EXPECT_THAT(text, HasSubstr("off      memory QoS"));
  EXPECT_THAT(text, HasSubstr("docs/features/memory-qos.md"));
  EXPECT_THAT(text, HasSubstr("--set profile=recommended"));
}

TEST(Doctor, OfTheRecommendedProfileOnlyWhatSomebodyHasToDecideIsOff) {
  ClusterState state;
  state.sloConfig = shippedConfig("recommended/slo-controller-config.yaml");
  state.schedulerConfig = shippedConfig("recommended/scheduler-config.yaml");
  state.deschedulerConfig = shippedConfig("manifests/descheduler-config.yaml");
  state.manager =
      shippedWorkload("manifests/manager-deployment.yaml", "recommended/manager-gates.yaml");
  state.scheduler = shippedWorkload("manifests/scheduler-deployment.yaml", "");
  state.koordlet =
      shippedWorkload("manifests/koordlet-daemonset.yaml", "recommended/koordlet-gates.yaml");
  EXPECT_THAT(offIn(state),
              testing::ElementsAre(
                  "amplified resources of nodes (gate NodeMutatingWebhook of koord-manager)",
                  "multiple quota trees (gate MultiQuotaTree of koord-manager)",
                  "multiple quota trees (gate MultiQuotaTree of koord-scheduler)",
                  "eviction of pods from hot nodes"));
}

TEST(Doctor, OfAOneMachineClusterNothingIsOff) {
  for (const int cpus : {2, 4, 64}) {
    ClusterState state;
    state.sloConfig = api::decode<api::ConfigMap>(cluster::defaultSloConfig(cpus)).value();
    EXPECT_THAT(offIn(state), testing::IsEmpty()) << cpus;
  }
}

TEST(Doctor, AGateWithoutItsSectionIsToldOf) {
  ClusterState state;
  state.sloConfig = shippedConfig("recommended/slo-controller-config.yaml");
  state.koordlet =
      shippedWorkload("manifests/koordlet-daemonset.yaml", "recommended/koordlet-gates.yaml");
  EXPECT_THAT(offIn(state), testing::IsEmpty());
  state.sloConfig->data["cpu-normalization-config"] = R"({"defaultRatio": 1.0})";
  EXPECT_THAT(offIn(state), testing::ElementsAre("CPU quotas scaled by the node's CPU model",
                                                 "the recommended profile"));
}

TEST(Doctor, OddConfigurationsAreNoReasonToFail) {
  for (const char* text :
       {"", "7", "[]", "profiles: 7", "profiles: [7, {pluginConfig: [7]}]",
        "profiles: [{plugins: {balance: {enabled: 7}}}]",
        "profiles: [{pluginConfig: [{name: LoadAwareScheduling, args: {usageThresholds: 7}}]}]"}) {
    ClusterState state;
    state.schedulerConfig.emplace().data["f"] = text;
    state.deschedulerConfig.emplace().data["f"] = text;
    state.koordlet =
        parseJson(R"({"spec":{"template":{"spec":{"containers":[7,{"args":[7,"---"]}]}}}})")
            .value();
    state.manager = json::value(7);
    EXPECT_FALSE(hasProblem(featuresOff(state))) << text;
  }
}

TEST(Preflight, RefusesOldServersAndTakenNames) {
  auto state = healthy();
  state.version = "v1.20.9";
  state.priorityClasses.push_back(
      made<api::PriorityClass>(R"({"metadata":{"name":"koord-batch"},"value":7})"));
  const auto findings = preflight(state);
  EXPECT_TRUE(hasProblem(findings));
  EXPECT_THAT(findingsText(findings), HasSubstr("Kubernetes v1.20.9 is too old"));
  EXPECT_THAT(findingsText(findings), HasSubstr("PriorityClass koord-batch exists with value 7"));
}

TEST(Preflight, WarnsOfWebhooksThatPodsWaitFor) {
  auto state = healthy();
  state.validating.push_back(made<api::ValidatingWebhookConfiguration>(
      R"({"metadata":{"name":"policy"},"webhooks":[{"name":"all.policy.example","failurePolicy":"Fail",
          "rules":[{"resources":["pods"]}]}]})"));
  EXPECT_THAT(findingsText(preflight(state)),
              HasSubstr("the webhook all.policy.example of policy"));
  state.validating.back().webhooks[0].failurePolicy = "Ignore";
  EXPECT_THAT(findingsText(preflight(state)), Not(HasSubstr("policy.example")));
}

TEST(Preflight, TellsOfNodesThatKoordletIsNotMadeFor) {
  auto state = healthy();
  state.nodes.push_back(made<api::Node>(
      R"({"metadata":{"name":"win"},"status":{"nodeInfo":{"operatingSystem":"windows","architecture":"amd64"}}})"));
  EXPECT_THAT(findingsText(preflight(state)), HasSubstr("1 nodes run windows, for example win"));
}

TEST(Preflight, TellsWhatKubeletsSayOfCgroups) {
  ClusterState state = healthy();
  state.cgroups = {{"n1", 2, "systemd", ""}, {"n2", std::nullopt, "systemd", ""}};
  EXPECT_THAT(findingsText(preflight(state)), HasSubstr("2 nodes with cgroup driver systemd"));
  EXPECT_THAT(findingsText(preflight(state)), Not(HasSubstr("warning")));
  state.cgroups.push_back({"n3", 1, "cgroupfs", ""});
  state.cgroups.push_back({"n4", std::nullopt, "", "Forbidden"});
  const std::string text = findingsText(preflight(state));
  EXPECT_THAT(text,
              HasSubstr("1 of 4 nodes that were checked have cgroups of version 1, for example\n"));
  EXPECT_THAT(text,
              HasSubstr("1 of 4 kubelets do not report their cgroups, for example n4: Forbidden"));
  EXPECT_THAT(text, HasSubstr("1 nodes with cgroup driver cgroupfs"));
  EXPECT_FALSE(hasProblem(preflight(state)));
}

TEST(Preflight, KnowsTheDefinitionsOfSchedulerPluginsByTheirStatus) {
  const auto crd = [](const char* subresources) {
    return parseJson(fmt::format(R"({{"metadata":{{"name":"elasticquotas.scheduling.sigs.k8s.io"}},
        "spec":{{"group":"scheduling.sigs.k8s.io","versions":[{{"name":"v1alpha1"{}}}]}}}})",
                                 subresources))
        .value();
  };
  ClusterState state = healthy();
  state.crds = {crd("")};
  EXPECT_THAT(findingsText(preflight(state)), Not(HasSubstr("scheduler-plugins")));
  state.crds = {crd(R"(,"subresources":{"status":{}})")};
  EXPECT_THAT(findingsText(preflight(state)), HasSubstr("is installed by scheduler-plugins"));
}

}  // namespace
}  // namespace koord::koordctl
