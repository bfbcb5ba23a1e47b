#pragma once

// Attachments: the volumes that are attached, or being attached, to each node.

#include <map>
#include <unordered_map>

#include "scheduler/framework/handle.h"

namespace koord::scheduler {

class Attachments {
 public:
  using ByName = std::map<std::string, std::shared_ptr<const api::VolumeAttachment>>;

  // Follows the store. Must outlive the store.
  explicit Attachments(Store<api::VolumeAttachment>& store) {
    using Object = Store<api::VolumeAttachment>::Object;
    const auto note = [this](const Object& before, const Object& after) {
      if (before) {
        auto& there = byNode_[before->spec.nodeName];
        there.erase(before->metadata.name);
        if (there.empty()) byNode_.erase(before->spec.nodeName);
      }
      if (after) byNode_[after->spec.nodeName][after->metadata.name] = after;
    };
    for (const auto& [key, attachment] : store.all()) note(nullptr, attachment);
    store.listen(note);
  }

  const ByName& on(const std::string& node) const {
    static const ByName kNone;
    const auto it = byNode_.find(node);
    return it == byNode_.end() ? kNone : it->second;
  }

 private:
  std::unordered_map<std::string, ByName> byNode_;
};

// The instance of the cluster, which all profiles share.
inline const Attachments& attachmentsOf(Handle& handle) {
  return handle.shared().of<Attachments>(
      [&] { return std::make_unique<Attachments>(handle.stores().of<api::VolumeAttachment>()); });
}

}  // namespace koord::scheduler
