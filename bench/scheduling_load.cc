#include "scheduling_load.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace koord::bench {

std::string nodeBody(int n) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","labels":{{"kubernetes.io/hostname":"node-{0}","topology.kubernetes.io/zone":"zone-{1}"}}}},
      "status":{{"capacity":{{"cpu":"32","memory":"128Gi","pods":"110"}},"allocatable":{{"cpu":"32","memory":"128Gi","pods":"110"}},
      "conditions":[{{"type":"Ready","status":"True"}}]}}}})",
      n, n % 3);
}

std::string podBody(const std::string& name, const std::string& scheduler,
                    const std::string& node) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{{}"schedulerName":"{}",
      "containers":[{{"name":"pause","image":"registry.k8s.io/pause:3.9","ports":[{{"containerPort":80}}],
      "resources":{{"requests":{{"cpu":"100m","memory":"500Mi"}},"limits":{{"cpu":"100m","memory":"500Mi"}}}}}}]}}}})",
      name, node.empty() ? "" : fmt::format("\"nodeName\":\"{}\",", node), scheduler);
}

ProcessUsage usageOf(pid_t pid) {
  ProcessUsage usage;
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text{std::istreambuf_iterator<char>(stat), {}};
  if (text.empty()) return usage;
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  usage.cpuSeconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) usage.rssMib = std::stod(line.substr(6)) / 1024;
    if (line.starts_with("VmHWM:")) usage.peakMib = std::stod(line.substr(6)) / 1024;
  }
  return usage;
}

}  // namespace koord::bench
