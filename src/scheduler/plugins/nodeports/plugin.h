#pragma once

// NodePorts: a host port that the pod requests must be free on the node: no pod there may have the
// same protocol and port on the same address or with either address 0.0.0.0.

#include "scheduler/framework/registry.h"

namespace koord::scheduler {

class NodePorts final : public Plugin,
                        public Signed,
                        public PreFilterPlugin,
                        public FilterPlugin,
                        public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodePorts";
  explicit NodePorts(Handle& handle);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  bool conflict(const HostPort& a, const HostPort& b) const;

  Cluster& cluster_;
  Symbol anyAddress_;
};

}  // namespace koord::scheduler
