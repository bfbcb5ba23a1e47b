#include "scheduler/oracle/kinds.h"

#include <algorithm>
#include <vector>

#include "api/codec.h"
#include "scheduler/framework/object_kinds.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/coscheduling/network_topology.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/dynamicresources/objects.h"
#include "scheduler/plugins/elasticquota/quotas.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"
#include "scheduler/plugins/nodenumaresource/topology_object.h"
#include "scheduler/plugins/reservation/reservation_object.h"

namespace koord::scheduler::oracle {

namespace {

template <class T>
void copyAll(Stores& from, Stores& to) {
  for (const auto& [key, object] : from.of<T>().all()) to.of<T>().set(object);
}

template <class T>
StoredKind kindOf() {
  StoredKind kind{.type = T::kType, .get = {}, .contains = {}, .set = {}, .copy = copyAll<T>};
  kind.get = [](Stores& stores, const api::ObjectKey& key) {
    const auto object = stores.of<T>().get(key);
    return object ? api::encodeObject(*object) : json::value();
  };
  kind.contains = [](Stores& stores, const api::ObjectKey& key) {
    return stores.of<T>().get(key) != nullptr;
  };
  kind.set = [](Stores& stores, const json::value& document) -> Result<> {
    auto object = api::decode<T>(document);
    if (!object) return fail(std::move(object.error()));
    if constexpr (requires { typename KindOf<T>::Reader; }) {
      typename KindOf<T>::Reader reader;
      reader.read(*object);
    }
    stores.of<T>().set(std::make_shared<const T>(*std::move(object)));
    return {};
  };
  return kind;
}

const std::vector<StoredKind>& allKinds() {
  static const std::vector<StoredKind> kKinds{
      kindOf<api::Namespace>(),
      kindOf<api::PodDisruptionBudget>(),
      kindOf<api::Service>(),
      kindOf<api::ReplicationControllerSelection>(),
      kindOf<api::ReplicaSetSelection>(),
      kindOf<api::StatefulSetSelection>(),
      kindOf<api::PersistentVolume>(),
      kindOf<api::PersistentVolumeClaim>(),
      kindOf<api::StorageClass>(),
      kindOf<api::CSINode>(),
      kindOf<api::PodGroup>(),
      kindOf<api::WorkloadPodGroup>(),
      kindOf<api::ElasticQuota>(),
      kindOf<api::Reservation>(),
      kindOf<api::ResourceClaim>(),
      kindOf<api::ResourceSlice>(),
      kindOf<api::DeviceClass>(),
      kindOf<api::Device>(),
  };
  return kKinds;
}

template <class Match>
const StoredKind* findKind(Match match) {
  const auto& all = allKinds();
  const auto found = std::ranges::find_if(all, [&](const auto& kind) { return match(kind.type); });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

const StoredKind* storedKind(std::string_view group, std::string_view kind) {
  return findKind([&](const auto& type) { return type.group == group && type.kind == kind; });
}

const StoredKind* storedResource(std::string_view group, std::string_view plural) {
  return findKind([&](const auto& type) { return type.group == group && type.plural == plural; });
}

void copyStores(Stores& from, Stores& to) {
  for (const StoredKind& kind : allKinds()) kind.copy(from, to);
  copyAll<api::CSIDriver>(from, to);
  copyAll<api::CSIStorageCapacity>(from, to);
  copyAll<api::VolumeAttachment>(from, to);
  copyAll<api::ClusterNetworkTopology>(from, to);
  copyAll<api::DeviceTaintRule>(from, to);
  copyAll<LoadReport>(from, to);
  copyAll<CpuReport>(from, to);
}

}  // namespace koord::scheduler::oracle
