#include "scheduler/plugins/loadawarescheduling/node_metrics.h"

#include "scheduler/framework/store_feed.h"

namespace koord::scheduler {

void KindOf<api::NodeMetric>::transform(api::NodeMetric& metric) {
  api::NodeMetricStatus& status = metric.status;
  status.hostApplicationMetric = {};
  status.prodReclaimableMetric.reset();
  status.prodPeakMetric.reset();
  for (auto& pod : status.podsMetric) {
    pod.podUsage.devices = {};
    pod.qos = {};
  }
  if (!status.nodeMetric) return;
  status.nodeMetric->aggregatedSystemUsages = {};
  status.nodeMetric->numaUsages = {};
  status.nodeMetric->nodeUsage.devices = {};
}

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::NodeMetric>&, kube::Api&, Executor&,
                                                  Random);

}  // namespace koord::scheduler
