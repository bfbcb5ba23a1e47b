#include "runtimeproxy/metrics.h"

#include <map>

#include "net/prometheus.h"

namespace koord::runtimeproxy {
namespace {

using net::counterFamily;
using net::gaugeFamily;
using net::histogramFamily;

std::string named(const char* name) {
  return std::string("koord_runtime_proxy_") + name;
}

// The number and duration of calls of one method or hook.
struct Series {
  prometheus::Counter& good;
  prometheus::Counter& bad;
  prometheus::Histogram& time;

  void count(bool ok, Duration took) {
    (ok ? good : bad).Increment();
    time.Observe(net::inSeconds(took));
  }
};

class SeriesByName {
 public:
  SeriesByName(prometheus::Registry& registry, const char* label, const char* counter,
               const char* counterHelp, const char* histogram, const char* histogramHelp)
      : label_(label),
        counts_(counterFamily(registry, named(counter), counterHelp)),
        times_(histogramFamily(registry, named(histogram), histogramHelp)) {}

  Series& of(std::string_view name) {
    if (const auto found = series_.find(name); found != series_.end()) return found->second;
    const std::string key(name);
    return series_
        .emplace(key, Series{counts_.Add({{label_, key}, {"result", "success"}}),
                             counts_.Add({{label_, key}, {"result", "error"}}),
                             times_.Add({{label_, key}}, net::exponentialBuckets(0.0001, 4, 9))})
        .first->second;
  }

 private:
  std::string label_;
  prometheus::Family<prometheus::Counter>& counts_;
  prometheus::Family<prometheus::Histogram>& times_;
  std::map<std::string, Series, std::less<>> series_;
};

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  SeriesByName calls{registry,
                     "method",
                     "calls_total",
                     "Forwarded calls, by method and result",
                     "call_duration_seconds",
                     "Duration of calls in seconds, including the runtime"};
  SeriesByName hooks{registry,
                     "hook",
                     "hook_calls_total",
                     "Calls of hook servers, by hook and result",
                     "hook_duration_seconds",
                     "Duration of calls of hook servers in seconds"};
  prometheus::Gauge& pods = gaugeFamily(registry, named("known_pods"), "Pods in the cache").Add({});
  prometheus::Gauge& containers =
      gaugeFamily(registry, named("known_containers"), "Containers in the cache").Add({});
  prometheus::Gauge& connections =
      gaugeFamily(registry, named("connections"), "Open connections of clients").Add({});
  prometheus::Counter& unreachable =
      counterFamily(registry, named("runtime_unreachable_total"),
                    "Calls that failed because the runtime could not be reached")
          .Add({});
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::called(std::string_view method, bool ok, Duration took) {
  impl_->calls.of(method).count(ok, took);
}

void Metrics::hookCalled(std::string_view hook, bool ok, Duration took) {
  impl_->hooks.of(hook).count(ok, took);
}

void Metrics::known(std::size_t pods, std::size_t containers) {
  impl_->pods.Set(static_cast<double>(pods));
  impl_->containers.Set(static_cast<double>(containers));
}

void Metrics::connections(std::size_t open) {
  impl_->connections.Set(static_cast<double>(open));
}

void Metrics::runtimeUnreachable() {
  impl_->unreachable.Increment();
}

std::string Metrics::text() const {
  return net::prometheusText(impl_->registry);
}

}  // namespace koord::runtimeproxy
