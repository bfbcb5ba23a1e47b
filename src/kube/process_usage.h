#pragma once

// The resource usage of this process, from /proc/self.

namespace koord::kube {

struct ProcessUsage {
  double cpuSeconds = 0;
  double residentBytes = 0;
  double virtualBytes = 0;
  double maxVirtualBytes = -1;  // -1 = no limit
  double openFiles = 0;
  double maxFiles = 0;
  double threads = 0;
  double receivedBytes = 0;  // of the network namespace, over IP
  double sentBytes = 0;
  double startTime = 0;  // seconds since the Unix epoch
};

// Values that cannot be read stay 0.
ProcessUsage processUsage();

}  // namespace koord::kube
