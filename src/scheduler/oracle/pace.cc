#include "scheduler/oracle/pace.h"

#include <sys/resource.h>

namespace koord::scheduler::oracle {

namespace {

constexpr double kMaxShare = 0.04;  // of a working thread's time
constexpr double kIdle = 0.25;      // a thread that uses less of a CPU waits for work
constexpr Duration kMaxPause = std::chrono::seconds(2);
constexpr Duration kFault{2'100};  // what a fault after a fork costs, measured (bench_whatif)

Duration durationOf(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

ThreadWork workOfThisThread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {durationOf(usage.ru_utime) + durationOf(usage.ru_stime),
          static_cast<std::uint64_t>(usage.ru_minflt)};
}

bool Pace::allows(SteadyTime now, const ThreadWork& work) const {
  if (!last_) return true;
  if (now - last_->at >= kMaxPause) return true;
  const auto since = static_cast<double>((now - last_->at).count());
  const auto worked = static_cast<double>((work.cpu - last_->work.cpu).count());
  if (worked < kIdle * since) return true;
  const auto faults = static_cast<double>(work.faults - last_->work.faults);
  const double cost =
      static_cast<double>(last_->took.count()) + faults * static_cast<double>(kFault.count());
  return cost <= kMaxShare * since;
}

void Pace::forked(SteadyTime before, Duration took, const ThreadWork& work) {
  last_ = {before, took, work};
}

}  // namespace koord::scheduler::oracle
