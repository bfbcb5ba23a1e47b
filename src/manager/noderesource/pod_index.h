#pragma once

// An index of the pods of each node, kept up to date by an informer.

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "api/pod.h"
#include "kube/informer.h"

namespace koord::manager {

class PodIndex {
 public:
  using PodPtr = std::shared_ptr<const api::Pod>;

  explicit PodIndex(kube::Informer<api::Pod>& pods) {
    pods.addHandler({[this](const PodPtr& pod) { put(nullptr, pod); },
                     [this](const PodPtr& before, const PodPtr& after) { put(before, after); },
                     [this](const PodPtr& last) { put(last, nullptr); }});
  }

  // The pods bound to the node, in no particular order. Valid until the next event.
  const std::vector<PodPtr>& of(const std::string& node) const {
    static const std::vector<PodPtr> none;
    const auto it = byNode_.find(node);
    return it == byNode_.end() ? none : it->second;
  }

 private:
  void put(const PodPtr& before, const PodPtr& after) {
    if (before && !before->spec.nodeName.empty()) {
      const auto it = byNode_.find(before->spec.nodeName);
      if (it != byNode_.end()) {
        auto& pods = it->second;
        const auto place = std::ranges::find(pods, before);
        if (place != pods.end()) {
          *place = std::move(pods.back());
          pods.pop_back();
        }
        if (pods.empty()) byNode_.erase(it);
      }
    }
    if (after && !after->spec.nodeName.empty()) byNode_[after->spec.nodeName].push_back(after);
  }

  std::unordered_map<std::string, std::vector<PodPtr>> byNode_;
};

}  // namespace koord::manager
