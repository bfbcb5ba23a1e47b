#include "descheduler/framework/metrics.h"

#include "net/prometheus.h"

namespace koord::descheduler {

struct Metrics::Families {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& evicted = net::counterFamily(
      registry, "descheduler_pods_evicted",
      "[ALPHA] Number of evicted pods, by the result, by the strategy, by the namespace, by the "
      "node name. 'error' result means a pod could not be evicted");
  prometheus::Family<prometheus::Counter>& limited =
      net::counterFamily(registry, "koord_descheduler_evictions_limited_total",
                         "Evictions that a limit of the cycle rejected, by limit");
  prometheus::Family<prometheus::Counter>& cycles =
      net::counterFamily(registry, "koord_descheduler_cycles_total", "Completed cycles, by result");
  prometheus::Histogram& cycleSeconds =
      net::histogramFamily(registry, "koord_descheduler_cycle_duration_seconds",
                           "Duration of a cycle in seconds, evictions included")
          .Add({}, net::exponentialBuckets(0.001, 2, 16));
  prometheus::Gauge& leader = net::gaugeFamily(registry, "koord_descheduler_is_leader",
                                               "1 while this process is the leader, otherwise 0")
                                  .Add({});
  prometheus::Family<prometheus::Gauge>& poolNodes =
      net::gaugeFamily(registry, "koord_descheduler_pool_nodes",
                       "Nodes of a LowNodeLoad pool in the last cycle, by class");
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::podEvicted(std::string_view result, std::string_view strategy,
                         std::string_view namespace_, std::string_view node) {
  families_->evicted
      .Add({{"result", std::string(result)},
            {"strategy", std::string(strategy)},
            {"namespace", std::string(namespace_)},
            {"node", std::string(node)}})
      .Increment();
}

void Metrics::limited(std::string_view limit) {
  families_->limited.Add({{"limit", std::string(limit)}}).Increment();
}

void Metrics::cycleEnded(Duration took, bool ok) {
  families_->cycles.Add({{"result", ok ? "success" : "error"}}).Increment();
  families_->cycleSeconds.Observe(net::inSeconds(took));
}

void Metrics::setLeader(bool leading) {
  families_->leader.Set(leading ? 1 : 0);
}

void Metrics::setPoolNodes(std::string_view pool, std::string_view nodeClass, std::size_t count) {
  families_->poolNodes.Add({{"pool", std::string(pool)}, {"class", std::string(nodeClass)}})
      .Set(static_cast<double>(count));
}

prometheus::Registry& Metrics::registry() {
  return families_->registry;
}

std::string Metrics::text() const {
  return net::prometheusText(families_->registry);
}

}  // namespace koord::descheduler
