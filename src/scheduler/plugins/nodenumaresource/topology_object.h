#pragma once

// NodeResourceTopologies as the scheduler keeps a kind of objects (framework/object_kind.h).

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

// Without what nobody reads of it. Of its CPUs, which are some kilobytes of text, only what the text
// says is kept.
struct CpuReport : api::NodeResourceTopology {
  CpuReport() = default;
  explicit CpuReport(api::NodeResourceTopology object)
      : api::NodeResourceTopology(std::move(object)) {}
  // One for all machines that say the same; nullptr: it says nothing that can be read.
  std::shared_ptr<const CpuTopology> topology;
  std::string problem;  // why not
};

// CPU topologies by what was reported: most nodes of a cluster are one of a few machines.
class CpuTopologies {
 public:
  Result<std::shared_ptr<const CpuTopology>> parse(const std::string& annotation);

 private:
  std::unordered_map<std::string, std::weak_ptr<const CpuTopology>> byText_;
  std::size_t sweep_ = 64;  // entries when those of nobody are dropped
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
