// What a kubelet may request.

#include "apiserver/access/access_testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

class NodeAccessTest : public AccessTest {
 protected:
  void SetUp() override {
    AccessTest::SetUp();
    for (const auto* name : {"n1", "n2"})
      send(kAdmin, "POST", "/api/v1/nodes",
           R"({"metadata":{"name":")" + std::string(name) + "\"}}");
  }
  void createPod(const std::string& name, const std::string& node, const std::string& more) {
    const auto made =
        send(kAdmin, "POST", kPods, pod(name, R"(,"nodeName":")" + node + "\"," + more));
    EXPECT_EQ(made.status, 201) << made.message();
  }
  int get(const As& who, const std::string& path) {
    return send(who, "GET", "/api/v1/namespaces/default/" + path).status;
  }
  const As kOther{"system:node:n2", {"system:nodes"}, "", {}};
};

TEST_F(NodeAccessTest, aKubeletReadsWhatItsPodsReferTo) {
  createPod("web", "n1",
            R"("imagePullSecrets":[{"name":"pull"}],"initContainers":[{"name":"i","image":"x",
               "envFrom":[{"configMapRef":{"name":"settings"}}],
               "env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"key","key":"k"}}}]}],
               "volumes":[{"name":"a","secret":{"secretName":"files"}},
               {"name":"b","projected":{"sources":[{"secret":{"name":"part"}}]}},
               {"name":"c","persistentVolumeClaim":{"claimName":"disk"}}])");
  for (const auto* name : {"secrets/pull", "secrets/key", "secrets/files", "secrets/part",
                           "configmaps/settings", "persistentvolumeclaims/disk"}) {
    EXPECT_EQ(get(kNode, name), 404) << name << " is not there, but allowed";
    EXPECT_EQ(get(kOther, name), 403) << name;
  }
  EXPECT_EQ(get(kNode, "configmaps/kube-root-ca.crt"), 200);
  EXPECT_EQ(get(kNode, "secrets/other"), 403);
  EXPECT_THAT(send(kNode, "GET", "/api/v1/namespaces/default/secrets/other").message(),
              HasSubstr("no relationship found between node 'n1' and this object"));
  EXPECT_EQ(get(kNode, "secrets"), 403);
  EXPECT_EQ(get(kNode, "secrets?fieldSelector=metadata.name%3Dpull"), 200);
  EXPECT_EQ(send(kNode, "DELETE", "/api/v1/namespaces/default/secrets/pull").status, 403);
  // The permission ends with the pod.
  send(kAdmin, "DELETE", std::string(kPods) + "/web?gracePeriodSeconds=0");
  EXPECT_EQ(get(kNode, "secrets/pull"), 403);
}

TEST_F(NodeAccessTest, volumesAreReachedThroughTheirClaims) {
  createPod("web", "n1",
            R"("volumes":[{"name":"c","persistentVolumeClaim":{"claimName":"disk"}}])");
  const auto claim = send(kAdmin, "POST", "/api/v1/namespaces/default/persistentvolumeclaims",
                          R"({"metadata":{"name":"disk"},"spec":{"accessModes":["ReadWriteOnce"],
                              "volumeName":"pv","resources":{"requests":{"storage":"1Gi"}}}})");
  ASSERT_EQ(claim.status, 201) << claim.message();
  const auto volume = send(
      kAdmin, "POST", "/api/v1/persistentvolumes",
      R"({"metadata":{"name":"pv"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
          "claimRef":{"namespace":"default","name":"disk"},"csi":{"driver":"d","volumeHandle":"h",
          "nodeStageSecretRef":{"namespace":"kube-system","name":"stage"}}}})");
  ASSERT_EQ(volume.status, 201) << volume.message();
  EXPECT_EQ(send(kNode, "GET", "/api/v1/persistentvolumes/pv").status, 200);
  EXPECT_EQ(send(kOther, "GET", "/api/v1/persistentvolumes/pv").status, 403);
  EXPECT_EQ(send(kNode, "GET", "/api/v1/namespaces/kube-system/secrets/stage").status, 404);
  EXPECT_EQ(send(kOther, "GET", "/api/v1/namespaces/kube-system/secrets/stage").status, 403);
}

TEST_F(NodeAccessTest, aKubeletHasItsOwnNodeLeaseAndPods) {
  createPod("web", "n1", R"("hostNetwork":false)");
  struct Row {
    const char* method;
    const char* path;
    bool allowed;
  };
  const Row rows[] = {
      {"GET", "/api/v1/nodes/n1", true},
      {"GET", "/api/v1/nodes/n2", false},
      {"GET", "/api/v1/nodes", false},
      {"GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&watch=1", true},
      {"PATCH", "/api/v1/nodes/n1/status", true},
      {"DELETE", "/api/v1/nodes/n1", false},
      {"GET", "/api/v1/namespaces/default/pods/web", true},
      {"GET", "/api/v1/pods", false},
      {"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", true},
      {"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", false},
      {"PATCH", "/api/v1/namespaces/default/pods/web/status", true},
      {"PATCH", "/api/v1/namespaces/default/pods/web", false},
      {"GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", true},
      {"GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n2", false},
      {"GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/n1", false},
      {"GET", "/apis/storage.k8s.io/v1/csinodes/n1", true},
      {"GET", "/apis/storage.k8s.io/v1/csinodes", false},
      {"GET", "/api/v1/services", true},
      {"POST", "/api/v1/namespaces/default/events", true},
      {"POST", "/api/v1/namespaces", false},
      {"POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", false},
      {"GET", "/apis/apps/v1/deployments", false},
      {"GET", "/version", true},
  };
  for (const auto& row : rows) {
    const auto answer = send(kNode, row.method, row.path, "{}");
    EXPECT_EQ(answer.status != 403, row.allowed)
        << row.method << " " << row.path << ": " << answer.message();
  }
  EXPECT_EQ(
      send(kNode, "GET", "/api/v1/nodes/n2").message(),
      R"(nodes "n2" is forbidden: User "system:node:n1" cannot get resource "nodes" in API group "" at the cluster scope: node 'n1' cannot read 'n2', only its own Node object)");
  // In the group, but not a node.
  EXPECT_EQ(send(user("kubelet", {"system:nodes"}), "GET", "/api/v1/services").status, 403);
}

TEST_F(NodeAccessTest, staticPodsGiveTheirKubeletNothing) {
  const auto mirror =
      send(kNode, "POST", kPods,
           R"({"metadata":{"name":"static","annotations":{"kubernetes.io/config.mirror":"x"},
          "ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u","controller":true}]},
          "spec":{"nodeName":"n1","containers":[{"name":"c","image":"x",
          "envFrom":[{"secretRef":{"name":"loot"}}]}]}})");
  ASSERT_EQ(mirror.status, 201) << mirror.message();
  EXPECT_EQ(get(kNode, "pods/static"), 200);
  EXPECT_EQ(get(kNode, "secrets/loot"), 403);
}

TEST_F(NodeAccessTest, aKubeletGetsTokensForItsPodsOnly) {
  createPod("web", "n1", R"("hostNetwork":false)");
  const std::string path = "/api/v1/namespaces/default/serviceaccounts/default/token";
  const auto request = [&](const std::string& bound) { return R"({"spec":{)" + bound + "}}"; };
  EXPECT_THAT(send(kNode, "POST", path, request("")).message(),
              HasSubstr("node requested token not bound to a pod"));
  const auto bound = request(R"("boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"web"})");
  EXPECT_EQ(send(kNode, "POST", path, bound).status, 201);
  EXPECT_EQ(send(kOther, "POST", path, bound).status, 403);
  createPod("other", "n2", R"("hostNetwork":false)");
  EXPECT_THAT(send(kOther, "POST", path, bound).message(),
              HasSubstr("node requested token bound to a pod scheduled on a different node"));
}

}  // namespace
}  // namespace koord::apiserver::testing
