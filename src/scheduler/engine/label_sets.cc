#include "scheduler/engine/label_sets.h"

namespace koord::scheduler {

LabelSetPtr LabelSets::intern(const std::string& namespace_, const api::StringMap& labels) {
  std::string key = namespace_;
  for (const auto& [name, value] : labels) {
    key += '\n';
    key += name;
    key += '=';
    key += value;
  }
  if (const auto it = table_->byKey.find(key); it != table_->byKey.end())
    if (auto known = it->second.lock()) return known;
  auto set = std::make_unique<LabelSet>();
  if (table_->freeIds.empty()) {
    set->id = table_->ids++;
  } else {
    set->id = table_->freeIds.back();
    table_->freeIds.pop_back();
  }
  set->serial = ++table_->serial;
  set->namespace_ = namespace_;
  set->labels = labels;
  const LabelSetPtr shared(set.release(), [table = table_, key](const LabelSet* gone) {
    table->freeIds.push_back(gone->id);
    if (const auto it = table->byKey.find(key); it != table->byKey.end() && it->second.expired())
      table->byKey.erase(it);
    delete gone;
  });
  table_->byKey[std::move(key)] = shared;
  return shared;
}

}  // namespace koord::scheduler
