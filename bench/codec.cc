// Pods as kube-apiserver sends them (defaults, managedFields and status included), read into
// structs from JSON and from protobuf: single objects, as watches bring them, and lists.

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/protobuf/plan.h"
#include "api/protobuf/transcode.h"
#include "bench.h"
#include "kube/received.h"

namespace koord::bench {
namespace {

// A pod with one container that runs; "$" stands for its number.
constexpr std::string_view kPod =
    R"({"metadata":{"name":"web-7c5ddbdf54-$","generateName":"web-7c5ddbdf54-","namespace":"shop",
"uid":"5a4b0d3c-27c1-4f0e-9d52-$","resourceVersion":"$","generation":1,
"creationTimestamp":"2026-01-02T03:04:05Z",
"labels":{"app":"web","pod-template-hash":"7c5ddbdf54","koordinator.sh/qosClass":"LS"},
"annotations":{"kubernetes.io/config.seen":"2026-01-02T03:04:05.123456789Z"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7c5ddbdf54",
"uid":"0d4d6d1e-5c1a-4f89-b0cb-7a2f6a1f3c55","controller":true,"blockOwnerDeletion":true}],
"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1",
"time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:generateName":{},
"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{},"f:koordinator.sh/qosClass":{}},
"f:ownerReferences":{".":{},"k:{\"uid\":\"0d4d6d1e-5c1a-4f89-b0cb-7a2f6a1f3c55\"}":{}}},
"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},
"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},
"f:containerPort":{},"f:protocol":{}}},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},
"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},
"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},
"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}},
{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:09Z",
"fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{
"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},
"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},
"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},
"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.4.1.7\"}":{".":{},"f:ip":{}}},
"f:startTime":{}}},"subresource":"status"}]},
"spec":{"volumes":[{"name":"kube-api-access-x7k2p","projected":{"sources":[
{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},
{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},
{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1",
"fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],
"containers":[{"name":"web","image":"registry.k8s.io/web:3.9","ports":[{"containerPort":80,
"protocol":"TCP"}],"env":[{"name":"REGION","value":"eu-1"},{"name":"POD","valueFrom":{"fieldRef":{
"apiVersion":"v1","fieldPath":"metadata.name"}}}],
"resources":{"limits":{"cpu":"500m","memory":"512Mi"},"requests":{"cpu":"250m","memory":"512Mi"}},
"volumeMounts":[{"name":"kube-api-access-x7k2p","readOnly":true,
"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],
"readinessProbe":{"httpGet":{"path":"/ready","port":80,"scheme":"HTTP"},"timeoutSeconds":1,
"periodSeconds":10,"successThreshold":1,"failureThreshold":3},
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",
"imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,
"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default",
"nodeName":"node-$","securityContext":{},"schedulerName":"koord-scheduler",
"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",
"tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists",
"effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,
"preemptionPolicy":"PreemptLowerPriority"},
"status":{"phase":"Running","conditions":[{"type":"PodScheduled","status":"True",
"lastTransitionTime":"2026-01-02T03:04:05Z"},{"type":"Initialized","status":"True",
"lastTransitionTime":"2026-01-02T03:04:06Z"},{"type":"Ready","status":"True",
"lastTransitionTime":"2026-01-02T03:04:09Z"},{"type":"ContainersReady","status":"True",
"lastTransitionTime":"2026-01-02T03:04:09Z"}],"hostIP":"10.0.0.7","podIP":"10.4.1.7",
"podIPs":[{"ip":"10.4.1.7"}],"startTime":"2026-01-02T03:04:05Z",
"containerStatuses":[{"name":"web","state":{"running":{"startedAt":"2026-01-02T03:04:08Z"}},
"lastState":{},"ready":true,"restartCount":0,"image":"registry.k8s.io/web:3.9",
"imageID":"registry.k8s.io/web@sha256:7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097",
"containerID":"containerd://3c1b0d9a7f0b4e0d9f2d8f6e5b4a3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b",
"started":true}],"qosClass":"Burstable"}})";

json::value podOf(int n) {
  std::string text;
  for (const char c : kPod) {
    if (c == '$') {
      text += std::to_string(100'000 + n);
    } else {
      text += c;
    }
  }
  return parseJson(text).value();
}

// All pods one by one, or as one list.
std::vector<std::string> textsOf(int pods, bool protobuf, bool list) {
  const auto& types = api::sharedBuiltinTypes();
  std::vector<std::string> texts;
  json::array items;
  for (int n = 0; n < pods; ++n) {
    json::value pod = podOf(n);
    if (list) {
      items.push_back(std::move(pod));
    } else {
      texts.push_back(
          protobuf ? api::sealEnvelope("v1", "Pod", encodeMessage(pod, *types.find("Pod")).message)
                   : toJson(pod));
    }
  }
  if (!list) return texts;
  const json::value whole{{"metadata", {{"resourceVersion", "1"}}}, {"items", std::move(items)}};
  texts.push_back(protobuf
                      ? api::sealEnvelope(
                            "v1", "PodList",
                            encodeList(whole, *types.find("ListMeta"), *types.find("Pod")).message)
                      : toJson(whole));
  return texts;
}

Numbers measure(const Numbers& params) {
  const int pods = static_cast<int>(params.at("pods"));
  const bool list = params.at("list") != 0;
  const auto texts = textsOf(pods, params.at("protobuf") != 0, list);
  double bytes = 0;
  for (const auto& text : texts) bytes += static_cast<double>(text.size());
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<api::Pod> decoded;
    decoded.reserve(static_cast<std::size_t>(pods));
    const double before = cpuSeconds();
    const auto keep = [&](const kube::Received& item) {
      auto pod = item.as<api::Pod>();
      if (!pod) std::abort();
      decoded.push_back(*std::move(pod));
    };
    for (const auto& text : texts) {
      const bool good =
          list ? kube::openList(text, keep).has_value() : kube::openObject(text, keep).has_value();
      if (!good) std::abort();
    }
    if (decoded.size() != static_cast<std::size_t>(pods)) std::abort();
    const double took = cpuSeconds() - before;
    if (best == 0 || took < best) best = took;
  }
  return {{"pods_per_second", pods / best},
          {"us_per_pod", 1e6 * best / pods},
          {"mib_per_second", bytes / best / (1 << 20)},
          {"bytes_per_pod", bytes / pods}};
}

}  // namespace
}  // namespace koord::bench

int main(int argc, char** argv) {
  using namespace koord::bench;
  std::vector<Benchmark> benchmarks;
  for (const bool list : {false, true})
    for (const bool protobuf : {false, true})
      benchmarks.push_back(
          {fmt::format("Decode/{}/{}", list ? "PodList" : "Pod", protobuf ? "Protobuf" : "Json"),
           {{"pods", 20'000}, {"list", list}, {"protobuf", protobuf}},
           measure});
  return runAll(argc, argv, benchmarks);
}
