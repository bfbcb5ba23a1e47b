#pragma once

// Network QoS by terway (gate TerwayQoS, NodeSLO policy "terway-qos"): terway's own agent shapes the
// traffic; we tell it in two files what the node has, what each class gets, and which pod is of which
// class. Under another policy the files go.

#include "koordlet/hooks/hook.h"
#include "koordlet/states/bandwidth.h"

namespace koord::koordlet {

// global_bps_config: lines "key value" in bytes per second.
std::string terwayNodeText(const NodeBandwidth& bandwidth);
// An entry of pod.json.
json::object terwayPod(const PodView& pod, std::int64_t total);

class TerwayQosHook final : public Hook {
 public:
  // `directory` is terway's, of which the host's name is /var/lib/terway/qos.
  TerwayQosHook(std::string directory, ResourceExecutor& executor);
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView&, HookUpdates&) override {}

 private:
  void write(const std::string& file, const std::string& text);

  std::string directory_;
  ResourceExecutor& executor_;
  std::string problem_;  // told once
};

}  // namespace koord::koordlet
