#include "descheduler/migration/gangs.h"

#include "model/well_known.h"

namespace koord::descheduler {

std::string gangOf(const api::Pod& pod) {
  const auto& meta = pod.metadata;
  const std::string* name = api::findIn(meta.annotations, model::kAnnotationGangName);
  for (const auto key : {model::kLabelPodGroup, model::kLabelPodGroupName})
    if (!name || name->empty()) name = api::findIn(meta.labels, key);
  if (name && !name->empty()) return meta.namespace_ + "/" + *name;
  if (pod.spec.schedulingGroup && !pod.spec.schedulingGroup->podGroupName.empty())
    return meta.namespace_ + "/" + pod.spec.schedulingGroup->podGroupName;
  return {};
}

void Gangs::start() {
  const auto add = [this](const PodPtr& pod) {
    if (const std::string gang = gangOf(*pod); !gang.empty())
      members_[gang].insert(api::keyOf(pod->metadata));
  };
  const auto remove = [this](const PodPtr& pod) {
    const auto it = members_.find(gangOf(*pod));
    if (it == members_.end()) return;
    it->second.erase(api::keyOf(pod->metadata));
    if (it->second.empty()) members_.erase(it);
  };
  stores_.pods().addHandler({add,
                             [add, remove](const PodPtr& before, const PodPtr& after) {
                               remove(before);
                               add(after);
                             },
                             remove});
}

std::vector<PodPtr> Gangs::membersOf(const std::string& gang) const {
  std::vector<PodPtr> members;
  const auto it = members_.find(gang);
  if (it == members_.end()) return members;
  for (const api::ObjectKey& key : it->second) {
    PodPtr pod = stores_.pod(key);
    if (pod && !pod->spec.nodeName.empty() && !pod->facts.is(PodFacts::Terminal))
      members.push_back(std::move(pod));
  }
  return members;
}

}  // namespace koord::descheduler
