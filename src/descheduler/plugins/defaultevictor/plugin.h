#pragma once

// DefaultEvictor (evict, filter) of the Kubernetes descheduler: evicts by the Eviction API, at once
// and without a job.

#include "descheduler/framework/registry.h"
#include "descheduler/plugins/defaultevictor/args.h"

namespace koord::api {
struct PersistentVolumeClaim;
struct PodDisruptionBudget;
}  // namespace koord::api

namespace koord::descheduler {

class DefaultEvictor final : public Plugin, public EvictPlugin, public FilterPlugin {
 public:
  static constexpr std::string_view kName = "DefaultEvictor";
  static PluginKind kind();

  DefaultEvictor(Handle& handle, DefaultEvictorArgs args);

  std::string_view name() const override { return kName; }
  Result<> start() override;
  bool filter(const Pod& pod) override;
  bool preEvictionFilter(const Pod& pod) override;
  Task<Result<Evicted>> evict(PodPtr pod, EvictOptions options) override;

  // Why the pod must stay; "" if it may be evicted.
  std::string_view refusal(const Pod& pod) const;

 private:
  std::string_view protection(const Pod& pod) const;
  bool usesProtectedClaim(const Pod& pod) const;
  bool hasBudget(const Pod& pod) const;
  bool tooFewReplicas(const Pod& pod) const;
  bool isTooYoung(const Pod& pod) const;

  Handle& handle_;
  DefaultEvictorArgs args_;
  std::optional<std::int32_t> threshold_;
  kube::Informer<api::PersistentVolumeClaim>* claims_ = nullptr;
  kube::Informer<api::PodDisruptionBudget>* budgets_ = nullptr;
};

// The priority of a threshold. Fails if the class does not exist or is a system class.
Result<std::optional<std::int32_t>> resolveThreshold(Stores& stores,
                                                     std::optional<std::int32_t> value,
                                                     const std::string& name);

}  // namespace koord::descheduler
