#pragma once

// RemoveDuplicates (balance): evicts copies of a pod (same owners, same images) that share a node,
// if there are nodes to spread them over.
//
// On each node the first of equal pods is the original. With o copies in total and f nodes that
// they may run on, no node needs more than a = ceil(o / f) of them: if a node has more, those after
// the a-th are evicted. With fewer than two nodes nothing is evicted. Only evictable pods count.

#include "descheduler/plugins/kubernetes/plugin_base.h"

namespace koord::descheduler {

class RemoveDuplicates final : public PluginBase, public BalancePlugin {
 public:
  static constexpr std::string_view kName = "RemoveDuplicates";
  struct Args {
    PodScope scope;
    std::vector<std::string> excludeKinds;
    json::object effective;
    static Args read(Fields& args);
  };
  RemoveDuplicates(Handle& handle, Args args) : PluginBase(kName, handle), args_(std::move(args)) {}
  Task<Result<>> balance(const Nodes& nodes) override;

 private:
  struct Group {
    std::size_t copies = 0;
    std::vector<std::vector<PodPtr>> byNode;  // copies that share a node, nodes by name
    std::vector<PodPtr> pods;                 // one pod for each way to choose nodes
  };
  bool counts(const NodePods::Entry& entry);
  std::size_t feasibleNodes(const Group& group, const Nodes& nodes) const;
  Args args_;
};

}  // namespace koord::descheduler
