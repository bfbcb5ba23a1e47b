#pragma once

// Keeps this node's Device object in step with the GPUs and RDMA cards that are found (gates
// Accelerators and RDMADevices). Written only when something changed; labels and kinds of devices
// of others stay.

#include <set>

#include "koordlet/states/device_report.h"
#include "koordlet/states/states.h"
#include "kube/client.h"
#include "kube/informer.h"

namespace koord::koordlet {

class DeviceReporter {
 public:
  struct Options {
    std::string nodeName;
    HostDirs dirs;
    Duration interval = std::chrono::seconds(3);
    bool gpus = false;
    bool rdma = false;
    std::string xpuFolder = "";  // of files about other accelerators; "": there are none
    bool xpuOnly = false;        // NVIDIA's are not looked at
  };
  DeviceReporter(kube::Api& api, Executor& executor, const States& states, Options options,
                 Random random);
  void start();

 private:
  Task<void> loop();
  Task<void> report();
  DeviceInventory take();
  void tell(const std::vector<std::string>& problems);

  kube::Api& api_;
  Executor& executor_;
  const States& states_;
  Options options_;
  kube::Informer<api::Device> informer_;
  std::set<std::string> told_;            // problems of files
  std::optional<SteadyTime> xpusSeenAt_;  // when files told of accelerators for the last time
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
