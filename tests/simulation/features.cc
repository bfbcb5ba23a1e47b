#include <algorithm>
#include <type_traits>

#include "simulation/features/allowances.h"
#include "simulation/features/claims.h"
#include "simulation/features/cpus.h"
#include "simulation/features/crowds.h"
#include "simulation/features/devices.h"
#include "simulation/features/gangs.h"
#include "simulation/features/groups.h"
#include "simulation/features/holds.h"
#include "simulation/features/migrations.h"
#include "simulation/features/packing.h"
#include "simulation/features/quotas.h"
#include "simulation/features/reservations.h"
#include "simulation/features/shared_gpus.h"
#include "simulation/features/slots.h"

namespace koord::simulation {

namespace {

// Of eight seeds two have small features, one those for jobs, one those for nodes, one both, and
// two those for jobs in a crowd; not always all of them.
constexpr std::uint64_t kEvery = 8;
constexpr double kShare = 0.7;
constexpr double kShareInCrowd = 0.4;
constexpr double kShareWithClaims = 0.4;
constexpr double kShareOfPacking = 0.5;
constexpr std::uint64_t kPackingSalt = 0x8cb92ba72f3d8dd7U;
constexpr std::uint64_t kClaimsSalt = 0xd1b54a32d192ed03U;
constexpr std::uint64_t kSalt = 0x9e3779b97f4a7c15U;

}  // namespace

Features featuresOf(std::uint64_t seed, const Surroundings& world,
                    const std::set<std::string>& only) {
  Features features;
  const std::uint64_t kind = seed % kEvery;
  const bool small = kind == 0 || kind == 3;
  const bool crowd = kind == 6 || kind == 7;
  const bool jobs = kind == 1 || kind == 5 || crowd;
  const bool machines = kind == 4 || kind == 5;
  Random random(seed ^ kSalt);
  // A crowd with one or two other features finds the defects between them.
  const double share = kind == 7 ? kShareInCrowd : kShare;
  const auto add = [&]<class F>(const char* name, bool wanted, std::type_identity<F>) {
    if (only.empty() && !wanted) return false;
    Random own = random.fork();
    const bool drawn = only.empty() ? random.chance(share) : only.contains(name);
    if (drawn) features.push_back(std::make_unique<F>(world, std::move(own)));
    return drawn;
  };
  add("slots", small, std::type_identity<SlotsFeature>());
  add("holds", small, std::type_identity<HoldsFeature>());
  add("groups", small, std::type_identity<GroupsFeature>());
  add("allowances", small, std::type_identity<AllowancesFeature>());
  // In the order in which the default configuration runs their Reserve.
  add("cpus", machines, std::type_identity<CpusFeature>());
  const bool devices = add("devices", machines, std::type_identity<DevicesFeature>());
  const bool shared = add("shared-gpus", devices, std::type_identity<SharedGpusFeature>());
  add("reservations", jobs, std::type_identity<ReservationsFeature>());
  add("gangs", jobs, std::type_identity<GangsFeature>());
  add("quotas", jobs, std::type_identity<QuotasFeature>());
  add("migrations", jobs, std::type_identity<MigrationsFeature>());
  // Of each kind some, but not beside shared GPUs, which have their own drivers and claims.
  Random claims(seed ^ kClaimsSalt);
  if (only.empty() ? kind != 2 && !shared && claims.chance(kShareWithClaims)
                   : only.contains("claims"))
    features.push_back(std::make_unique<ClaimsFeature>(world, claims.fork()));
  Random packing(seed ^ kPackingSalt);
  if (only.empty() ? devices && packing.chance(kShareOfPacking) : only.contains("packing"))
    features.push_back(std::make_unique<PackingFeature>(world, packing.fork()));
  // Last, so that it decides what pods request.
  if (only.empty() ? crowd : only.contains("crowds"))
    features.push_back(std::make_unique<CrowdsFeature>(world, random.fork()));
  return features;
}

void Feature::configure(scheduler::ProfileConfig& profile) const {
  for (const std::string& name : plugins())
    profile.plugins["multiPoint"].enabled.push_back({name, 0});
}

void Feature::enableAsShipped(scheduler::ProfileConfig& profile, const std::string& plugin) {
  profile.plugins["multiPoint"].enabled.push_back({plugin, 0});
  addToPostFilter(profile, plugin);
}

void Feature::addToPostFilter(scheduler::ProfileConfig& profile, const std::string& plugin) {
  scheduler::PluginSet& postFilter = profile.plugins["postFilter"];
  if (postFilter.enabled.empty()) {
    postFilter.disabled = {"*"};
    postFilter.enabled = {{std::string(DecisionChecker::kName), 0},
                          {std::string(DecisionChecker::kPreemption), 0}};
  }
  postFilter.enabled.insert(postFilter.enabled.end() - 1, {plugin, 0});
}

void Feature::define(const api::ResourceType& type, Status status) {
  constexpr api::ResourceType kDefinition{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                          "CustomResourceDefinition", false};
  const json::object anything{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  const auto text = [](std::string_view from) { return json::string(from); };
  json::object subresources;
  if (status == Status::Apart) subresources["status"] = json::object{};
  create(kDefinition, "",
         {{"metadata",
           {{"name", fmt::format("{}.{}", type.plural, type.group)},
            {"annotations", {{"api-approved.kubernetes.io", "unapproved, as the schema is"}}}}},
          {"spec",
           {{"group", text(type.group)},
            {"scope", type.namespaced ? "Namespaced" : "Cluster"},
            {"names", {{"plural", text(type.plural)}, {"kind", text(type.kind)}}},
            {"versions", json::array{{{"name", text(type.version)},
                                      {"served", true},
                                      {"storage", true},
                                      {"subresources", subresources},
                                      {"schema", {{"openAPIV3Schema", anything}}}}}}}}});
}

}  // namespace koord::simulation
