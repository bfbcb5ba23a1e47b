#pragma once

// ScaleDownBinPack (balance): says which pods of shrinking workloads should go first, so that nodes become empty.
//
//   evacuation score of a node = what its other pods ask for / what its eligible pods ask for, weighted over the
//                                resources as fractions of the node
//
// Nodes that few other pods keep come first, their pods are ranked large ones first, and the rank is written to
// the pods as their deletion cost (CalculateOnly), or the first maxPodsToEvict are evicted (EvictDirectly). Pods that
// are selected and may not go get the highest cost. Costs that this plugin wrote are taken off pods that it is
// not about any more; without podSelectors pods that may not go are left alone.

#include <map>

#include "api/selector.h"
#include "descheduler/framework/registry.h"
#include "descheduler/rules/namespaces.h"
#include "descheduler/rules/pod_selectors.h"

namespace koord::descheduler {

class ScaleDownBinPack final : public Plugin, public BalancePlugin {
 public:
  static constexpr std::string_view kName = "ScaleDownBinPack";
  static PluginKind kind();

  struct Args {
    bool paused = false;
    bool evicts = false;  // strategy EvictDirectly
    std::int64_t most = 0;
    Namespaces namespaces;
    std::optional<api::Selector> nodes;
    PodSelectors pods;
    std::vector<std::string> resources{"cpu", "memory"};
    std::map<std::string, double, std::less<>> weights;
    json::object effective;
    static Args read(Fields& args);
  };
  ScaleDownBinPack(Handle& handle, Args args) : handle_(handle), args_(std::move(args)) {}

  std::string_view name() const override { return kName; }
  Task<Result<>> balance(const Nodes& nodes) override;

 private:
  struct Ranked {
    const NodeView* node = nullptr;
    double score = 0;
    std::vector<PodPtr> eligible;  // in the order of their ranks
    std::vector<PodPtr> skipped;
  };
  Ranked split(const NodeView& node);
  double share(const NodeView& node, const Pod& pod) const;
  Task<bool> writeCost(PodPtr pod, std::string cost);
  Task<Result<>> writeCosts(std::vector<Ranked> ranked, const Nodes& nodes);
  Task<void> evict(std::vector<Ranked> ranked);

  Handle& handle_;
  Args args_;
};

}  // namespace koord::descheduler
