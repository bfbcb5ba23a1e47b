#include "scheduler/plugins/nodenumaresource/topology_object.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "model/well_known.h"
#include "scheduler/framework/store_feed.h"
#include "scheduler/plugins/nodenumaresource/numa_node.h"

namespace koord::scheduler {

void KindOf<api::NodeResourceTopology>::transform(api::NodeResourceTopology& topology) {
  static constexpr std::array kRead{kAnnotationCpuTopology,
                                    kAnnotationPodCpuAllocs,
                                    kAnnotationKubeletCpus,
                                    kAnnotationAmplification,
                                    std::string_view(model::kAnnotationNodeReservation),
                                    std::string_view(model::kAnnotationSystemQosResource)};
  std::vector<std::string> unread;
  for (const auto& [key, value] : topology.metadata.annotations)
    if (std::ranges::find(kRead, std::string_view(key)) == kRead.end()) unread.push_back(key);
  for (const std::string& key : unread) topology.metadata.annotations.erase(key);
}

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::NodeResourceTopology>&, kube::Api&,
                                                  Executor&, Random);

}  // namespace koord::scheduler
