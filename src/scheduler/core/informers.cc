#include "scheduler/core/informers.h"

#include <algorithm>

#include "api/sharing.h"
#include "kube/informer.h"
#include "scheduler/engine/run_guarded.h"
#include "scheduler/framework/slim_pod.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kScheduler = "the scheduler";

// Pods and nodes are delivered to the scheduler itself.
template <class T>
class Feed final : public StoreFeed {
 public:
  Feed(kube::Api& api, Executor& executor, kube::WatchScope scope, Random random)
      : informer(api, executor, std::move(scope), random) {}
  void start() override { informer.start(); }
  bool synced() const override { return informer.synced(); }
  void onSynced(std::function<void()> fn) override { informer.onSynced(std::move(fn)); }

  kube::Informer<T> informer;
};

std::unique_ptr<StoreFeed> nodeFeed(kube::Api& api, Executor& executor, Scheduler& scheduler,
                                    Random random) {
  auto nodes = std::make_unique<Feed<api::Node>>(api, executor, kube::WatchScope{}, random);
  nodes->informer.setTransform(transformNode);
  nodes->informer.addHandler(
      {[&scheduler](const auto& node) {
         runGuarded(kScheduler, "a new node", [&] { scheduler.nodeAdded(node); });
       },
       [&scheduler](const auto& before, const auto& after) {
         runGuarded(kScheduler, "a change of a node",
                    [&] { scheduler.nodeUpdated(before, after); });
       },
       [&scheduler](const auto& last) {
         runGuarded(kScheduler, "the deletion of a node", [&] { scheduler.nodeDeleted(last); });
       }});
  return nodes;
}

std::unique_ptr<Feed<api::Pod>> podFeed(kube::Api& api, Executor& executor, Scheduler& scheduler,
                                        Random random, PodFields more) {
  const kube::WatchScope running{"", "", "status.phase!=Succeeded,status.phase!=Failed"};
  auto pods = std::make_unique<Feed<api::Pod>>(api, executor, running, random);
  pods->informer.setTransform(podReader(scheduler, more));
  pods->informer.addHandler(
      {[&scheduler](const auto& pod) {
         runGuarded(kScheduler, "a new pod", [&] { scheduler.podAdded(pod); });
       },
       [&scheduler](const auto& before, const auto& after) {
         runGuarded(kScheduler, "a change of a pod", [&] { scheduler.podUpdated(before, after); });
       },
       [&scheduler](const auto& last) {
         runGuarded(kScheduler, "the deletion of a pod", [&] { scheduler.podDeleted(last); });
       }});
  return pods;
}

}  // namespace

std::function<void(api::Pod&)> podReader(const Scheduler& scheduler, PodFields more) {
  return [keep = scheduler.podFieldsKept() | more, transforms = scheduler.podTransforms(),
          sharing = std::make_shared<api::PodSharing>()](api::Pod& pod) {
    transformPod(pod, transforms);
    slimPod(pod, keep);
    sharing->share(pod);
  };
}

Informers::Informers(kube::Api& api, Executor& executor, Scheduler& scheduler, Random random,
                     PodFields more) {
  auto& [first, then] = stages_;
  first.push_back(nodeFeed(api, executor, scheduler, random.fork()));
  auto pods = podFeed(api, executor, scheduler, random.fork(), more);
  pods_ = &pods->informer;
  then.push_back(std::move(pods));
  for (AnyStore* store : scheduler.stores().all()) {
    Stage& stage = store->kind().firstList == FirstList::BeforePods ? first : then;
    stage.push_back(store->feed(api, executor, random.fork()));
  }
}

void Informers::start() {
  startStage();
}

// A stage starts when all earlier stages are synced.
void Informers::startStage() {
  if (started_ == stages_.size()) {
    for (auto& fn : std::exchange(waiting_, {})) fn();
    return;
  }
  Stage& stage = stages_[started_++];
  for (auto& feed : stage) feed->start();
  for (auto& feed : stage) {
    feed->onSynced([this, &stage, next = started_] {
      if (started_ == next && synced(stage)) startStage();
    });
  }
  if (stage.empty()) startStage();
}

std::string Informers::versionOf(const api::ObjectKey& pod) const {
  const auto object = pods_->get(pod);
  return object ? std::string(object->metadata.resourceVersion) : std::string();
}

bool Informers::synced(const Stage& stage) const {
  return std::ranges::all_of(stage, [](const auto& feed) { return feed->synced(); });
}

bool Informers::synced() const {
  return started_ == stages_.size() &&
         std::ranges::all_of(stages_, [this](const Stage& stage) { return synced(stage); });
}

void Informers::onSynced(std::function<void()> fn) {
  if (synced()) {
    fn();
  } else {
    waiting_.push_back(std::move(fn));
  }
}

}  // namespace koord::scheduler
