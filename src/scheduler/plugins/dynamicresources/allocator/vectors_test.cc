// The allocator against recorded inputs and results of kube-scheduler 1.36's
// (tests/data/vectors/dra_allocator.jsonl).

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "api/codec.h"
#include "scheduler/plugins/dynamicresources/allocator/testing.h"

namespace koord::scheduler::dra {
namespace {

Features featuresOf(const json::value& names) {
  Features features{false, false, false, false, false, false, false};
  const std::map<std::string_view, bool Features::*> known{
      {"adminAccess", &Features::adminAccess},
      {"prioritizedList", &Features::prioritizedList},
      {"partitionableDevices", &Features::partitionableDevices},
      {"deviceTaints", &Features::deviceTaints},
      {"deviceBindingAndStatus", &Features::bindingConditions},
      {"consumableCapacity", &Features::consumableCapacity},
      {"listTypeAttributes", &Features::listTypeAttributes}};
  if (names.is_array())
    for (const auto& name : names.get_array())
      features.*known.at(std::string_view(name.get_string())) = true;
  return features;
}

const json::array& listOf(const json::value& record, std::string_view key) {
  static const json::array kNone;
  const json::value* list = find(record, key);
  return list ? list->get_array() : kNone;
}

// What is allocated already.
void allocateBefore(testing::Bench& bench, const json::value& record) {
  api::AllocationResult before;
  const auto add = [&](std::string_view driver, std::string_view pool, std::string_view device) {
    auto& result = before.devices.results.emplace_back();
    result.driver = driver;
    result.pool = pool;
    result.device = device;
    return &result;
  };
  const auto text = [](const json::value& value) { return std::string_view(value.get_string()); };
  for (const auto& id : listOf(record, "allocated"))
    add(text(id.get_array()[0]), text(id.get_array()[1]), text(id.get_array()[2]));
  for (const auto& [key, amounts] : membersOf(memberOf(record, "consumed"))) {
    const std::string id(key);
    const std::size_t pool = id.find('/'), device = id.find('/', pool + 1);
    auto* result =
        add(id.substr(0, pool), id.substr(pool + 1, device - pool - 1), id.substr(device + 1));
    result->shareID = "before";
    for (const auto& [name, amount] : amounts.get_object())
      result->consumedCapacity[std::string(name)] = Quantity::parse(text(amount)).value();
  }
  bench.usage.add(before);
}

// Orders of values in selectors do not matter; those of devices do.
std::string normalized(api::AllocationResult allocation) {
  if (allocation.nodeSelector) {
    for (auto& term : allocation.nodeSelector->nodeSelectorTerms)
      for (auto* list : {&term.matchFields, &term.matchExpressions}) {
        for (auto& requirement : *list)
          std::sort(requirement.values.begin(), requirement.values.end());
        std::sort(list->begin(), list->end(),
                  [](const auto& a, const auto& b) { return a.key < b.key; });
      }
  }
  return toPrettyJson(api::encode(allocation));
}

void check(const json::value& record) {
  const Features features = featuresOf(memberOf(record, "features"));
  testing::Bench bench(features.partitionableDevices);
  bench.features = features;
  if (const json::value* node = find(record, "node"))
    *bench.node = api::decode<api::Node>(*node).value();
  for (const auto& class_ : listOf(record, "classes")) bench.class_(toJson(class_));
  std::set<std::string> names;  // some records have a name twice, which no API server has
  for (const auto& document : listOf(record, "slices")) {
    auto slice = api::decode<api::ResourceSlice>(document).value();
    while (!names.insert(slice.metadata.name).second) slice.metadata.name += "+";
    bench.slice(std::move(slice));
  }
  allocateBefore(bench, record);
  std::vector<ClaimPtr> claims;
  for (const auto& claim : listOf(record, "claims"))
    claims.push_back(
        std::make_shared<const api::ResourceClaim>(api::decode<api::ResourceClaim>(claim).value()));
  const auto allocations = bench.allocationsFor(claims);
  if (const std::string_view error = textAt(record, "error"); !error.empty()) {
    ASSERT_FALSE(allocations);
    EXPECT_NE(allocations.error().message.find(error), std::string::npos)
        << allocations.error().message << "\ninstead of\n"
        << error;
    return;
  }
  const json::array& expected = listOf(record, "expect");
  if (expected.empty() && !claims.empty()) {
    ASSERT_FALSE(allocations);
    EXPECT_EQ(allocations.error().message, "not found");
    return;
  }
  ASSERT_TRUE(allocations) << allocations.error().message;
  ASSERT_EQ(allocations->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(normalized((*allocations)[i]),
              normalized(api::decode<api::AllocationResult>(expected[i]).value()));
  }
}

TEST(AllocatorVectors, results_are_those_of_kube_scheduler) {
  std::ifstream file(KOORD_VECTORS "/dra_allocator.jsonl");
  ASSERT_TRUE(file);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const json::value record = parseJson(line).value();
    SCOPED_TRACE(std::string(textAt(record, "name")));
    check(record);
  }
  EXPECT_GT(count, 200U);
}

}  // namespace
}  // namespace koord::scheduler::dra
