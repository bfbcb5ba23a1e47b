#pragma once

// ScaleDownBinPack (balance): ranks the pods of shrinking workloads for deletion, so that nodes
// become empty.
//
//   evacuation score of a node = requests of its other pods / requests of its eligible pods
//                                (weighted over the resources, as fractions of the node)
//
// Nodes with the lowest score come first, and on each node large pods. The rank is written to the
// pods as their deletion cost (CalculateOnly), or the first maxPodsToEvict are evicted
// (EvictDirectly). Selected pods that must not be evicted get the highest cost; without
// podSelectors they are unchanged. The plugin removes its costs from pods that stop
// being selected.

#include <map>

#include "descheduler/framework/plugin_kind.h"
#include "descheduler/rules/arguments.h"

namespace koord::descheduler {

class ScaleDownBinPack final : public Plugin, public BalancePlugin {
 public:
  static constexpr std::string_view kName = "ScaleDownBinPack";
  static PluginKind kind();

  struct Args {
    bool paused = false;
    bool evicts = false;  // strategy EvictDirectly
    std::int64_t most = 0;
    EvictionScope scope;
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
