#pragma once

// The latency of operations on quotas: metric scheduler_elastic_quota_process_latency.

#include <array>
#include <string>

#include "base/executor.h"

namespace koord::scheduler {

enum class QuotaOperation : std::uint8_t {
  UpdateGroupDeltaRequestNoLock,
  UpdateGroupDeltaUsedNoLock,
  RefreshRuntime,
  UpdateQuota,
  DeleteQuota,
  ResetQuotaNoLock,
  OnPodAdd,
  OnPodUpdate,
  OnPodDelete,
  ReservePod,
  UnreservePod,
};

class Latencies {
 public:
  explicit Latencies(const Clock& clock) : clock_(clock) {}

  // Measures from its construction to the end of the scope.
  class Timer {
   public:
    Timer(Latencies& latencies, QuotaOperation operation)
        : latencies_(latencies), operation_(operation), since_(latencies.clock_.steadyNow()) {}
    ~Timer() { latencies_.observe(operation_, latencies_.clock_.steadyNow() - since_); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    Latencies& latencies_;
    QuotaOperation operation_;
    SteadyTime since_;
  };

  void observe(QuotaOperation operation, Duration took);
  void statusWritten(Duration took);
  // The metric in Prometheus exposition format.
  std::string text() const;

 private:
  // Bucket bounds: first * 2^n seconds.
  template <std::size_t N>
  struct Histogram {
    std::array<std::uint64_t, N + 1> counts{};
    double sum = 0;
    void observe(double seconds, double first);
  };
  static constexpr std::size_t kOperations = 11;

  const Clock& clock_;
  std::array<Histogram<24>, kOperations> operations_;
  Histogram<15> status_;
};

}  // namespace koord::scheduler
