// The thorough search: inventories on which trying all combinations takes too long
// (kubernetes/kubernetes#131730), and random ones on which both searches must agree.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "scheduler/plugins/dynamicresources/allocator/testing.h"

namespace koord::scheduler::dra {
namespace {

using testing::Bench;

constexpr const char* kClass =
    R"({"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": "device.driver == \"gpu.example\""}}]}})";

std::string sliceOf(const std::string& devices, const std::string& more = "") {
  return R"({"metadata": {"name": "slice"}, "spec": {"driver": "gpu.example", "nodeName": "node-1",
      "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1)" +
         std::string(more.empty() ? "}" : "}, " + more) + R"(, "devices": [)" + devices + "]}}";
}
std::string request(const std::string& name, int count, const std::string& selector = "") {
  std::string selectors;
  if (!selector.empty())
    selectors = R"(, "selectors": [{"cel": {"expression": "device.attributes[\"gpu.example\"].)" +
                selector + "\"}}]";
  return fmt::format(R"({{"name": "{}", "exactly": {{"deviceClassName": "gpu", "count": {}{}}}}})",
                     name, count, selectors);
}
std::string claim(const std::string& requests, const std::string& constraints = "") {
  return R"({"metadata": {"name": "claim"}, "spec": {"devices": {"requests": [)" + requests +
         R"(], "constraints": [)" + constraints + "]}}}";
}

// Devices with a UUID each, so that no two have equal attributes.
std::string devices(int count, const std::function<std::string(int)>& more) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text +=
        fmt::format(R"({}{{"name": "d{:02}", "attributes": {{"uuid": {{"string": "u{}"}}{}}}}})",
                    i == 0 ? "" : ", ", i, i, more(i));
  return text;
}

struct Hostile : ::testing::Test {
  Bench bench;
  Hostile() { bench.class_(kClass); }
  // Expects the result within 10 ms. Sanitizers and busy machines are slower; steps are not.
  void expect(const std::string& result, const std::vector<std::string>& claims) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(bench.allocate(claims), result);
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(bench.steps, 5000U);
    RecordProperty(
        "microseconds",
        static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  }
};

TEST_F(Hostile, one_device_less_than_asked_for_is_noticed_at_once) {
  bench.slice(sliceOf(devices(31, [](int) { return ""; })));
  expect("not found", {claim(request("r", 32))});
}

TEST_F(Hostile, a_second_request_without_a_device_does_not_try_all_combinations_of_the_first) {
  bench.slice(sliceOf(devices(40, [](int i) {
    return fmt::format(R"(, "type": {{"string": "{}"}})", i < 39 ? "small" : "large");
  })));
  expect("not found",
         {claim(request("small", 16) + "," + request("large", 2, R"(type == \"large\")"))});
}

TEST_F(Hostile, no_value_of_a_match_constraint_has_enough_devices) {
  bench.slice(sliceOf(
      devices(64, [](int i) { return fmt::format(R"(, "root": {{"string": "r{}"}})", i % 8); })));
  expect("not found", {claim(request("a", 5) + "," + request("b", 4),
                             R"({"matchAttribute": "gpu.example/root"})")});
}

TEST_F(Hostile, a_claim_of_each_of_many_pods_fails_because_of_the_last) {
  bench.slice(sliceOf(devices(24, [](int i) {
    return fmt::format(R"(, "type": {{"string": "{}"}})", i % 2 == 0 ? "even" : "odd");
  })));
  std::vector<std::string> claims;
  for (int i = 0; i < 6; ++i) claims.push_back(claim(request("r", 2)));
  claims.push_back(claim(request("last", 13, R"(type == \"odd\")")));
  expect("not found", claims);
}

// Eight GPUs of which each can be one large, two halves or seven small partitions.
std::string partitions() {
  std::string text;
  const auto add = [&](int gpu, const std::string& kind, int n, int slices) {
    text += fmt::format(
        R"({}{{"name": "gpu{}-{}{}", "attributes": {{"type": {{"string": "{}"}}}}, "consumesCounters": [{{"counterSet": "gpu{}", "counters": {{"slices": {{"value": "{}"}}}}}}]}})",
        text.empty() ? "" : ", ", gpu, kind, n, kind, gpu, slices);
  };
  for (int gpu = 0; gpu < 8; ++gpu) {
    add(gpu, "whole", 0, 7);
    for (int n = 0; n < 3; ++n) add(gpu, "half", n, 3);
    for (int n = 0; n < 7; ++n) add(gpu, "small", n, 1);
  }
  return text;
}

TEST_F(Hostile, partitions_of_many_gpus_that_share_counters) {
  std::string sets;
  for (int gpu = 0; gpu < 8; ++gpu)
    sets += fmt::format(R"({}{{"name": "gpu{}", "counters": {{"slices": {{"value": "7"}}}}}})",
                        gpu == 0 ? "" : ", ", gpu);
  bench.slice(R"({"metadata": {"name": "counters"}, "spec": {"driver": "gpu.example", "nodeName":
      "node-1", "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 2},
      "sharedCounters": [)" +
              sets + "]}}");
  std::string slice = sliceOf(partitions());
  slice.replace(slice.find(R"("resourceSliceCount": 1)"), 23, R"("resourceSliceCount": 2)");
  bench.slice(slice);
  expect("not found", {claim(request("halves", 17, R"(type == \"half\")"))});
  expect("not found", {claim(request("wholes", 7, R"(type == \"whole\")") + "," +
                             request("halves", 3, R"(type == \"half\")"))});
}

TEST_F(Hostile, a_search_ends_when_its_time_is_over) {
  bench.slice(sliceOf(devices(4, [](int) { return ""; })));
  bench.expired = [] { return true; };
  EXPECT_EQ(bench.allocate({claim(request("r", 1))}), "expired");
}

TEST(Selectors, nodes_of_one_model_share_what_expressions_say_about_their_devices) {
  Bench bench;
  bench.class_(kClass);
  const MatcherPtr kept = bench.matchers.of(bench.classes.at("gpu")->spec.selectors);
  for (int n = 0; n < 50; ++n) {
    const std::string node = fmt::format("node-{}", n);
    std::string slice = sliceOf(R"({"name": "a"}, {"name": "b"})");
    slice.replace(slice.find("node-1"), 6, node);
    slice.replace(slice.find(R"("pool", "gen)"), 6, '"' + node + '"');
    slice.replace(slice.find(R"("slice")"), 7, '"' + node + '"');
    bench.slice(slice);
    bench.node = std::make_shared<api::Node>();
    bench.node->metadata.name = node;
    EXPECT_EQ(bench.allocate({claim(request("r", 2))}), "r=a,r=b");
  }
  EXPECT_EQ(bench.compiler.compilations, 1U);
  EXPECT_EQ(bench.compiler.evaluations, 1U) << "all devices have equal attributes";
}

TEST(Selectors, those_that_no_device_reaches_are_not_compiled) {
  Bench bench;
  bench.class_(kClass);
  bench.slice(sliceOf(R"({"name": "a", "attributes": {"type": {"string": "t"}}})"));
  std::vector<std::string> claims;
  for (int c = 0; c < 40; ++c) {
    std::string requests;
    for (int r = 0; r < 32; ++r)
      requests += (r == 0 ? "" : ",") +
                  request(fmt::format("r{}", r), 1, fmt::format(R"(type == \"{}-{}\")", c, r));
    claims.push_back(claim(requests));
  }
  EXPECT_EQ(bench.allocate(claims), "not found");
  EXPECT_LT(bench.compiler.compilations, 3U) << "those that nothing evaluates are not compiled";
}

TEST(Selectors, a_plan_keeps_its_own_when_many_others_come_and_go) {
  Bench bench;
  bench.class_(kClass);
  bench.slice(sliceOf(
      devices(2, [](int i) { return fmt::format(R"(, "type": {{"string": "t{}"}})", i); })));
  const auto planOf = [&](const std::string& type) {
    const std::string json = claim(request("r", 1, fmt::format(R"(type == \"{}\")", type)));
    return makePlan(
               {std::make_shared<const api::ResourceClaim>(
                   api::decodeText<api::ResourceClaim>(json).value())},
               {}, [&](const std::string&) { return bench.classes.at("gpu"); }, bench.matchers)
        .value();
  };
  const auto chosenBy = [&](const Plan& plan) {
    const NodeInventory& node = bench.inventory.of(bench.node);
    Search search(plan, node, bench.taints, bench.expired);
    return search.run().found() ? node.devices[search.picks()[0].device].device->name() : "none";
  };
  const Plan plan = planOf("t1");
  EXPECT_EQ(chosenBy(plan), "d01");
  for (int n = 0; n < 3000; ++n) (void)chosenBy(planOf(fmt::format("other-{}", n)));
  EXPECT_EQ(chosenBy(plan), "d01");
  EXPECT_EQ(chosenBy(planOf("t0")), "d00");
}

TEST(Search, a_pod_may_have_more_than_64_claims) {
  Bench bench;
  bench.class_(kClass);
  bench.slice(sliceOf(R"({"name": "a"})"));
  std::string admin = claim(request("r", 1));
  admin.replace(admin.find(R"("count")"), 0, R"("adminAccess": true, )");
  std::vector<std::string> claims(65, admin);
  claims[0] = claim(request("r", 1));
  std::string expected = "r=a";
  for (int i = 1; i < 65; ++i) expected += "; r=a";
  EXPECT_EQ(bench.allocate(claims), expected);
}

TEST(Search, a_pod_gets_at_most_2048_devices) {
  Bench bench;
  bench.class_(kClass);
  bench.slice(sliceOf(R"({"name": "a", "allowMultipleAllocations": true})"));
  std::string requests;
  for (int r = 0; r < 32; ++r) requests += (r == 0 ? "" : ",") + request(fmt::format("r{}", r), 1);
  std::vector<std::string> claims(64, claim(requests));
  EXPECT_TRUE(bench.allocate(claims).starts_with("r0=a,r1=a,"));
  claims.push_back(claim(request("r", 1)));
  EXPECT_EQ(bench.allocate(claims),
            "the pod's claims request 2049 devices, more than the 2048 that one pod can get");
}

// Tries all combinations in order.
struct Plain {
  const std::vector<int>& types;                     // of devices
  const std::vector<std::pair<int, int>>& requests;  // type (-1: any), count
  std::vector<int> chosen = {};
  bool place(std::size_t request, int number, std::size_t start) {
    if (request == requests.size()) return true;
    if (number == requests[request].second) return place(request + 1, 0, 0);
    for (std::size_t d = start; d < types.size(); ++d) {
      if (std::find(chosen.begin(), chosen.end(), static_cast<int>(d)) != chosen.end()) continue;
      if (requests[request].first >= 0 && types[d] != requests[request].first) continue;
      chosen.push_back(static_cast<int>(d));
      if (place(request, number + 1, d + 1)) return true;
      chosen.pop_back();
    }
    return false;
  }
};

TEST(Search, finds_what_trying_all_combinations_in_order_finds_first) {
  std::mt19937 random(7);
  const auto pick = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  for (int round = 0; round < 150; ++round) {
    std::vector<int> types;
    for (int n = 4 + pick(9); n > 0; --n) types.push_back(pick(3));
    std::vector<std::pair<int, int>> requests;
    std::string text;
    for (int n = 1 + pick(4); n > 0; --n) {
      requests.emplace_back(pick(4) - 1, 1 + pick(3));
      const auto& [type, count] = requests.back();
      text += (text.empty() ? "" : ",") +
              request(fmt::format("r{}", requests.size() - 1), count,
                      type < 0 ? "" : fmt::format(R"(type == \"t{}\")", type));
    }
    Bench bench;
    bench.class_(kClass);
    bench.slice(sliceOf(devices(static_cast<int>(types.size()), [&](int i) {
      return fmt::format(R"(, "type": {{"string": "t{}"}})", types[static_cast<std::size_t>(i)]);
    })));
    Plain plain{types, requests};
    std::string expected = "not found";
    if (plain.place(0, 0, 0)) {
      expected.clear();
      std::size_t at = 0;
      for (std::size_t r = 0; r < requests.size(); ++r)
        for (int n = 0; n < requests[r].second; ++n)
          expected +=
              fmt::format("{}r{}=d{:02}", expected.empty() ? "" : ",", r, plain.chosen[at++]);
    }
    EXPECT_EQ(bench.allocate({claim(text)}), expected) << text;
  }
}

}  // namespace
}  // namespace koord::scheduler::dra
