#pragma once

// A running profile: its plugins, and the handle that they get.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "descheduler/framework/eviction_limiter.h"
#include "descheduler/framework/handle.h"
#include "descheduler/framework/journal.h"
#include "descheduler/framework/metrics.h"
#include "descheduler/framework/prepare.h"

namespace koord::descheduler {

// The common parts of all profiles. Must outlive them.
struct Shared {
  kube::Api& api;
  Executor& executor;
  Random random;
  Stores& stores;
  Metrics& metrics;
  EvictionLimiter& limiter;
  Journal& journal;
  net::HttpTransport* http = nullptr;
  std::function<bool(std::string_view)> gate;
  const PreparedConfiguration& prepared;
  std::uint64_t cycle = 0;
  std::set<std::string, std::less<>> evicted;  // uids, in this cycle; not yet in snapshots
  std::map<std::string, SteadyTime, std::less<>> helped;  // uids of waiting pods, and until when
  std::set<std::string> drainsToKeep;                     // names of nodes, in this cycle
  std::map<std::string, std::shared_ptr<Plugin>, std::less<>> plugins;  // of shared kinds
};

class Profile final : public Handle, private Evictor {
 public:
  Profile(Shared& shared, const PreparedProfile& prepared, const Registry& registry);

  // The profile's own plugins and, in the first profile that has them, the shared ones.
  const std::vector<std::shared_ptr<Plugin>>& plugins() const { return plugins_; }

  // Runs the plugins of a point in order; if one fails, the others still run. The error names all
  // that failed.
  Task<Result<>> deschedule();
  Task<Result<>> balance();

  kube::Api& api() override { return shared_.api; }
  Executor& executor() override { return shared_.executor; }
  Random& random() override { return shared_.random; }
  Stores& stores() override { return shared_.stores; }
  kube::EventRecorder& events() override { return events_; }
  Metrics& metrics() override { return shared_.metrics; }
  Evictor& evictor() override { return *this; }
  const std::string& profile() const override { return name_; }
  bool dryRun() const override { return shared_.prepared.configuration.dryRun; }
  Duration interval() const override { return shared_.prepared.configuration.interval; }
  bool gate(std::string_view feature) const override { return shared_.gate(feature); }
  void keepDraining(const std::string& node) override { shared_.drainsToKeep.insert(node); }
  net::HttpTransport* http() override { return shared_.http; }
  Nodes nodes() const override;

 private:
  bool filter(const Pod& pod) override;
  bool preEvictionFilter(const Pod& pod) override;
  Task<bool> evict(PodPtr pod, EvictOptions options) override;
  bool evicting(const Pod& pod) const override { return evictPlugin_->evicting(pod); }
  bool movesPodsOf(std::string_view plugin) const override {
    return evictPlugin_->movesPodsOf(plugin);
  }
  bool helped(const Pod& pod) const override { return shared_.helped.contains(pod.metadata.uid); }
  bool nodeExhausted(std::string_view node) const override;

  template <class Point>
  struct Named {
    std::string name;
    Point* plugin;
  };
  std::shared_ptr<Plugin> make(const std::string& name, const Registry& registry,
                               const PreparedProfile& prepared);
  PodPtr presentPod(const PodPtr& pod, const EvictOptions& options);
  bool mayHelp(const Pod& beneficiary) const;
  bool limitsAllow(const std::vector<PodPtr>& pods, const EvictOptions& options);
  void count(const Pod& pod);
  void note(const Pod& pod, const EvictOptions& options, std::string outcome,
            const Evicted& evicted);

  Shared& shared_;
  std::string name_;
  api::Selector selector_;
  kube::EventRecorder events_;
  std::vector<std::shared_ptr<Plugin>> plugins_;
  std::map<std::string, std::shared_ptr<Plugin>, std::less<>> byName_;
  std::vector<Named<DeschedulePlugin>> deschedulePlugins_;
  std::vector<Named<BalancePlugin>> balancePlugins_;
  std::vector<FilterPlugin*> filters_;
  EvictPlugin* evictPlugin_ = nullptr;
  std::string running_;  // the plugin that is running
};

}  // namespace koord::descheduler
