#include "cluster/controllers/daemon_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "cluster/controllers/node_lifecycle.h"
#include "kube/client.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kFirstPause = 1s;
constexpr Duration kLastPause = 15min;
constexpr Duration kForgotten = 2 * kLastPause;  // without a failure

}  // namespace

DaemonSetController::DaemonSetController(kube::Api& api, Executor& executor,
                                         kube::Informer<api::DaemonSet>& sets,
                                         kube::Informer<api::ControllerRevision>& revisions,
                                         kube::Informer<api::Node>& nodes, PodControl& pods,
                                         kube::EventRecorder& events)
    : api_(api),
      executor_(executor),
      sets_(sets),
      nodes_(nodes),
      pods_(pods),
      events_(events),
      history_(api, revisions, kDaemonHashLabel),
      queue_(executor, "daemonset", [this](std::string key) { return sync(std::move(key)); }) {
  enqueueChanged(sets_, queue_);
  enqueueControllersOf(pods_.informer(), sets_, queue_);
  enqueueControllersOf(revisions, sets_, queue_);
  const auto addAll = [this] {
    for (const auto& set : sets_.objects()) queue_.add(api::keyOf(set->metadata).toString());
  };
  nodes_.addHandler({[addAll](const auto&) { addAll(); },
                     [addAll](const auto& before, const auto& after) {
                       if (before->metadata.labels != after->metadata.labels ||
                           !sameTaints(*before, *after))
                         addAll();
                     },
                     [addAll](const auto&) { addAll(); }});
}

Task<Result<>> DaemonSetController::sync(std::string key) {
  const SetPtr set = sets_.get(keyOfText(key));
  if (!set || set->metadata.deletionTimestamp || !nodes_.synced()) co_return Result<>{};
  if (!pods_.settled(set->metadata.uid)) co_return Result<>{};
  const Owner owner{api::DaemonSet::kType, set->metadata};
  auto claiming = pods_.claim(owner, set->spec.selector);
  auto claimed = co_await claiming;
  if (!claimed) co_return fail(std::move(claimed.error()));
  auto remembering = history_.lookUp({owner, set->spec.selector, set->spec.template_});
  auto revisions = co_await remembering;
  if (!revisions) co_return fail(std::move(revisions.error()));
  const std::string hash = history_.hashOf(*revisions->current);
  auto pods = sortByNode(*std::move(claimed));
  auto inUse = pods.hashes;
  inUse.insert(hash);
  auto plan = planDaemons(*set, hash, std::move(pods), nodes_.objects(), executor_.wallNow());
  if (!plan) co_return fail(plan.error());
  if (plan->again) queue_.addAfter(key, *plan->again);
  const auto status = plan->status;
  auto acting = act(set, hash, *std::move(plan));
  auto done = co_await acting;
  if (done) {
    auto trimming = history_.trim(std::move(revisions->known), std::move(inUse),
                                  set->spec.revisionHistoryLimit.value_or(kDefaultHistory));
    done = co_await trimming;
  }
  auto reporting = report(set, status);
  auto reported = co_await reporting;
  co_return done ? reported : done;
}

// A failed create does not prevent deletions, and vice versa.
Task<Result<>> DaemonSetController::act(SetPtr set, std::string hash, DaemonPlan plan) {
  const Owner owner{api::DaemonSet::kType, set->metadata};
  auto ended = due(*set, plan);
  auto replacing = removePods(set, std::move(ended));
  auto done = co_await replacing;
  if (std::ssize(plan.remove) > kBurst) plan.remove.resize(kBurst);
  auto removing = removePods(set, std::move(plan.remove));
  auto removed = co_await removing;
  if (done) done = std::move(removed);
  std::vector<NewPod> missing;
  for (const auto& node : plan.create) {
    if (std::ssize(missing) == kBurst) break;
    missing.push_back({daemonPod(set->spec.template_, node, hash)});
  }
  auto creating = pods_.createMany(owner, std::move(missing));
  auto created = co_await creating;
  co_return done ? created : done;
}

Task<Result<>> DaemonSetController::removePods(SetPtr set, std::vector<PodPtr> pods) {
  const Owner owner{api::DaemonSet::kType, set->metadata};
  auto removing = pods_.removeMany(owner, std::move(pods));
  co_return co_await removing;
}

std::vector<PodPtr> DaemonSetController::due(const api::DaemonSet& set, const DaemonPlan& plan) {
  const auto reference = kube::referenceTo(api::DaemonSet::kType, set.metadata);
  const SteadyTime now = executor_.steadyNow();
  std::erase_if(failures_, [&](const auto& one) { return now - one.second.last > kForgotten; });
  std::vector<PodPtr> pods;
  for (const auto& [node, pod] : plan.ended) {
    const auto name = api::keyOf(pod->metadata).toString();
    if (pod->status.phase == "Failed") {
      auto& backoff =
          failures_[fmt::format("{}/{}/{}", set.metadata.uid, set.status.observedGeneration, node)];
      if (const Duration left = backoff.last + backoff.pause - now; left > Duration::zero()) {
        queue_.addAfter(api::keyOf(set.metadata).toString(), left);
        continue;
      }
      backoff = {std::clamp(2 * backoff.pause, kFirstPause, kLastPause), now};
      events_.record(
          reference, "Warning", "FailedDaemonPod",
          fmt::format("Found failed daemon pod {} on node {}, will try to kill it", name, node));
    } else {
      events_.record(reference, "Normal", "SucceededDaemonPod",
                     fmt::format("Found succeeded daemon pod {} on node {}, will try to delete it",
                                 name, node));
    }
    pods.push_back(pod);
  }
  return pods;
}

Task<Result<>> DaemonSetController::report(SetPtr set, api::DaemonSetStatus status) {
  if (status == set->status) co_return Result<>{};
  json::value document = json::object{{"currentNumberScheduled", status.currentNumberScheduled},
                                      {"numberMisscheduled", status.numberMisscheduled},
                                      {"desiredNumberScheduled", status.desiredNumberScheduled},
                                      {"numberReady", status.numberReady},
                                      {"observedGeneration", status.observedGeneration},
                                      {"updatedNumberScheduled", status.updatedNumberScheduled},
                                      {"numberAvailable", status.numberAvailable},
                                      {"numberUnavailable", status.numberUnavailable}};
  auto writing = writeStatus(api_, {api::DaemonSet::kType, set->metadata}, std::move(document));
  co_return co_await writing;
}

}  // namespace koord::cluster
