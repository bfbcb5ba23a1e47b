#include "scheduler/plugins/nodenumaresource/topology_object.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "model/well_known.h"
#include "scheduler/framework/store_feed.h"
#include "scheduler/plugins/nodenumaresource/numa_node.h"

namespace koord::scheduler {

Result<std::shared_ptr<const CpuTopology>> CpuTopologies::parse(const std::string& annotation) {
  auto& known = byText_[annotation];
  if (auto topology = known.lock()) return topology;
  auto read = CpuTopology::parse(annotation);
  if (!read) {
    byText_.erase(annotation);
    return fail(std::move(read.error()));
  }
  auto topology = std::make_shared<const CpuTopology>(*std::move(read));
  known = topology;
  if (byText_.size() >= sweep_) {
    std::erase_if(byText_, [](const auto& entry) { return entry.second.expired(); });
    sweep_ = 2 * byText_.size() + 8;
  }
  return topology;
}

void KindOf<CpuReport>::Reader::read(CpuReport& report) {
  api::StringMap& annotations = report.metadata.annotations;
  if (const auto* text = api::findIn(annotations, kAnnotationCpuTopology)) {
    if (auto topology = known_.parse(*text)) {
      report.topology = *std::move(topology);
    } else {
      report.problem = topology.error().message;
    }
  }
  static constexpr std::array kRead{kAnnotationPodCpuAllocs, kAnnotationKubeletCpus,
                                    kAnnotationAmplification,
                                    std::string_view(model::kAnnotationNodeReservation),
                                    std::string_view(model::kAnnotationSystemQosResource)};
  std::vector<std::string> unread;
  for (const auto& [key, value] : annotations)
    if (std::ranges::find(kRead, std::string_view(key)) == kRead.end()) unread.push_back(key);
  for (const std::string& key : unread) annotations.erase(key);
}

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<CpuReport>&, kube::Api&, Executor&, Random);

}  // namespace koord::scheduler

template <>
koord::Result<koord::scheduler::CpuReport> koord::api::decode<koord::scheduler::CpuReport>(
    const json::value& document, Reading reading) {
  auto object = decode<NodeResourceTopology>(document, reading);
  if (!object) return koord::fail(std::move(object.error()));
  return scheduler::CpuReport(*std::move(object));
}
