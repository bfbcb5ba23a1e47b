#pragma once

// Registers NodeResourceTopology as a kind of objects that the scheduler caches
// (framework/object_kind.h).

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/codec.h"
#include "api/shape.h"
#include "api/topology.h"
#include "scheduler/framework/stores.h"
#include "scheduler/plugins/nodenumaresource/cpus/topology.h"

namespace koord::scheduler {

// Only the fields that the scheduler reads. The text about its CPUs, of some kilobytes, is replaced
// by its parsed form.
struct CpuReport : api::NodeResourceTopology {
  CpuReport() = default;
  explicit CpuReport(api::NodeResourceTopology object)
      : api::NodeResourceTopology(std::move(object)) {}
  // Shared by all nodes with the same text; nullptr if it is missing or invalid.
  std::shared_ptr<const CpuTopology> topology;
  std::string problem;  // why it is invalid
};

// CPU topologies by the reported text: most nodes of a cluster have one of a few hardware models.
class CpuTopologies {
 public:
  Result<std::shared_ptr<const CpuTopology>> parse(const std::string& annotation);

 private:
  std::unordered_map<std::string, std::weak_ptr<const CpuTopology>> byText_;
  std::size_t sweep_ = 64;  // the number of entries at which unused ones are dropped
};

template <>
struct KindOf<CpuReport> {
  static constexpr ObjectKind value{
      .event = EventResource::Custom,
      .customResource = "noderesourcetopologies.v1alpha1.topology.node.k8s.io",
      .firstList = FirstList::BeforePods};
  class Reader {
   public:
    void read(CpuReport& report);

   private:
    CpuTopologies known_;
  };
};

extern template std::unique_ptr<StoreFeed> makeStoreFeed(Store<CpuReport>&, kube::Api&, Executor&,
                                                         Random);

}  // namespace koord::scheduler

namespace koord::api {
template <>
Result<scheduler::CpuReport> decode<scheduler::CpuReport>(const json::value& document,
                                                          Reading reading);
template <>
inline const Shape* shapeOf<scheduler::CpuReport>() {
  return nullptr;  // a custom resource is JSON
}
}  // namespace koord::api
