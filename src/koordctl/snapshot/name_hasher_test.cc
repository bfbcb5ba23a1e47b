#include "koordctl/snapshot/name_hasher.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"
#include "base/testing/test_folder.h"
#include "base/yaml.h"
#include "cluster/snapshot/snapshot_writer.h"
#include "koordctl/simulate/snapshot_simulation.h"

namespace koord::koordctl {
namespace {

using Objects = std::vector<std::pair<std::string, json::object>>;  // by resource

json::object objectOf(const std::string& yaml) {
  return parseYaml(yaml)->get_object();
}

NameHasher hasherOf(const Objects& objects) {
  NameHasher hasher;
  for (const auto& [resource, object] : objects) hasher.collect(resource, object);
  hasher.finish();
  return hasher;
}

TEST(NameHasher, a_name_is_the_same_in_all_fields_and_order_is_kept) {
  const Objects objects{
      {"nodes", objectOf("{metadata: {name: rack-b.example.com, labels: {kubernetes.io/hostname: "
                         "rack-b}}, status: {addresses: [{address: rack-b}]}}")},
      {"nodes", objectOf("{metadata: {name: rack-a}}")},
      {"pods",
       objectOf("{metadata: {name: web-0, namespace: shop, generateName: web-, labels: {app: web, "
                "tier: front}, annotations: {where: '{\"node\":\"rack-a\",\"pods\":"
                "[\"shop/web-0\"]}'}, ownerReferences: [{kind: StatefulSet, name: web}]}, spec: "
                "{nodeName: rack-a, schedulerName: web, containers: [{name: main, image: web}]}, "
                "status: {message: 'pod shop/web-0 fits rack-b.example.com.'}}")},
      {"statefulsets.apps", objectOf("{metadata: {name: web, namespace: shop}}")}};
  const NameHasher hasher = hasherOf(objects);
  const auto name = [&](const char* old) { return std::string(hasher.renamed(old)); };
  EXPECT_LT(name("rack-a"), name("rack-b"));
  EXPECT_LT(name("rack-b"), name("rack-b.example.com"));
  EXPECT_LT(name("shop"), name("web"));
  json::object pod = objects[2].second;
  hasher.apply("pods", pod);
  const json::value& meta = memberOf(pod, "metadata");
  EXPECT_EQ(textAt(meta, "name"), name("web-0"));
  EXPECT_EQ(textAt(meta, "namespace"), name("shop"));
  EXPECT_EQ(find(meta, "generateName"), nullptr);
  EXPECT_EQ(textAt(meta, "labels", "app"), name("web"));
  EXPECT_EQ(textAt(meta, "labels", "tier"), "front");
  EXPECT_EQ(textAt(meta, "annotations", "where"),
            fmt::format(R"({{"node":"{}","pods":["{}/{}"]}})", name("rack-a"), name("shop"),
                        name("web-0")));
  EXPECT_EQ(textAt(memberOf(pod, "spec"), "nodeName"), name("rack-a"));
  EXPECT_EQ(textAt(memberOf(pod, "spec"), "schedulerName"), "web");
  EXPECT_EQ(
      textAt(memberOf(pod, "status"), "message"),
      fmt::format("pod {}/{} fits {}.", name("shop"), name("web-0"), name("rack-b.example.com")));
  json::object node = objects[0].second;
  hasher.apply("nodes", node);
  EXPECT_EQ(textAt(memberOf(node, "metadata"), "labels", "kubernetes.io/hostname"), name("rack-b"));
  EXPECT_EQ(find(memberOf(node, "status"), "addresses"), nullptr);
}

TEST(NameHasher, names_stay_that_could_be_something_else) {
  const NameHasher hasher =
      hasherOf({{"pods", objectOf("{metadata: {name: '42', namespace: default}}")},
                {"pods", objectOf("{metadata: {name: cpu, namespace: shop, annotations: {a: "
                                  "'{\"minor\": 1}'}}, spec: {requests: {cpu: 1}}}")},
                {"pods", objectOf("{metadata: {name: minor, namespace: shop}}")},
                {"pods", objectOf("{metadata: {name: dns, namespace: kube-system}}")},
                {"elasticquotas.scheduling.sigs.k8s.io",
                 objectOf("{metadata: {name: koordinator-root-quota, namespace: kube-system}}")},
                {"elasticquotas.scheduling.sigs.k8s.io",
                 objectOf("{metadata: {name: payments, namespace: kube-system}}")},
                {"priorityclasses.scheduling.k8s.io", objectOf("{metadata: {name: urgent}}")}});
  for (const char* name :
       {"42", "cpu", "minor", "dns", "koordinator-root-quota", "urgent", "default", "kube-system"})
    EXPECT_EQ(hasher.renamed(name), name);
  EXPECT_NE(hasher.renamed("payments"), "payments");
  EXPECT_NE(hasher.renamed("shop"), "shop");
}

TEST(NameHasher, amounts_classes_and_values_of_settings_stay) {
  const NameHasher hasher =
      hasherOf({{"pods", objectOf("{metadata: {name: 100m, namespace: 1k}}")},
                {"namespaces", objectOf("{metadata: {name: 5e3}}")},
                {"namespaces", objectOf("{metadata: {name: 'true'}}")},
                {"namespaces", objectOf("{metadata: {name: only-waiting}}")},
                {"namespaces", objectOf("{metadata: {name: fast}}")},
                {"namespaces", objectOf("{metadata: {name: urgent}}")},
                {"storageclasses.storage.k8s.io", objectOf("{metadata: {name: fast}}")},
                {"priorityclasses.scheduling.k8s.io", objectOf("{metadata: {name: urgent}}")}});
  for (const char* name : {"100m", "1k", "5e3", "true", "only-waiting", "fast", "urgent"})
    EXPECT_EQ(hasher.renamed(name), name);
}

TEST(NameHasher, images_stay_in_pods_and_on_nodes) {
  const NameHasher hasher =
      hasherOf({{"deployments.apps", objectOf("{metadata: {name: nginx, namespace: shop}}")}});
  ASSERT_NE(hasher.renamed("nginx"), "nginx");
  json::object node = objectOf("{status: {images: [{names: ['docker.io/nginx:1']}]}}");
  const json::object before = node;
  hasher.apply("nodes", node);
  EXPECT_EQ(node, before);
}

TEST(NameHasher, names_of_users_in_system_namespaces_are_replaced) {
  const NameHasher hasher = hasherOf(
      {{"services", objectOf("{metadata: {name: kubernetes, namespace: default}}")},
       {"pods", objectOf("{metadata: {name: kube-finance, namespace: default}}")},
       {"pods", objectOf("{metadata: {name: etcd-rack-a, namespace: kube-system}, spec: "
                         "{nodeName: rack-a}}")},
       {"pods", objectOf("{metadata: {name: dns-1, namespace: kube-system}, spec: {nodeName: "
                         "rack-a}}")}});
  EXPECT_EQ(hasher.renamed("kubernetes"), "kubernetes");
  EXPECT_EQ(hasher.renamed("dns-1"), "dns-1");
  EXPECT_NE(hasher.renamed("kube-finance"), "kube-finance");
  EXPECT_NE(hasher.renamed("etcd-rack-a"), "etcd-rack-a") << "it has the name of a node";
}

// A cluster with all that names decide: affinity to nodes and pods, spreading, gangs, quotas, and
// pods of several namespaces that arrive at the same time. Waiting pods compete for little.
class Decisions : public ::testing::Test {
 protected:
  Decisions() { EXPECT_TRUE(::mkdtemp(folder_.data())); }
  ~Decisions() override { std::filesystem::remove_all(folder_); }

  static Objects cluster(Random& random) {
    Objects objects;
    for (int n = 0; n < 12; ++n)
      objects.emplace_back(
          "nodes",
          objectOf(fmt::format("{{apiVersion: v1, kind: Node, metadata: {{name: host-{0}, uid: "
                               "node-{0}, labels: {{kubernetes.io/hostname: host-{0}, zone: "
                               "host-{1}}}}}, status: {{allocatable: {{cpu: '8', memory: 64Gi, "
                               "pods: '20'}}}}}}",
                               n, n % 3)));
    objects.emplace_back(
        "elasticquotas.scheduling.sigs.k8s.io",
        objectOf("{apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: ElasticQuota, metadata: "
                 "{name: blue, namespace: zoo, uid: q}, spec: {min: {cpu: 4}, max: {cpu: 9}}}"));
    for (int g = 0; g < 4; ++g)
      objects.emplace_back(
          "podgroups.scheduling.sigs.k8s.io",
          objectOf(fmt::format("{{apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: PodGroup, "
                               "metadata: {{name: gang-{0}, namespace: alpha, uid: gang-{0}}}, "
                               "spec: {{minMember: 3}}}}",
                               g)));
    for (int a = 0; a < 4; ++a)
      objects.emplace_back(
          "deployments.apps",
          objectOf(fmt::format("{{metadata: {{name: app-{}, namespace: zoo}}}}", a)));
    for (int p = 0; p < 40; ++p) objects.emplace_back("pods", pod(p, random));
    return objects;
  }

  static json::object pod(int number, Random& random) {
    static constexpr const char* kSpaces[] = {"alpha", "default", "zoo"};
    static constexpr const char* kWishes[] = {
        "",
        "affinity: {{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: "
        "50, preference: {{matchExpressions: [{{key: kubernetes.io/hostname, operator: In, values: "
        "[host-{}]}}]}}}}]}}}}, ",
        "affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: "
        "[{{namespaces: [alpha, zoo], labelSelector: {{matchLabels: {{app: app-{}}}}}, "
        "topologyKey: zone}}]}}}}, ",
        "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
        "DoNotSchedule, labelSelector: {{matchLabels: {{app: app-{}}}}}}}], ",
        ""};
    const int kind = number % 5;
    const char* const space = kind == 0 ? "alpha" : kSpaces[random.below(3)];
    std::string labels = fmt::format("app: app-{}", random.below(4)), spec;
    if (kind == 0)
      labels += fmt::format(", pod-group.scheduling.sigs.k8s.io: gang-{}", number / 15);
    if (kWishes[kind][0] != 0)
      spec = fmt::format(fmt::runtime(kWishes[kind]), random.below(kind == 1 ? 12 : 4));
    if (kind == 4) labels += ", quota.scheduling.koordinator.sh/name: blue";
    if (number < 12) spec += fmt::format("nodeName: host-{}, ", random.below(12));
    return objectOf(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: pod-{0}, namespace: {1}, uid: pod-{0}, "
        "creationTimestamp: '2026-11-27T11:00:00Z', labels: {{{2}}}}}, spec: {{{3}schedulerName: "
        "koord-scheduler, priority: {4}, containers: [{{name: main, image: i, resources: "
        "{{requests: {{cpu: '{5}', memory: 1Gi}}}}}}]}}, status: {{phase: {6}}}}}",
        number, space, labels, spec, 10 * random.below(2), 1 + random.below(4),
        number < 12 ? "Running" : "Pending"));
  }

  // Where pods go, "name node message", sorted.
  std::vector<std::string> decide(const Objects& objects, const NameHasher* hasher) {
    const std::string file = folder_ + "/" + std::to_string(++files_);
    cluster::SnapshotHeader header;
    header.scope = cluster::SnapshotHeader::Scope::Support;
    header.createdAt = "2026-11-27T12:00:00Z";
    auto writer = cluster::SnapshotWriter::create(file, header);
    json::array asked;
    for (auto [resource, object] : objects) {
      if (hasher) hasher->apply(resource, object);
      const bool waits =
          resource == "pods" && textAt(memberOf(object, "status"), "phase") == "Pending";
      if (waits)
        asked.push_back(object);
      else
        EXPECT_TRUE((*writer)->addObject(resource, toJson(object)));
    }
    EXPECT_TRUE((*writer)->finish());
    const auto answers = simulateOnSnapshot(file, {{{"objects", std::move(asked)}}});
    if (!answers) return {answers.error().message};
    std::vector<std::string> decisions;
    const json::value& status = memberOf(answers->front().result, "status");
    for (const char* list : {"pods", "victims"})
      for (const json::value& one : memberOf(status, list).get_array())
        decisions.push_back(fmt::format("{}/{} {} {}", textAt(one, "namespace"),
                                        textAt(one, "name"), textAt(one, "node"),
                                        textAt(one, "message")));
    return decisions;
  }

  std::string folder_ = testMemoryFolder() + "/hashed-XXXXXX";
  int files_ = 0;
};

TEST_F(Decisions, on_new_names_are_those_on_the_old_ones_up_to_renaming) {
  std::size_t placed = 0;
  for (int seed = 1; seed <= 20; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const Objects objects = cluster(random);
    const NameHasher hasher = hasherOf(objects);
    ASSERT_NE(hasher.renamed("host-1"), "host-1");
    ASSERT_NE(hasher.renamed("app-1"), "app-1");
    // The decisions on the old names, with new ones.
    std::vector<std::string> expected = decide(objects, nullptr);
    for (std::string& decision : expected) {
      placed += decision.find(" host-") != decision.npos;
      json::object holder{{"message", decision}};
      hasher.apply("texts", holder);
      decision = holder["message"].get_string();
    }
    EXPECT_EQ(decide(objects, &hasher), expected) << "seed " << seed;
  }
  EXPECT_GT(placed, 300u);
}

}  // namespace
}  // namespace koord::koordctl
