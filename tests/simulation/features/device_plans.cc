#include "simulation/features/device_plans.h"

#include <fmt/format.h>

#include "simulation/features/plain_claims.h"

namespace koord::simulation {

namespace {

json::object gpu(const std::string& name, const std::string& model, int numa,
                 const std::string& memory) {
  return {{"name", name},
          {"attributes", {{"model", {{"string", model}}}, {"numa", {{"int", numa}}}}},
          {"capacity", {{"memory", {{"value", memory}}}}}};
}

json::object consumes(json::object device, const std::string& amount) {
  device["consumesCounters"] =
      json::array{{{"counterSet", "card"}, {"counters", {{"slices", {{"value", amount}}}}}}};
  return device;
}

json::object shared(json::object device) {
  device["allowMultipleAllocations"] = true;
  device["capacity"] = {
      {"memory",
       {{"value", "16Gi"},
        {"requestPolicy",
         {{"default", "2Gi"}, {"validRange", {{"min", "1Gi"}, {"step", "1Gi"}}}}}}}};
  return device;
}

json::object cel(const std::string& expression) {
  return {{"cel", {{"expression", expression}}}};
}

// A request or an alternative, without its name.
json::object wish(Random& random, const std::string& class_) {
  json::object request{{"deviceClassName", class_}};
  const auto& selectors = PlainSelector::all();
  if (class_ == "gpu" && random.chance(0.5))
    request["selectors"] = json::array{cel(selectors[random.below(4)].expression)};
  if (random.chance(0.06)) {
    request["allocationMode"] = "All";
  } else if (random.chance(0.25)) {
    request["count"] = 2 + random.below(2);
  }
  if (random.chance(0.2))
    request["tolerations"] = json::array{{{"key", "ill"}, {"operator", "Exists"}}};
  if (class_ == "shared" && random.chance(0.7)) {
    static const char* const kAmounts[] = {"1500Mi", "4Gi", "9Gi", "20Gi"};
    request["capacity"] = {{"requests", {{"memory", kAmounts[random.below(4)]}}}};
  }
  return request;
}

std::string anyClass(Random& random) {
  const double dice = random.unit();
  return dice < 0.7 ? "gpu" : dice < 0.85 ? "shared" : dice < 0.97 ? "net" : "rare";
}

}  // namespace

std::vector<std::string> PoolPlan::devices() const {
  std::vector<std::string> names;
  for (const auto& part : parts)
    if (const auto* list = part.if_contains("devices"))
      for (const auto& device : list->as_array())
        names.emplace_back(device.as_object().at("name").as_string());
  return names;
}

std::string PoolPlan::sliceName(std::size_t part) const {
  return fmt::format("{}-{}-{}", name, generation, part);
}

json::object PoolPlan::slice(std::size_t part) const {
  json::object spec = where;
  spec["driver"] = driver;
  spec["pool"] = {{"name", name}, {"generation", generation}, {"resourceSliceCount", parts.size()}};
  for (const auto& [key, value] : parts[part]) spec[key] = value;
  if (auto* list = spec.if_contains("devices")) {
    json::array there;
    for (auto& device : list->as_array()) {
      json::object& one = device.as_object();
      const std::string device_(one.at("name").as_string());
      if (removed.contains(device_)) continue;
      if (const auto its = taints.find(device_); its != taints.end()) one["taints"] = its->second;
      there.push_back(std::move(device));
    }
    *list = std::move(there);
  }
  return {{"metadata", {{"name", sliceName(part)}}}, {"spec", std::move(spec)}};
}

PoolPlan nodePool(const std::string& node, Random& random) {
  PoolPlan pool{kGpuDriver, node, node, {{"nodeName", node}}, {}, {}, {}, 0};
  json::array devices;
  const double dice = random.unit();
  if (dice < 0.5) {
    const int count = static_cast<int>(1 + random.below(4));
    for (int i = 0; i < count; ++i)
      devices.push_back(gpu(fmt::format("gpu-{}", i), random.chance(0.5) ? "a" : "b", i % 2,
                            random.chance(0.5) ? "8Gi" : "16Gi"));
    if (random.chance(0.25)) {
      json::object& late = devices.back().as_object();
      late["bindingConditions"] = json::array{"example.com/ready"};
      late["bindingFailureConditions"] = json::array{"example.com/broken"};
      late["bindsToNode"] = true;
    }
  } else if (dice < 0.75) {
    pool.parts.push_back(
        {{"sharedCounters",
          json::array{{{"name", "card"}, {"counters", {{"slices", {{"value", "8"}}}}}}}}});
    devices.push_back(consumes(gpu("whole", "p", 0, "32Gi"), "8"));
    for (int i = 0; i < 2; ++i)
      devices.push_back(consumes(gpu(fmt::format("half-{}", i), "p", i, "16Gi"), "4"));
    for (int i = 0; i < 3; ++i)
      devices.push_back(consumes(gpu(fmt::format("part-{}", i), "p", i % 2, "8Gi"), "2"));
  } else {
    const int count = static_cast<int>(1 + random.below(2));
    for (int i = 0; i < count; ++i)
      devices.push_back(shared(gpu(fmt::format("share-{}", i), "a", i, "16Gi")));
    devices.push_back(gpu("gpu-9", "b", 0, "8Gi"));
  }
  if (devices.size() > 1 && random.chance(0.3)) {
    const auto middle = devices.begin() + static_cast<std::ptrdiff_t>(devices.size() / 2);
    pool.parts.push_back({{"devices", json::array(devices.begin(), middle)}});
    devices.erase(devices.begin(), middle);
  }
  pool.parts.push_back({{"devices", std::move(devices)}});
  return pool;
}

PoolPlan networkPool(const std::string& name, json::object where) {
  json::array devices{{{"name", "port-0"}, {"attributes", {{"speed", {{"int", 100}}}}}},
                      {{"name", "port-1"}, {"attributes", {{"speed", {{"int", 200}}}}}}};
  return {kNetDriver, name, "", std::move(where), {{{"devices", std::move(devices)}}}, {}, {}, 0};
}

json::object deviceClass(const std::string& name, const std::string& expression) {
  return {{"metadata", {{"name", name}}}, {"spec", {{"selectors", json::array{cel(expression)}}}}};
}

json::object claimSpec(Random& random, bool admins) {
  json::array requests;
  const std::uint64_t count = 1 + random.below(random.chance(0.3) ? 3 : 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    json::object request{{"name", fmt::format("r{}", i)}};
    if (random.chance(0.25)) {
      json::array alternatives;
      for (int a = 0; a < 2; ++a) {
        json::object one = wish(random, anyClass(random));
        one["name"] = fmt::format("a{}", a);
        alternatives.push_back(std::move(one));
      }
      request["firstAvailable"] = std::move(alternatives);
    } else {
      json::object one = wish(random, anyClass(random));
      if (admins && random.chance(0.1)) one["adminAccess"] = true;
      request["exactly"] = std::move(one);
    }
    requests.push_back(std::move(request));
  }
  json::object devices{{"requests", std::move(requests)}};
  if (random.chance(0.3)) {
    json::object constraint;
    constraint[random.chance(0.7) ? "matchAttribute" : "distinctAttribute"] =
        fmt::format("{}/{}", kGpuDriver, random.chance(0.5) ? "model" : "numa");
    if (random.chance(0.3)) constraint["requests"] = json::array{"r0"};
    devices["constraints"] = json::array{std::move(constraint)};
  }
  return {{"devices", std::move(devices)}};
}

}  // namespace koord::simulation
