#pragma once

// The shadow's counts and latencies, for /metrics and the report.

#include <map>
#include <memory>
#include <string>

#include "base/executor.h"
#include "scheduler/shadow/choice.h"

namespace koord::scheduler {

// Why a decision of the incumbent was not compared.
enum class Skip {
  Behind,           // the limit of time was reached (ShadowOptions::share)
  Late,             // the shadow saw it too long after it happened (ShadowOptions::lag)
  Extender,         // an HTTP extender would have to be asked
  Unseen,           // the pod was bound before the shadow saw it wait
  VictimsTerminate  // the incumbent waits for the victims of its preemption
};
inline constexpr Skip kSkips[] = {Skip::Behind, Skip::Late, Skip::Extender, Skip::Unseen,
                                  Skip::VictimsTerminate};
std::string_view nameOf(Skip skip);

class ShadowMetrics {
 public:
  ShadowMetrics();
  ~ShadowMetrics();

  void compared(Match match);
  void skipped(Skip skip);
  // From the pod's creation, as the shadow saw it, until the incumbent's binding.
  void incumbentTook(Duration took);
  void shadowTook(Duration took);
  // How late the last creation or binding of a pod arrived.
  void lags(Duration lag);

  std::uint64_t count(Match match) const;
  std::uint64_t count(Skip skip) const;
  struct Latency {
    std::uint64_t count = 0;
    double mean = 0, p50 = 0, p99 = 0;  // seconds; quantiles are the upper bounds of their buckets
  };
  Latency incumbentLatency() const;
  Latency shadowLatency() const;

  // Prometheus text. refusedWrites: by verb and resource.
  std::string text(const std::map<std::string, std::uint64_t>& refusedWrites) const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace koord::scheduler
