#pragma once

// The plugins that evict pods that violate the rules of their node: RemovePodsViolatingNodeTaints,
// RemovePodsViolatingNodeAffinity and RemovePodsViolatingInterPodAntiAffinity.

#include "descheduler/plugins/kubernetes/plugin_base.h"

namespace koord::descheduler {

class NodeTaints final : public PluginBase, public DeschedulePlugin {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingNodeTaints";
  struct Args {
    PodScope scope;
    bool preferNoSchedule = false;
    std::vector<std::string> excluded;  // key or key=value
    std::vector<std::string> included;
    json::object effective;
    static Args read(Fields& args);
  };
  NodeTaints(Handle& handle, Args args) : PluginBase(kName, handle), args_(std::move(args)) {}
  Task<Result<>> deschedule(const Nodes& nodes) override;

 private:
  bool counts(const api::Taint& taint) const;
  Args args_;
};

class NodeAffinity final : public PluginBase, public DeschedulePlugin {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingNodeAffinity";
  struct Args {
    PodScope scope;
    std::vector<std::string> types;
    json::object effective;
    static Args read(Fields& args);
  };
  NodeAffinity(Handle& handle, Args args) : PluginBase(kName, handle), args_(std::move(args)) {}
  Task<Result<>> deschedule(const Nodes& nodes) override;

 private:
  bool violatesRequired(const Pod& pod, const NodeView& node, const Nodes& nodes) const;
  bool violatesPreferred(const Pod& pod, const NodeView& node, const Nodes& nodes) const;
  Args args_;
};

class InterPodAntiAffinity final : public PluginBase, public DeschedulePlugin {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingInterPodAntiAffinity";
  struct Args {
    PodScope scope;
    json::object effective;
    static Args read(Fields& args);
  };
  InterPodAntiAffinity(Handle& handle, Args args)
      : PluginBase(kName, handle), args_(std::move(args)) {}
  Task<Result<>> deschedule(const Nodes& nodes) override;

 private:
  class Present;
  Args args_;
};

}  // namespace koord::descheduler
