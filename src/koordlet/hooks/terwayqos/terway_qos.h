#pragma once

// Network QoS by terway (gate TerwayQoS, NodeSLO policy "terway-qos"): terway's agent shapes the
// traffic. koordlet writes two files for it: the bandwidth of the node and of each class, and the
// class of each pod. Under another policy koordlet removes the files.

#include "koordlet/hooks/hook.h"
#include "koordlet/states/bandwidth.h"

namespace koord::koordlet {

// global_bps_config: lines "key value" in bytes per second.
std::string terwayNodeText(const NodeBandwidth& bandwidth);
// An entry of pod.json.
json::object terwayPod(const PodView& pod, std::int64_t total);

class TerwayQosHook final : public Hook {
 public:
  // `directory`: terway's directory, on the host /var/lib/terway/qos.
  TerwayQosHook(std::string directory, ResourceExecutor& executor);
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView&, HookUpdates&) override {}

 private:
  void write(const std::string& file, const std::string& text);

  std::string directory_;
  ResourceExecutor& executor_;
  std::string problem_;  // logged once
};

}  // namespace koord::koordlet
