// Nodes of the Cluster: rows, columns and indexes that follow the Node objects.

#include <algorithm>

#include "scheduler/engine/cluster.h"
#include "scheduler/engine/run_guarded.h"

namespace koord::scheduler {

namespace {

bool sameTaints(const api::List<api::Taint>& a, const api::List<api::Taint>& b) {
  return std::ranges::equal(a, b, [](const api::Taint& x, const api::Taint& y) {
    return x.key == y.key && x.value == y.value && x.effect == y.effect;
  });
}

bool sameImages(const api::List<api::ContainerImage>& a, const api::List<api::ContainerImage>& b) {
  return std::ranges::equal(a, b, [](const api::ContainerImage& x, const api::ContainerImage& y) {
    return x.sizeBytes == y.sizeBytes && x.names == y.names;
  });
}

}  // namespace

bool sameAnnotations(const std::set<std::string>& keys, const api::StringMap& a,
                     const api::StringMap& b) {
  return std::ranges::all_of(keys, [&](const std::string& key) {
    const auto* before = api::findIn(a, key);
    const auto* after = api::findIn(b, key);
    return before ? after && *before == *after : !after;
  });
}

std::string normalizedImageName(std::string_view name) {
  const auto colon = name.rfind(':');
  const auto slash = name.rfind('/');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash))
    return std::string(name);
  return std::string(name) + ":latest";
}

NodeId Cluster::rowFor(std::string_view name) {
  if (const auto it = ids_.find(name); it != ids_.end()) return it->second;
  NodeId id = 0;
  if (!freeIds_.empty()) {
    id = freeIds_.back();
    freeIds_.pop_back();
  } else {
    id = static_cast<NodeId>(rows_.size());
    rows_.emplace_back();
    if (rows_.size() > zeros_.size())  // in steps: nodes are added one at a time
      for (Column* column : columns_) column->resize((rows_.size() + 63) / 64 * 64);
    taintSetOf_.resize(rows_.size());
    podDetails_.resize(rows_.size());
  }
  rows_[id].name = name;
  ids_.emplace(std::string(name), id);
  return id;
}

void Cluster::releaseRow(NodeId id) {
  NodeRow& row = rows_[id];
  if (row.object || !row.pods.empty() || row.name.empty()) return;
  ids_.erase(row.name);
  row = NodeRow{};
  erase_if(excess_, [&](const auto& entry) { return entry.first.second == id; });
  freeIds_.push_back(id);
}

void Cluster::compactSymbols() {
  if (openTransactions_ > 0 || symbols_.size() + taintSets_.size() <= symbolsLimit_) return;
  const Symbols old = std::exchange(symbols_, {});
  labels_ = {};
  images_.clear();
  taintSets_.resize(1);
  taintSetIds_ = {{"", 0}};
  live_.forEach([&](NodeId id) {
    NodeRow& row = rows_[id];
    row.labels.clear();
    row.images.clear();
    setLabels(id, row.object->metadata.labels);
    setImages(id, row.object->status.images);
    taintSetOf_[id] = internTaints(row.object->spec.taints);
  });
  terms_.translate(old, symbols_);
  ++symbolsVersion_;
  ++placesVersion_;
  symbolsLimit_ = std::max(kSymbols, 2 * (symbols_.size() + taintSets_.size()));
  for (auto* listener : listeners_) listener->symbolsChanged();
}

NodeId Cluster::setNode(std::shared_ptr<const api::Node> object) {
  compactSymbols();
  const NodeId id = rowFor(object->metadata.name);
  NodeRow& row = rows_[id];
  const std::shared_ptr<const api::Node> before = std::exchange(row.object, object);
  const api::Node& after = *object;
  bool changed = !before;

  if (!before) {
    live_.insert(id);
    ++liveCount_;
    ++nodesVersion_;
    for (auto* listener : listeners_)
      runGuarded("a listener", "a node", [&] { listener->nodeChanging(id); });
  }
  const bool relabelled = !before || before->metadata.labels != after.metadata.labels;
  const bool notifies =
      relabelled ||
      !sameAnnotations(nodeAnnotations_, before->metadata.annotations, after.metadata.annotations);
  if (notifies && before)
    for (auto* listener : listeners_)
      runGuarded("a listener", "a node", [&] { listener->nodeChanging(id); });
  changed |= notifies;
  if (relabelled) {
    ++placesVersion_;
    setLabels(id, after.metadata.labels);
  }
  if (!before || before->status.allocatable != after.status.allocatable) {
    setAllocatable(id, after.status.allocatable);
    if (before)
      for (auto* listener : listeners_)
        runGuarded("a listener", "a node", [&] { listener->allocatableChanged(id); });
    changed = true;
  }
  if (!before || !sameTaints(before->spec.taints, after.spec.taints)) {
    ++placesVersion_;
    taintSetOf_[id] = internTaints(after.spec.taints);
    taintSetOf_[id] == 0 ? tainted_.erase(id) : tainted_.insert(id);
    changed = true;
  }
  if (!before || before->spec.unschedulable != after.spec.unschedulable) {
    after.spec.unschedulable ? unschedulable_.insert(id) : unschedulable_.erase(id);
    changed = true;
  }
  changed |= before && before->status.declaredFeatures != after.status.declaredFeatures;
  if (!before || !sameImages(before->status.images, after.status.images)) {
    setImages(id, after.status.images);
    changed = true;
  }
  if (changed) touch(id);
  if (notifies)
    for (auto* listener : listeners_)
      runGuarded("a listener", "a node", [&] { listener->nodeChanged(id); });
  return id;
}

void Cluster::removeNode(std::string_view name) {
  const auto it = ids_.find(name);
  if (it == ids_.end() || !rows_[it->second].object) return;
  const NodeId id = it->second;
  for (auto* listener : listeners_)
    runGuarded("a listener", "a node", [&] { listener->nodeChanging(id); });
  setLabels(id, {});
  setAllocatable(id, {});
  setImages(id, {});
  taintSetOf_[id] = 0;
  tainted_.erase(id);
  unschedulable_.erase(id);
  rows_[id].object = nullptr;
  live_.erase(id);
  --liveCount_;
  ++nodesVersion_;
  ++placesVersion_;
  touch(id);
  for (auto* listener : listeners_)
    runGuarded("a listener", "a node", [&] { listener->nodeChanged(id); });
  releaseRow(id);
}

void Cluster::setAllocatable(NodeId id, const api::ResourceList& list) {
  ++allocatableVersion_;
  for (const auto& column : allocatable_)
    if (column) (*column)[id] = 0;
  toResources(resources_, list).forEach([&](ResourceId resource, std::int64_t value) {
    if (value <= 0) return;
    const bool first = resource >= allocatable_.size() || !allocatable_[resource];
    columnFor(allocatable_, resource)[id] = value;
    noteAmount(resource, value);
    if (!first || resource < kFirstScalar) return;
    const auto count = [&](NodeId node, const Resources& amounts, bool negative) {
      Resources one;
      one.set(resource, amounts.amount(resource));
      addRequested(node, one, negative);
    };
    for (const PodRecord& record : pods_) {
      count(record.node, record.info->request, false);
      record.grants.forEach([&](LedgerId, const Grant& grant) {
        if (const Resources* covered = grant.covered()) count(record.node, *covered, true);
      });
    }
  });
  const auto pods = list.find("pods");
  allowedPods_[id] = pods == list.end() ? 0 : pods->second.value();
}

void Cluster::setLabels(NodeId id, const api::StringMap& labels) {
  NodeRow& row = rows_[id];
  labels_.remove(id, row.labels);
  row.labels.clear();
  for (const auto& [key, value] : labels)
    row.labels.push_back({symbols_.intern(key), symbols_.intern(value)});
  std::ranges::sort(row.labels);
  labels_.add(id, row.labels);
}

void Cluster::setImages(NodeId id, const api::List<api::ContainerImage>& images) {
  NodeRow& row = rows_[id];
  const auto recount = [&](const NodeImage& image, int change) {
    ImageSpread& spread = images_[image.image];
    spread.nodes += static_cast<std::uint32_t>(change);
    ++spread.version;
  };
  for (const NodeImage& image : row.images) recount(image, -1);
  row.images.clear();
  for (const auto& image : images)
    for (const auto& name : image.names)
      row.images.push_back({symbols_.intern(name), image.sizeBytes});
  // Of a name that is listed twice the last entry counts.
  std::ranges::stable_sort(row.images, {}, &NodeImage::image);
  const auto last =
      std::unique(row.images.rbegin(), row.images.rend(),
                  [](const NodeImage& a, const NodeImage& b) { return a.image == b.image; });
  row.images.erase(row.images.begin(), last.base());
  for (const NodeImage& image : row.images) recount(image, 1);
}

ImageSpread Cluster::imageSpread(Symbol image) const {
  const auto it = images_.find(image);
  return it == images_.end() ? ImageSpread{} : it->second;
}

TaintSet Cluster::internTaints(const api::List<api::Taint>& taints) {
  std::string key;
  for (const auto& taint : taints) {
    for (const std::string* part : {&taint.key, &taint.value, &taint.effect}) {
      key += *part;
      key += '\n';
    }
  }
  const auto [it, added] = taintSetIds_.emplace(std::move(key), taintSets_.size());
  if (added) taintSets_.push_back(taints);
  return it->second;
}

}  // namespace koord::scheduler
