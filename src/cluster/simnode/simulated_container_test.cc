#include "cluster/simnode/simulated_container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/codec.h"

namespace koord::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::shared_ptr<const api::Pod> podOf(std::string_view text) {
  const auto document = parseJson(text);
  return std::make_shared<const api::Pod>(api::decode<api::Pod>(*document).value());
}

TEST(SimulatedContainer, SaysWhatKoordletWouldSet) {
  const auto pod = podOf(R"({
      "metadata": {"name": "p", "uid": "u",
        "labels": {"koordinator.sh/qosClass": "BE"},
        "annotations": {
          "scheduling.koordinator.sh/resource-status": "{\"cpuset\":\"2-3\"}",
          "scheduling.koordinator.sh/device-allocated":
            "{\"gpu\":[{\"minor\":1,\"resources\":{}}]}"}},
      "spec": {"nodeName": "sim-0", "priority": 5500, "containers": [{"name": "a", "resources": {
        "requests": {"kubernetes.io/batch-cpu": "500", "kubernetes.io/batch-memory": "1Gi"},
        "limits": {"kubernetes.io/batch-cpu": "500", "kubernetes.io/batch-memory": "1Gi"}}}]},
      "status": {"phase": "Running", "containerStatuses": [
        {"name": "a", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}})");
  api::NodeSLO slo;
  slo.spec.resourceQOSStrategy =
      *parseJson(R"({"beClass": {"cpuQOS": {"enable": true, "groupIdentity": -1}}})");
  const auto text = describeSimulatedContainer(pod, "a", &slo);
  EXPECT_THAT(text, AllOf(HasSubstr("node sim-0 runs no processes"),
                          HasSubstr("running since 2026-01-01T00:00:00Z"),
                          HasSubstr("cpu 500m, memory 1024Mi of the pod"),
                          HasSubstr("cpu 250m, memory 512Mi"),
                          HasSubstr("cpu.shares 512, cpu.cfs_quota_us 50000, "
                                    "memory.limit_in_bytes 1073741824 (BatchResource)"),
                          HasSubstr("cpuset.cpus 2-3"), HasSubstr("cpu.bvt_warp_ns -1"),
                          HasSubstr("NVIDIA_VISIBLE_DEVICES=1")));
  EXPECT_THAT(describeSimulatedContainer(pod, "a", nullptr), Not(HasSubstr("bvt")));
}

TEST(SimulatedContainer, APodWithoutKoordinatorsValues) {
  const auto pod = podOf(R"({"metadata": {"name": "p", "uid": "u"},
      "spec": {"nodeName": "sim-0", "containers": [{"name": "a"}]},
      "status": {"phase": "Pending"}})");
  EXPECT_THAT(
      describeSimulatedContainer(pod, "a", nullptr),
      AllOf(HasSubstr("pod Pending"), HasSubstr("would set no values"), Not(HasSubstr("usage"))));
}

}  // namespace
}  // namespace koord::cluster
