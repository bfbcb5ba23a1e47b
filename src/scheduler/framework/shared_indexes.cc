#include "scheduler/framework/shared_indexes.h"

#include "scheduler/framework/handle.h"

namespace koord::scheduler {

PodIndex& podIndexOf(Handle& handle) {
  return handle.shared().of<PodIndex>([&] {
    auto index = std::make_unique<PodIndex>(handle.cluster(), namespaceLabelsOf(handle.stores()));
    handle.stores().of<api::Namespace>().listen(
        [index = index.get()](const auto& before, const auto& after) {
          if (!before || !after || before->metadata.labels != after->metadata.labels)
            index->namespacesChanged();
        });
    return index;
  });
}

const ClaimUsers& claimUsersOf(Handle& handle) {
  return handle.shared().of<ClaimUsers>(
      [&] { return std::make_unique<ClaimUsers>(handle.cluster()); });
}

}  // namespace koord::scheduler
