#include "cluster/controllers/pod_index.h"

namespace koord::cluster {

PodIndex::PodIndex(kube::Informer<api::Pod>& pods, ValueOf valueOf)
    : pods_(pods), valueOf_(valueOf) {
  pods_.addHandler({[this](const Pod& pod) { file(*pod); },
                    [this](const Pod& before, const Pod& pod) {
                      if (valueOf_(*before) == valueOf_(*pod)) return;
                      removeFromIndex(*before);
                      file(*pod);
                    },
                    [this](const Pod& pod) { removeFromIndex(*pod); }});
}

void PodIndex::file(const api::Pod& pod) {
  const std::string& value = valueOf_(pod);
  if (!value.empty()) keys_[value].insert(api::keyOf(pod.metadata));
}

void PodIndex::removeFromIndex(const api::Pod& pod) {
  const auto keys = keys_.find(valueOf_(pod));
  if (keys == keys_.end()) return;
  keys->second.erase(api::keyOf(pod.metadata));
  if (keys->second.empty()) keys_.erase(keys);
}

std::vector<PodIndex::Pod> PodIndex::of(const std::string& value) const {
  std::vector<Pod> pods;
  const auto keys = keys_.find(value);
  if (keys == keys_.end()) return pods;
  for (const auto& key : keys->second)
    if (auto pod = pods_.get(key)) pods.push_back(std::move(pod));
  return pods;
}

const std::string& nodeOfPod(const api::Pod& pod) {
  return pod.spec.nodeName;
}

const std::string& namespaceOfPod(const api::Pod& pod) {
  return pod.metadata.namespace_;
}

}  // namespace koord::cluster
