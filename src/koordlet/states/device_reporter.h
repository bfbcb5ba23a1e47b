#pragma once

// Keeps this node's Device object in step with the GPUs and RDMA cards that are found (gates
// Accelerators and RDMADevices). Written only when something changed; labels and kinds of devices
// of others stay.

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
  };
  DeviceReporter(kube::Api& api, Executor& executor, const States& states, Options options,
                 Random random);
  void start();

 private:
  Task<void> loop();
  Task<void> report();
  DeviceInventory take() const;

  kube::Api& api_;
  Executor& executor_;
  const States& states_;
  Options options_;
  kube::Informer<api::Device> informer_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
