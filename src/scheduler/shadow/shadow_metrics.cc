#include "scheduler/shadow/shadow_metrics.h"

#include <cmath>

#include "net/prometheus.h"

namespace koord::scheduler {

namespace {

// From a microsecond to an hour.
constexpr double kShortest = 1e-6, kStep = 1.5;
constexpr int kBuckets = 55;

ShadowMetrics::Latency latencyOf(const prometheus::Histogram& histogram) {
  const auto data = histogram.Collect().histogram;
  ShadowMetrics::Latency latency{.count = data.sample_count};
  if (latency.count == 0) return latency;
  latency.mean = data.sample_sum / static_cast<double>(latency.count);
  const auto quantile = [&](double q) {
    const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(latency.count)));
    for (const auto& bucket : data.bucket)
      if (bucket.cumulative_count >= rank && std::isfinite(bucket.upper_bound))
        return bucket.upper_bound;
    return kShortest * std::pow(kStep, kBuckets - 1);
  };
  latency.p50 = quantile(0.5);
  latency.p99 = quantile(0.99);
  return latency;
}

std::uint64_t countOf(const prometheus::Counter& counter) {
  return static_cast<std::uint64_t>(counter.Value());
}

}  // namespace

std::string_view nameOf(Skip skip) {
  switch (skip) {
    case Skip::Behind:
      return "behind";
    case Skip::Late:
      return "late";
    case Skip::Extender:
      return "extender";
    case Skip::Unseen:
      return "unseen";
    case Skip::VictimsTerminate:
      break;
  }
  return "victimsTerminate";
}

struct ShadowMetrics::Families {
  prometheus::Registry registry;
  std::map<Match, prometheus::Counter*> matches;
  std::map<Skip, prometheus::Counter*> skips;
  prometheus::Gauge& lag =
      net::gaugeFamily(registry, "koord_shadow_lag_seconds",
                       "How long after it happened the last creation or binding of a pod arrived; "
                       "at most a second too long, because its time has whole seconds")
          .Add({});
  prometheus::Histogram& incumbent =
      net::histogramFamily(registry, "koord_shadow_incumbent_duration_seconds",
                           "From the creation of a pod until the incumbent bound it, as the shadow "
                           "saw both")
          .Add({}, net::exponentialBuckets(kShortest, kStep, kBuckets));
  prometheus::Histogram& shadow =
      net::histogramFamily(registry, "koord_shadow_decision_duration_seconds",
                           "Time that the shadow needed for a decision")
          .Add({}, net::exponentialBuckets(kShortest, kStep, kBuckets));
};

ShadowMetrics::ShadowMetrics() : families_(std::make_unique<Families>()) {
  auto& results = net::counterFamily(families_->registry, "koord_shadow_decisions_total",
                                     "Decisions of the incumbent that the shadow compared, by "
                                     "result");
  for (const Match match : kMatches)
    families_->matches[match] = &results.Add({{"result", std::string(nameOf(match))}});
  auto& skips = net::counterFamily(families_->registry, "koord_shadow_skipped_total",
                                   "Decisions of the incumbent that the shadow did not compare, by "
                                   "reason");
  for (const Skip skip : kSkips)
    families_->skips[skip] = &skips.Add({{"reason", std::string(nameOf(skip))}});
}

ShadowMetrics::~ShadowMetrics() = default;

void ShadowMetrics::compared(Match match) {
  families_->matches.at(match)->Increment();
}

void ShadowMetrics::skipped(Skip skip) {
  families_->skips.at(skip)->Increment();
}

void ShadowMetrics::incumbentTook(Duration took) {
  families_->incumbent.Observe(net::inSeconds(took));
}

void ShadowMetrics::shadowTook(Duration took) {
  families_->shadow.Observe(net::inSeconds(took));
}

void ShadowMetrics::lags(Duration lag) {
  families_->lag.Set(net::inSeconds(lag));
}

std::uint64_t ShadowMetrics::count(Match match) const {
  return countOf(*families_->matches.at(match));
}

std::uint64_t ShadowMetrics::count(Skip skip) const {
  return countOf(*families_->skips.at(skip));
}

ShadowMetrics::Latency ShadowMetrics::incumbentLatency() const {
  return latencyOf(families_->incumbent);
}

ShadowMetrics::Latency ShadowMetrics::shadowLatency() const {
  return latencyOf(families_->shadow);
}

std::string ShadowMetrics::text(const std::map<std::string, std::uint64_t>& refusedWrites) const {
  auto& refused = net::counterFamily(families_->registry, "koord_shadow_refused_writes_total",
                                     "Requests that would have written and were refused, by verb "
                                     "and resource");
  for (const auto& [what, times] : refusedWrites) {
    auto& counter = refused.Add({{"request", what}});
    counter.Increment(static_cast<double>(times) - counter.Value());
  }
  return net::prometheusText(families_->registry);
}

}  // namespace koord::scheduler
