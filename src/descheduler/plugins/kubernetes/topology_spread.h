#pragma once

// RemovePodsViolatingTopologySpreadConstraint (balance): where the pods that a constraint counts are spread over
// its topology domains with more than maxSkew between the fullest and the emptiest, pods leave the full ones.
//
// Domains are sorted by size; i is the smallest, j the largest. While i < j: a domain j at or below the average
// has nothing to give; with skew = size(j) - size(i) within maxSkew nothing has to move between the two. Otherwise
//
//   move = min(ceil(size(j) - avg), ceil(avg - size(i)), ceil((skew - maxSkew) / 2))
//
// pods leave j, counted as if they landed in i. Of a domain those go first that may be evicted, that are not tied to
// nodes by selector or affinity, and then the least important ones. With topologyBalanceNodeFit only pods go that
// fit a node of a domain below the average. (Upstream evicts the most important first, and counts pods as moved
// that fit nowhere.)

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
  // Takes at most `count` from the back, those that can leave.
  std::size_t take(Domain& from, std::size_t count, const Nodes& below,
                   std::vector<PodPtr>& leaving) const;
  Args args_;
};

}  // namespace koord::descheduler
