#include "koordlet/agent/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "koordlet/system/cgroup_file.h"
#include "koordlet/system/cpu_manager_state.h"
#include "koordlet/system/perf_counters.h"
#include "koordlet/system/pressure.h"
#include "koordlet/system/resctrl.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

class Report {
 public:
  void passed(std::string text) { findings_.push_back({true, std::move(text)}); }
  void off(std::string text) { findings_.push_back({false, std::move(text)}); }
  // A feature that a gate switches on and that the host must support.
  void needs(const AgentOptions& options, std::string_view gate, const Result<>& has) {
    if (!options.gates.enabled(std::string(gate))) return;
    if (has) {
      passed(fmt::format("{} works on this host", gate));
    } else {
      off(fmt::format("{} is enabled but has no effect: {}", gate, has.error().message));
    }
  }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  std::vector<Finding> findings_;
};

Result<> hasFile(const Host& host, CgroupFile file) {
  const auto path = cgroupFilePath(host.layout, file, host.kubepods());
  if (!path) return fail(path.error());
  if (pathExists(*path)) return {};
  return fail(ErrorCode::NotFound, *path + " does not exist");
}

Result<> hasCounters(const Host& host) {
  const auto counters = openPerfCounters(host.layout.dir(Subsystem::PerfEvent, ""), {0});
  if (!counters) return fail(counters.error());
  return {};
}

Result<> hasPressure(const Host& host) {
  const auto pressure = readPressure(host.layout, host.kubepods());
  if (!pressure) return fail(pressure.error());
  return {};
}

void examineHost(const Host& host, Report& report) {
  report.passed(host.layout.describe());
  if (host.driverSource.empty()) {
    report.off("unknown cgroup driver: waiting for kubelet's first cgroup");
  } else {
    report.passed(fmt::format("cgroup driver {}: {}", nameOf(host.driver), host.driverSource));
  }
  if (host.topology) {
    report.passed(
        fmt::format("{} CPUs: {}", host.topology->count(), host.topology->all().toString()));
  } else {
    report.off("cannot read the CPUs: CPU suppression by cpuset is off");
  }
  for (const auto subsystem :
       {Subsystem::Cpu, Subsystem::Cpuacct, Subsystem::Cpuset, Subsystem::Memory})
    if (!host.layout.has(subsystem))
      report.off(fmt::format("cgroup controller {} is missing: features that need it are off",
                             nameOf(subsystem)));
  for (const auto& capability : probeCapabilities(host))
    report.passed(fmt::format("{}: {} ({})", capability.name, capability.present ? "found" : "off",
                              capability.detail));
  const auto kubelet = readCpuManagerState(host.dirs);
  if (kubelet && kubelet->isStatic())
    report.passed(
        fmt::format("kubelet's CPU manager is static and {} pods have exclusive CPUs: BE pods get "
                    "none of them; koordlet narrows only cpusets of containers",
                    kubelet->owned.size()));
}

}  // namespace

std::vector<Finding> examine(const Host& host, const AgentOptions& options) {
  Report report;
  examineHost(host, report);
  report.needs(options, "RdtResctrl", resctrl::cpuSupport(host.dirs));
  report.needs(options, "Resctrl", resctrl::cpuSupport(host.dirs));
  report.needs(options, "CgroupReconcile", hasFile(host, CgroupFile::MemoryMin));
  report.needs(options, "CPICollector", hasCounters(host));
  report.needs(options, "PSICollector", hasPressure(host));
  for (const auto* gate : {"InterferenceCPUSuppress", "InterferenceEvict"})
    if (options.gates.enabled(gate) && !options.gates.enabled("CPICollector") &&
        !options.gates.enabled("PSICollector"))
      report.off(fmt::format(
          "{} is enabled but has no effect: neither CPICollector nor PSICollector is on", gate));
  if (options.collectInterval < 1s)
    report.off("collect-res-used-interval is below 1s: no usage samples, no QoS strategy runs");
  if (const auto missing = options.gates.missingRequested(); !missing.empty())
    report.off(fmt::format("not in this version, so off: {}", fmt::join(missing, ", ")));
  const auto runtimes = findRuntimes(host.dirs, options.runtimes);
  for (const auto& runtime : runtimes)
    report.passed(fmt::format("container runtime {}: {}", runtime.scheme, runtime.socket));
  if (!options.onlyEvictByApi && runtimes.empty())
    report.off(
        fmt::format("no socket of containerd, CRI-O or pouch below {}: containers cannot be "
                    "killed, pods are evicted through the API",
                    host.dirs.varRunRoot));
  return report.take();
}

std::string doctorText(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& finding : findings)
    text += fmt::format("{:4}{}\n", finding.passed ? "ok" : "off", finding.text);
  const auto off = std::ranges::count(findings, false, &Finding::passed);
  text += off == 0 ? "All enabled features work on this host.\n"
                   : fmt::format("{} enabled feature{} {} off on this host.\n", off,
                                 off == 1 ? "" : "s", off == 1 ? "is" : "are");
  return text;
}

}  // namespace koord::koordlet
