#include "api/codec.h"

#include <gtest/gtest.h>

#include "api/admission.h"
#include "api/config.h"
#include "api/core.h"
#include "api/slo.h"

namespace koord::api {
namespace {

TEST(CodecTest, ReadsAPodWithQuantitiesTimesAndKeywordNames) {
  const auto pod = decodeText<Pod>(R"({
    "metadata": {"name": "p", "namespace": "ns", "creationTimestamp": "2026-01-02T03:04:05Z"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m", "memory": 1024}}}],
             "tolerations": [{"key": "k", "operator": "Exists"}], "priority": 5500,
             "someFieldWeDoNotKnow": {"a": 1}},
    "status": {"phase": "Running"}})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->metadata.namespace_, "ns");
  EXPECT_EQ(pod->spec.containers[0].resources.requests.at("cpu").milliValue(), 500);
  EXPECT_EQ(pod->spec.containers[0].resources.requests.at("memory").value(), 1024);
  EXPECT_EQ(pod->spec.tolerations[0].operator_, "Exists");
  EXPECT_EQ(pod->spec.priority, 5500);
  EXPECT_TRUE(pod->metadata.creationTimestamp.has_value());
}

TEST(CodecTest, WritesOnlyWhatIsSet) {
  Pod pod;
  pod.metadata.name = "p";
  pod.spec.containers.push_back({.name = "c"});
  pod.spec.priority = 0;
  EXPECT_EQ(toJson(encodeObject(pod)), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},)"
                                       R"("spec":{"containers":[{"name":"c"}],"priority":0}})");
}

TEST(CodecTest, WhatIsWrittenReadsBackTheSame) {
  const std::string text =
      R"({"metadata":{"name":"n"},"status":{"updateTime":"2026-01-02T03:04:05Z","nodeMetric":)"
      R"({"nodeUsage":{"resources":{"cpu":"1500m","memory":"2Gi"}},"aggregatedNodeUsages":)"
      R"([{"usage":{"p95":{"resources":{"cpu":"2"}}},"duration":"5m0s"}]},"podsMetric":)"
      R"([{"name":"p","namespace":"ns","podUsage":{"resources":{"cpu":"1"}},"qos":"LS"}]}})";
  const auto metric = decodeText<NodeMetric>(text);
  ASSERT_TRUE(metric) << metric.error().message;
  EXPECT_EQ(toJson(encode(*metric)), text);
}

struct BadCase {
  const char* document;
  const char* error;
};

TEST(CodecTest, ErrorsNameTheFieldAndWhatWasExpected) {
  const BadCase cases[] = {
      {R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"lots"}}}]}})",
       "spec.containers[0].resources.requests[cpu]: "},
      {R"({"spec":{"containers":{"name":"c"}}})",
       R"(spec.containers: expected a list, got {"name":"c"})"},
      {R"({"spec":{"priority":"high"}})", R"(spec.priority: expected an integer, got "high")"},
      {R"({"spec":{"priority":3000000000}})", "spec.priority: 3000000000 is not between"},
      {R"({"metadata":{"labels":{"a":1}}})", "metadata.labels[a]: expected a string, got 1"},
      {R"([])", "expected an object, got []"},
  };
  for (const auto& c : cases) {
    const auto pod = decodeText<Pod>(c.document);
    ASSERT_FALSE(pod) << c.document;
    EXPECT_EQ(pod.error().code, ErrorCode::BadRequest);
    EXPECT_TRUE(pod.error().message.starts_with(c.error)) << pod.error().message;
  }
}

TEST(CodecTest, StrictReadingRefusesUnknownFields) {
  const auto policy = decodeText<NodeMetricSpec>(R"({"metricCollectPolicy":{"reportInterval":5}})",
                                                 Reading::Strict);
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().message, "metricCollectPolicy.reportInterval: unknown field");
}

TEST(CodecTest, GoReadingMatchesNamesWithoutCaseAndPrefersTheExactOne) {
  const auto strategy = decodeText<ResourceThresholdStrategy>(
      R"({"CPUSuppressThresholdPercent":50,"Enable":true})", Reading::Go);
  ASSERT_TRUE(strategy) << strategy.error().message;
  EXPECT_EQ(strategy->cpuSuppressThresholdPercent, 50);
  EXPECT_EQ(strategy->enable, true);
  EXPECT_FALSE(decodeText<ResourceThresholdStrategy>(R"({"memoryEvictThresholdPercent":70.5})",
                                                     Reading::Go));
}

TEST(CodecTest, JsonErrorsSayWhere) {
  const auto pod = decodeText<Pod>("{\n  \"spec\": }");
  ASSERT_FALSE(pod);
  EXPECT_TRUE(pod.error().message.starts_with("not valid JSON: line 2 column "))
      << pod.error().message;
}

}  // namespace
}  // namespace koord::api
