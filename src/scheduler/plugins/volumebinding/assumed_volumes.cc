#include "scheduler/plugins/volumebinding/assumed_volumes.h"

#include <fmt/format.h>

namespace koord::scheduler {

namespace {

template <class T>
void hold(std::map<api::ObjectKey, std::size_t>& holders, AssumedStore<T>& store,
          const std::vector<std::shared_ptr<const T>>& objects) {
  for (const auto& object : objects) {
    ++holders[api::keyOf(object->metadata)];
    store.assume(object);
  }
}

template <class T>
void releaseMembers(std::map<api::ObjectKey, std::size_t>& holders, AssumedStore<T>& store,
                    const std::vector<std::shared_ptr<const T>>& objects) {
  for (const auto& object : objects) {
    const auto it = holders.find(api::keyOf(object->metadata));
    if (--it->second > 0) continue;
    store.restore(it->first);
    holders.erase(it);
  }
}

template <class T>
void compare(std::string_view what, const std::map<api::ObjectKey, std::size_t>& holders,
             const std::vector<std::shared_ptr<const T>>& objects, std::string& difference) {
  for (const auto& object : objects) {
    const api::ObjectKey key = api::keyOf(object->metadata);
    if (!holders.contains(key))
      difference +=
          fmt::format("{} {}: stored as free, counted as assumed; ", what, key.toString());
  }
}

}  // namespace

void VolumeLedger::addValue(NodeId, const PodInfo&, const AssumedVolumes& assumed) {
  hold(volumeHolders_, volumes_, assumed.volumes);
  hold(claimHolders_, claims_, assumed.provisioning);
}

void VolumeLedger::removeValue(NodeId, const PodInfo&, const AssumedVolumes& assumed) {
  releaseMembers(volumeHolders_, volumes_, assumed.volumes);
  releaseMembers(claimHolders_, claims_, assumed.provisioning);
}

std::string VolumeLedger::verifyValues(NodeId, Held held) const {
  std::string difference;
  for (const auto& [pod, assumed] : held) {
    compare("volume", volumeHolders_, assumed->volumes, difference);
    compare("claim", claimHolders_, assumed->provisioning, difference);
  }
  return difference;
}

VolumeLedger& volumeLedgerOf(Handle& handle) {
  return handle.shared().of<VolumeLedger>([&] {
    auto ledger =
        std::make_unique<VolumeLedger>(handle.stores().assumed<api::PersistentVolume>(),
                                       handle.stores().assumed<api::PersistentVolumeClaim>());
    handle.cluster().addLedger(*ledger);
    return ledger;
  });
}

}  // namespace koord::scheduler
