#include "koordlet/system/perf_counters.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace koord::koordlet {
namespace {

int openEvent(std::uint64_t config, int cgroup, int cpu, int leader) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = config;
  attributes.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, cgroup, cpu, leader,
                                    PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC));
}

// One group per CPU, led by the cycles: both are counted at the same time or not at all.
class CgroupCounters final : public PerfCounters {
 public:
  void add(Fd cycles, Fd instructions) {
    leaders_.push_back(std::move(cycles));
    members_.push_back(std::move(instructions));
  }
  Result<CpuWork> read() override {
    CpuWork sum;
    for (const auto& leader : leaders_) {
      // Number of events, time enabled, time running, then a value for each event.
      std::array<std::uint64_t, 5> values{};
      const ssize_t size = ::read(leader.get(), values.data(), sizeof values);
      if (size != static_cast<ssize_t>(sizeof values))
        return fail(errnoError("read a performance counter", size < 0 ? errno : EIO));
      if (values[2] == 0) continue;  // nothing of it ran on that CPU
      const double scale = static_cast<double>(values[1]) / static_cast<double>(values[2]);
      sum.cycles += static_cast<double>(values[3]) * scale;
      sum.instructions += static_cast<double>(values[4]) * scale;
    }
    return sum;
  }

 private:
  std::vector<Fd> leaders_, members_;
};

}  // namespace

Result<std::unique_ptr<PerfCounters>> openPerfCounters(const std::string& cgroupDir,
                                                       const CpuSet& cpus) {
  const Fd cgroup(::open(cgroupDir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (cgroup.get() < 0) return fail(errnoError("open " + cgroupDir, errno));
  auto counters = std::make_unique<CgroupCounters>();
  for (const int cpu : cpus.toVector()) {
    Fd cycles(openEvent(PERF_COUNT_HW_CPU_CYCLES, cgroup.get(), cpu, -1));
    if (cycles.get() < 0) return fail(errnoError("count cycles of " + cgroupDir, errno));
    Fd instructions(openEvent(PERF_COUNT_HW_INSTRUCTIONS, cgroup.get(), cpu, cycles.get()));
    if (instructions.get() < 0)
      return fail(errnoError("count instructions of " + cgroupDir, errno));
    counters->add(std::move(cycles), std::move(instructions));
  }
  return counters;
}

}  // namespace koord::koordlet
