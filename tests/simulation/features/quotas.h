#pragma once

// Elastic quotas (plugins/elasticquota): a small tree of quotas that are added, changed and removed
// while pods name them. Invariants: no pod is admitted beyond what its quota is entitled to, as far
// as the scheduler knew; when all is quiet, the status of quotas is the sum over the pods.

#include <set>

#include "simulation/feature.h"
#include "simulation/features/plain_quotas.h"

namespace koord::simulation {

class QuotasFeature final : public Feature {
 public:
  QuotasFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry&) override {}
  std::vector<std::string> plugins() const override { return {"ElasticQuota"}; }
  void configure(scheduler::ProfileConfig& profile) const override;
  void begin() override;
  void start() override;
  void shape(scheduler::testing::PodBuilder& pod) override;
  void act() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  void departing(const api::Pod& preemptor, std::span<const PodObject> victims) override;
  bool mayEvict(const api::Pod& pod) const override;
  void chosen(scheduler::Handle& handle, const api::Pod& pod, const Model& before,
              Choice& choice) override;
  void bound(const api::Pod& pod, const Choice& choice) override;
  std::string differences(scheduler::Handle& handle, const Model& model) override;
  SteadyTime rulesChanged(const std::string& /*node*/) const override { return changed_; }

 private:
  using Quota = api::ElasticQuota;
  // What a quota was entitled to when a process chose a node for a pod of it.
  struct Known {
    SteadyTime time{};
    std::map<std::string, std::optional<std::int64_t>> limits;  // by resource
  };

  std::shared_ptr<PlainQuotas> plainOf(scheduler::Handle& handle, const std::string& without,
                                       const Model& model) const;
  std::map<std::string, PlainQuotas::Object> objects() const;  // from the store

  kube::Informer<Quota> quotas_;
  std::set<std::string> alongside_;  // uids of pods that leave with pods of the preemptor's quota
  SteadyTime changed_ = SteadyTime::min();  // when users last changed them
  std::map<std::pair<std::string, std::string>, std::vector<Known>> known_;  // by process and quota
};

}  // namespace koord::simulation
