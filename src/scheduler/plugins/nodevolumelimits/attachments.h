#pragma once

// Attachments: the volumes that are attached, or being attached, to each node.

#include <map>
#include <unordered_map>

#include "scheduler/framework/stores.h"

namespace koord::scheduler {

class Attachments {
 public:
  using ByName = std::map<std::string, std::shared_ptr<const api::VolumeAttachment>>;

  // Follows the store.
  explicit Attachments(Store<api::VolumeAttachment>& store) {
    using Object = Store<api::VolumeAttachment>::Object;
    const auto note = [byNode = byNode_](const Object& before, const Object& after) {
      if (before) {
        auto& there = (*byNode)[before->spec.nodeName];
        there.erase(before->metadata.name);
        if (there.empty()) byNode->erase(before->spec.nodeName);
      }
      if (after) (*byNode)[after->spec.nodeName][after->metadata.name] = after;
    };
    for (const auto& [key, attachment] : store.all()) note(nullptr, attachment);
    store.listen(note);
  }

  const ByName& on(const std::string& node) const {
    static const ByName kNone;
    const auto it = byNode_->find(node);
    return it == byNode_->end() ? kNone : it->second;
  }

 private:
  // Shared with the store's listener, which may live longer.
  std::shared_ptr<std::unordered_map<std::string, ByName>> byNode_ =
      std::make_shared<std::unordered_map<std::string, ByName>>();
};

}  // namespace koord::scheduler
