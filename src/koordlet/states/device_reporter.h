#pragma once

// Keeps this node's Device object in sync with the detected GPUs and RDMA cards (gates Accelerators
// and RDMADevices). Writes only changes; labels and kinds of devices of other writers stay.

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
    std::string xpuFolder = "";  // with files about other accelerators (xpu_files.h); "": none
    bool xpuOnly = false;        // true if NVIDIA GPUs are ignored
  };
  DeviceReporter(kube::Api& api, Executor& executor, const States& states, Options options,
                 Random random);
  void start();

 private:
  Task<void> loop();
  Task<void> report();
  DeviceInventory take();
  void logProblems(const std::vector<std::string>& problems);

  kube::Api& api_;
  Executor& executor_;
  const States& states_;
  Options options_;
  kube::Informer<api::Device> informer_;
  std::set<std::string> loggedProblems_;  // logged problems of files
  std::optional<SteadyTime> xpusSeenAt_;  // when the files last listed accelerators
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
