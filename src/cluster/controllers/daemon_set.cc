#include "cluster/controllers/daemon_set.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "cluster/controllers/daemon_set_plan.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

bool sameTaints(const api::Node& a, const api::Node& b) {
  return std::ranges::equal(a.spec.taints, b.spec.taints, [](const auto& x, const auto& y) {
    return x.key == y.key && x.value == y.value && x.effect == y.effect;
  });
}

}  // namespace

DaemonSetController::DaemonSetController(kube::Api& api, Executor& executor,
                                         kube::Informer<api::DaemonSet>& sets,
                                         kube::Informer<api::ControllerRevision>& revisions,
                                         kube::Informer<api::Node>& nodes, PodControl& pods)
    : api_(api),
      executor_(executor),
      sets_(sets),
      nodes_(nodes),
      pods_(pods),
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
  const auto plan = planDaemons(*set, hash, std::move(pods), nodes_.objects(), executor_.wallNow());
  if (!plan) co_return fail(plan.error());
  if (plan->again) queue_.addAfter(key, *plan->again);

  for (const auto& pod : plan->remove) {
    auto removing = pods_.remove(owner, pod);
    auto removed = co_await removing;
    if (!removed) co_return removed;
  }
  for (const auto& node : plan->create) {
    auto creating = pods_.create(owner, daemonPod(set->spec.template_, node, hash));
    auto created = co_await creating;
    if (!created) co_return created;
  }
  auto trimming = history_.trim(std::move(revisions->known), std::move(inUse),
                                set->spec.revisionHistoryLimit.value_or(kDefaultHistory));
  auto trimmed = co_await trimming;
  if (!trimmed) co_return trimmed;
  auto reporting = report(set, plan->status);
  co_return co_await reporting;
}

Task<Result<>> DaemonSetController::report(SetPtr set, api::DaemonSetStatus status) {
  if (status == set->status) co_return Result<>{};
  json::value patch = json::object{{"status",
                                    {{"currentNumberScheduled", status.currentNumberScheduled},
                                     {"numberMisscheduled", status.numberMisscheduled},
                                     {"desiredNumberScheduled", status.desiredNumberScheduled},
                                     {"numberReady", status.numberReady},
                                     {"observedGeneration", status.observedGeneration},
                                     {"updatedNumberScheduled", status.updatedNumberScheduled},
                                     {"numberAvailable", status.numberAvailable},
                                     {"numberUnavailable", status.numberUnavailable}}}};
  auto patching = patchIfThere(api_, api::DaemonSet::kType, api::keyOf(set->metadata),
                               std::move(patch), "status");
  co_return co_await patching;
}

}  // namespace koord::cluster
