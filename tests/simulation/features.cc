#include "simulation/features/allowances.h"
#include "simulation/features/groups.h"
#include "simulation/features/holds.h"
#include "simulation/features/slots.h"

namespace koord::simulation {

namespace {

// Every third seed has features, and not always all of them.
constexpr std::uint64_t kEvery = 3;
constexpr double kShare = 0.7;
constexpr std::uint64_t kSalt = 0x9e3779b97f4a7c15U;

}  // namespace

Features featuresOf(std::uint64_t seed, const Surroundings& world) {
  Features features;
  if (seed % kEvery != 0) return features;
  Random random(seed ^ kSalt);
  const auto add = [&]<class F>(std::unique_ptr<F> feature) {
    if (random.chance(kShare)) features.push_back(std::move(feature));
  };
  add(std::make_unique<SlotsFeature>(world, random.fork()));
  add(std::make_unique<HoldsFeature>(world, random.fork()));
  add(std::make_unique<GroupsFeature>(world, random.fork()));
  add(std::make_unique<AllowancesFeature>(world, random.fork()));
  return features;
}

void Feature::define(const api::ResourceType& type) {
  constexpr api::ResourceType kDefinition{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                          "CustomResourceDefinition", false};
  const json::object anything{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  const auto text = [](std::string_view from) { return json::string(from); };
  create(kDefinition, "",
         {{"metadata", {{"name", fmt::format("{}.{}", type.plural, type.group)}}},
          {"spec",
           {{"group", text(type.group)},
            {"scope", type.namespaced ? "Namespaced" : "Cluster"},
            {"names", {{"plural", text(type.plural)}, {"kind", text(type.kind)}}},
            {"versions", json::array{{{"name", text(type.version)},
                                      {"served", true},
                                      {"storage", true},
                                      {"subresources", {{"status", json::object{}}}},
                                      {"schema", {{"openAPIV3Schema", anything}}}}}}}}});
}

}  // namespace koord::simulation
