#include "koordctl/replay/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/pod.h"
#include "base/time.h"
#include "kube/received.h"

namespace koord::koordctl {

using scheduler::CycleState;
using scheduler::NodeId;
using scheduler::PodPtr;

void FollowingLoop::run() {
  for (;;) {
    if (!posted_.empty()) {
      auto fn = std::move(posted_.front());
      posted_.pop_front();
      fn();
    } else if (auto fn = timers_.takeDue(steadyNow())) {
      fn();
    } else {
      return;
    }
  }
}

Comparison::Comparison(scheduler::InstanceSettings settings, const scheduler::Registry& registry)
    : settings_(std::move(settings)), registry_(registry) {}

Comparison::~Comparison() = default;

kube::Api& Comparison::attach(kube::Api& api, const scheduler::recording::Replayer& clock) {
  loop_ = std::make_unique<FollowingLoop>(clock);
  mirror_ = std::make_unique<MirrorApi>(*loop_);
  tee_ = std::make_unique<TeeApi>(api, *mirror_,
                                  [this](const kube::Request& request) { onWrite(request); });
  scheduler::ServiceState service;
  service.unhealthy = [] { return std::string(); };
  service.stopping = [] { return false; };
  service.clientMetrics = [] { return std::string(); };
  auto instance = scheduler::Instance::create(
      settings_, registry_,
      {*loop_, *mirror_, nullptr, *loop_, metrics_, nullptr, std::move(service)});
  if (!instance) {
    problem_ = instance.error().message;
    return *tee_;
  }
  instance_ = *std::move(instance);
  instance_->start();
  return *tee_;
}

void Comparison::attempting(const scheduler::PodInfo& pod) {
  if (!instance_) return;
  loop_->run();
  auto prediction = predict(api::keyOf(pod.pod->metadata));
  if (prediction) {
    predictions_[pod.key()] = *std::move(prediction);
  } else {
    predictions_.erase(pod.key());
  }
}

std::optional<Comparison::Prediction> Comparison::predict(const api::ObjectKey& key) {
  scheduler::Scheduler& scheduler = instance_->scheduler();
  const PodPtr pod = scheduler.pending(key);
  if (!pod) return std::nullopt;
  const auto profile = scheduler.profiles().find(pod->pod->spec.schedulerName);
  if (profile == scheduler.profiles().end())
    return Prediction{"no profile for its schedulerName", {}, ""};
  const scheduler::Cluster& cluster = scheduler.cluster();
  scheduler::NodeSearch& search = profile->second->search();
  CycleState state;
  const scheduler::SearchResult prepared = search.prepare(state, pod);
  if (!prepared.status.ok()) return Prediction{prepared.status.message(), {}, ""};
  scheduler::NodeSet feasible = cluster.live();
  scheduler::Verdicts verdicts;
  verdicts.clear(cluster.capacity());
  if (const auto status = search.filterNodes(state, pod, feasible, verdicts); !status.ok())
    return Prediction{status.message(), {}, ""};
  if (feasible.empty()) {
    scheduler::Diagnosis diagnosis;
    diagnosis.totalNodes = cluster.liveCount();
    diagnosis.verdicts = &verdicts;
    diagnosis.filterPlugins = search.filterNames();
    return Prediction{diagnosis.message(), {}, ""};
  }
  std::vector<NodeId> nodes;
  feasible.copyTo(nodes);
  const auto table = search.scoreNodes(state, pod, nodes);
  if (!table) return Prediction{table.error().message, {}, ""};
  Prediction prediction;
  std::size_t best = 0;
  for (std::size_t i = 0; i < table->nodes.size(); ++i) {
    prediction.scores[cluster.node(table->nodes[i]).name] = table->totals[i];
    if (table->totals[i] > table->totals[best]) best = i;
  }
  prediction.best = cluster.node(table->nodes[best]).name;
  return prediction;
}

// The first scheduler has chosen a node: the second one counts the pod there, too, with what the
// first one gave it, as after a restart.
void Comparison::onWrite(const kube::Request& request) {
  if (!instance_ || request.resource != "pods" || request.subresource != "binding") return;
  const auto binding = kube::objectIn<api::Binding>(request.body);
  if (!binding) return;
  const api::ObjectKey key{request.namespace_, request.name};
  const std::string name = key.toString();
  compareNode(name, std::string(binding->target.name));
  const PodPtr pending = instance_->scheduler().pending(key);
  if (!pending) return;
  auto there = std::make_shared<api::Pod>(*pending->pod);
  there->spec.nodeName = binding->target.name;
  for (const auto& [annotation, value] : binding->metadata.annotations)
    there->metadata.annotations[annotation] = value;
  const PodObject before = pending->pod, after = there;
  imposed_[name] = {before, after};
  instance_->scheduler().podUpdated(before, after);
}

void Comparison::compareNode(const std::string& pod, const std::string& node) {
  const auto found = predictions_.extract(pod);
  if (found.empty()) {
    ++unknown_;
    return;
  }
  const Prediction& other = found.mapped();
  if (other.scores.empty()) {
    ++notPlaced_;
    return differ(pod, fmt::format("recorded {}; now not placed: {}", node, other.message));
  }
  const std::int64_t highest = other.scores.at(other.best);
  const auto own = other.scores.find(node);
  if (own != other.scores.end() && own->second == highest) {
    ++same_;
    return;
  }
  ++elsewhere_;
  differ(pod, own == other.scores.end()
                  ? fmt::format("recorded {}; now {}: {} is rejected", node, other.best, node)
                  : fmt::format("recorded {}; now {}: score {}, {} has {}", node, other.best,
                                highest, node, own->second));
}

void Comparison::decided(const std::string& pod, const scheduler::Decision& decision) {
  const auto imposed = imposed_.extract(pod);
  if (!instance_ || decision.result == "scheduled") return;
  if (!imposed.empty()) {  // the binding failed
    instance_->scheduler().podDeleted(imposed.mapped().second);
    instance_->scheduler().podAdded(imposed.mapped().first);
    return;
  }
  const auto found = predictions_.extract(pod);
  if (found.empty() || decision.result != "unschedulable") {
    ++unknown_;
    return;
  }
  if (found.mapped().scores.empty()) {
    ++same_;
    return;
  }
  ++placed_;
  differ(pod,
         fmt::format("recorded not placed: {}; now {}", decision.message, found.mapped().best));
}

void Comparison::differ(const std::string& pod, const std::string& what) {
  differences_ += fmt::format("{}  {}: {}\n", formatMicroTime(loop_->wallNow()), pod, what);
}

std::string Comparison::summary() const {
  const std::size_t differ = elsewhere_ + notPlaced_ + placed_;
  std::string text = fmt::format(
      "{} decisions compared: {} the same, {} differ\n"
      "  {} on another node\n  {} not placed\n  {} placed that were not\n",
      same_ + differ, same_, differ, elsewhere_, notPlaced_, placed_);
  if (unknown_ > 0) text += fmt::format("{} decisions could not be compared\n", unknown_);
  if (mirror_)
    if (const auto missing = mirror_->missing(); !missing.empty())
      text += fmt::format("the recording has no objects of these kinds: {}\n",
                          fmt::join(missing, ", "));
  return text;
}

}  // namespace koord::koordctl
