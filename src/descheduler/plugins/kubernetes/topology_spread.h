#pragma once

// RemovePodsViolatingTopologySpreadConstraint (balance): if the numbers of a constraint's pods in
// the fullest and the emptiest topology domain differ by more than maxSkew, evicts pods from the
// full domains.
//
// Domains are sorted by size; i is the smallest, j the largest. While i < j: no pod is moved from a
// domain j at or below the average, nor if skew = size(j) - size(i) is within maxSkew. Otherwise
//
//   move = min(ceil(size(j) - avg), ceil(avg - size(i)), ceil((skew - maxSkew) / 2))
//
// pods are evicted from j and counted in i. In a domain, evictable pods that are not bound to nodes
// by selector or affinity are evicted first, and of these the least important. With
// topologyBalanceNodeFit a pod is evicted only if it fits a node of a domain below the average.
// (Upstream evicts the most important first, and counts pods as moved that fit nowhere.)

#include "descheduler/plugins/kubernetes/plugin_base.h"

namespace koord::descheduler {

class TopologySpread final : public PluginBase, public BalancePlugin {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingTopologySpreadConstraint";
  struct Args {
    PodScope scope;
    std::vector<std::string> constraints{"DoNotSchedule"};
    bool nodeFit = true;
    json::object effective;
    static Args read(Fields& args);
  };
  TopologySpread(Handle& handle, Args args) : PluginBase(kName, handle), args_(std::move(args)) {}
  Task<Result<>> balance(const Nodes& nodes) override;

 private:
  struct Constraint;
  struct Domain;
  class Cycle;
  struct Placed {
    PodPtr pod;
    std::uint32_t node = 0;  // its position
  };
  std::vector<Constraint> constraintsOf(const std::vector<Placed>& pods) const;
  void balanceDomains(const Constraint& constraint, std::vector<Domain> domains, const Cycle& cycle,
                      std::vector<PodPtr>& leaving) const;
  // Takes at most `count` evictable pods from the back.
  std::size_t take(Domain& from, std::size_t count, const Nodes& below,
                   std::vector<PodPtr>& leaving) const;
  Args args_;
};

}  // namespace koord::descheduler
