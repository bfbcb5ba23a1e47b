#include "simulation/decision_checker.h"

#include <algorithm>

#include "scheduler/framework/audit.h"
#include "simulation/departures.h"
#include "simulation/feature.h"
#include "simulation/foretelling.h"

namespace koord::simulation {

using scheduler::CycleState;
using scheduler::NodeId;
using scheduler::PodInfo;
using scheduler::PodPtr;
using scheduler::PostFilterResult;
using scheduler::Status;
using scheduler::testing::Reference;

class DecisionChecker::AtWork final : public scheduler::Plugin,
                                      public scheduler::PreFilterPlugin,
                                      public scheduler::PostFilterPlugin,
                                      public scheduler::ReservePlugin,
                                      public scheduler::EnqueueExtensions {
 public:
  explicit AtWork(DecisionChecker* checker) : checker_(checker) {}
  std::string_view name() const override { return kName; }
  scheduler::PreFilterResult preFilter(CycleState&, const PodInfo& pod) override {
    if (checker_ && !checker_->away_) checker_->tried(pod);
    return {Status::skip(), {}};
  }
  // Runs where plugins other than DefaultPreemption may end the attempt.
  PostFilterResult postFilter(CycleState&, const PodPtr& pod,
                              const scheduler::Diagnosis& diagnosis) override {
    if (checker_) checker_->rejected(pod, diagnosis);
    PostFilterResult none;
    none.status.code = scheduler::Code::Unschedulable;
    return none;
  }
  Status reserve(CycleState&, const PodPtr& pod, NodeId node) override {
    if (checker_) checker_->chosen(pod, node);
    return {};
  }
  void unreserve(CycleState&, const PodPtr&, NodeId) override {}
  // It rejects nothing, so no event needs to wake a pod for it.
  std::vector<scheduler::EventRegistration> eventsToRegister() const override { return {}; }

 private:
  DecisionChecker* checker_;
};

class DecisionChecker::Preemption final : public scheduler::Plugin,
                                          public scheduler::PreEnqueuePlugin,
                                          public scheduler::PostFilterPlugin,
                                          public scheduler::EnqueueExtensions {
 public:
  Preemption(DecisionChecker* checker, std::unique_ptr<Plugin> inner)
      : checker_(checker), inner_(std::move(inner)) {}
  std::string_view name() const override { return kPreemption; }
  Status preEnqueue(const PodInfo& pod) override {
    return dynamic_cast<PreEnqueuePlugin&>(*inner_).preEnqueue(pod);
  }
  PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                              const scheduler::Diagnosis& diagnosis) override {
    auto& preemption = dynamic_cast<PostFilterPlugin&>(*inner_);
    if (!checker_) return preemption.postFilter(state, pod, diagnosis);
    checker_->rejected(pod, diagnosis);
    const Model model = checker_->model();
    PostFilterResult result = preemption.postFilter(state, pod, diagnosis);
    checker_->preempted(pod, result, model);
    return result;
  }
  std::vector<scheduler::EventRegistration> eventsToRegister() const override {
    return dynamic_cast<const EnqueueExtensions&>(*inner_).eventsToRegister();
  }

 private:
  DecisionChecker* checker_;
  std::unique_ptr<Plugin> inner_;
};

class DecisionChecker::Audit final : public scheduler::WorkloadAudit {
 public:
  explicit Audit(DecisionChecker& checker) : checker_(checker) {}
  void onPod(const PodInfo&) override {}
  void onPodDeleted(const PodInfo&) override {}
  void attempted(const PodInfo&) override {}
  void failed(const PodInfo&, const std::string&) override {}
  void scheduled(const PodInfo&, const std::string&) override {}
  void preempted(const PodInfo&, scheduler::PreemptionOutcome, const std::string&) override {}
  void victims(const PodInfo& preemptor, std::span<const PodPtr> victims) override {
    checker_.decisions_.departures->told(checker_.process_, *checker_.handle_, preemptor, victims);
  }
  void podForgotten(const std::string&) override {}
  void onGroup(const std::string&, const GroupSeen&) override {}
  void groupCompleted(const std::string&, const std::string&) override {}
  void groupAttempted(const std::string&) override {}
  void groupFailed(const std::string&) override {}
  void groupScheduled(const std::string&) override {}
  void onGroupDeleted(const std::string&) override {}

 private:
  DecisionChecker& checker_;
};

DecisionChecker::DecisionChecker(std::string process, Journal& journal, Decisions& decisions,
                                 const Features& features)
    : process_(std::move(process)),
      journal_(journal),
      decisions_(decisions),
      features_(features),
      audit_(std::make_unique<Audit>(*this)) {}

DecisionChecker::~DecisionChecker() = default;

void DecisionChecker::join(scheduler::Registry& registry) {
  registry[std::string(kName)] = [this](scheduler::Fields&, scheduler::Handle& handle) {
    handle_ = &handle;
    using scheduler::AuditSlot;
    handle.shared().of<AuditSlot>([] { return std::make_unique<AuditSlot>(); }).audit =
        audit_.get();
    return std::make_unique<AtWork>(this);
  };
  auto& preemption = registry.at(std::string(kPreemption));
  preemption = [this, make = preemption](scheduler::Fields& args, scheduler::Handle& handle) {
    return std::make_unique<Preemption>(this, make(args, handle));
  };
}

void DecisionChecker::joinWithoutChecks(scheduler::Registry& registry) {
  registry[std::string(kName)] = [](scheduler::Fields&, scheduler::Handle&) {
    return std::make_unique<AtWork>(nullptr);
  };
  auto& preemption = registry.at(std::string(kPreemption));
  preemption = [make = preemption](scheduler::Fields& args, scheduler::Handle& handle) {
    return std::make_unique<Preemption>(nullptr, make(args, handle));
  };
}

PodObject DecisionChecker::onNode(const scheduler::Cluster::PodRecord& record) {
  const PodInfo& info = *record.info;
  if (!info.pod->spec.nodeName.empty()) return info.pod;
  if (assumed_.size() > 1000) assumed_.clear();
  auto& known = assumed_[&info];
  const std::string& node = handle_->cluster().node(record.node).name;
  if (!known.second || known.second->spec.nodeName != node) {
    auto there = std::make_shared<api::Pod>(*info.pod);
    there->spec.nodeName = node;
    known = {record.info, std::move(there)};
  }
  return known.second;
}

Model DecisionChecker::model(const std::string& without, const StorageModel* storage) {
  Model model;
  const auto& cluster = handle_->cluster();
  cluster.live().forEach(
      [&](NodeId id) { model.nodes[cluster.node(id).name] = cluster.node(id).object; });
  for (const auto& record : cluster.pods())
    if (record.info->uid() != without && cluster.live().contains(record.node))
      model.pods[record.info->uid()] = onNode(record);
  for (const auto& [key, object] : handle_->stores().of<api::Namespace>().all())
    model.namespaces[key.name] = object->metadata.labels;
  for (const auto& [node, pods] : handle_->nominator().byNode())
    for (const PodPtr& pod : pods)
      if (model.nodes.contains(node)) model.nominated[node].push_back(pod->pod);
  addStorage(model, storage ? *storage : StorageModel(handle_->stores()));
  for (const auto& feature : features_) feature->addRules(*handle_, without, model);
  return model;
}

bool DecisionChecker::placedWithOthers(const api::Pod& pod) const {
  return std::ranges::any_of(features_,
                             [&](const auto& feature) { return feature->placesTogether(pod); });
}

std::vector<BudgetObject> DecisionChecker::budgets() const {
  std::map<std::string, BudgetObject> sorted;
  for (const auto& [key, object] : handle_->stores().of<api::PodDisruptionBudget>().all())
    sorted[key.toString()] = object;
  std::vector<BudgetObject> budgets;
  for (const auto& [key, object] : sorted) budgets.push_back(object);
  return budgets;
}

// Searches of preemption count, too: a plan for a gang visits every member once per victim.
void DecisionChecker::countAtOnce(const PodInfo& pod) {
  constexpr std::size_t kTooOften = 20'000;
  const SteadyTime now = journal_.clock().steadyNow();
  if (std::exchange(instant_, now) != now) triedAtOnce_ = 0;
  if (++triedAtOnce_ != kTooOften) return;
  journal_.violated("time goes on", "{} tries pods {} times at one instant, {} the last of them",
                    process_, kTooOften, pod.key());
  if (onRunaway) onRunaway();
}

// Waiting pods that wake each other by what they write would be tried without end.
void DecisionChecker::checkRests(const PodInfo& pod, std::int64_t attempts, History& history) {
  constexpr std::int64_t kTooOften = 100;
  const WallTime second = std::chrono::floor<std::chrono::seconds>(journal_.clock().wallNow());
  if (std::exchange(history.second, second) != second) history.attemptsBefore = attempts;
  if (attempts - history.attemptsBefore == kTooOften)
    journal_.violated("waiting pods rest", "{} tries {} {} times within a second", process_,
                      pod.key(), kTooOften);
}

void DecisionChecker::tried(const PodInfo& pod) {
  countAtOnce(pod);
  if (decisions_.followed.contains(process_))
    journal_.violated("one leader", "{} tries {} after {} began to", process_, pod.key(),
                      decisions_.leader);
  if (decisions_.leader != process_) {
    if (!decisions_.leader.empty()) decisions_.followed.insert(decisions_.leader);
    decisions_.leader = process_;
  }

  ++decisions_.attempts;
  if (decisions_.foretelling && received)
    decisions_.foretelling->tried(process_, pod.uid(), received());
  storage_.emplace(handle_->stores());
  History& history = history_[pod.uid()];
  const auto* log = scheduler_->decisions().of(pod.key());
  const bool again = history.attempts > 0 && log && !log->empty();
  ++history.attempts;
  history.nominated = handle_->nominator().nodeOf(pod.uid());
  journal_.note("{} tries {} for the {}. time", process_, pod.key(), history.attempts);
  if (!again) return;
  const scheduler::Decision& last = log->back();
  checkRests(pod, last.attempt, history);
  if (placedWithOthers(*pod.pod)) return;
  // PreBind finds out later what other pods got since the choice.
  if (last.result == "unschedulable" && last.time == std::exchange(history.chosen, WallTime{}) &&
      last.message.find("meanwhile") == std::string::npos)
    journal_.violated("what is chosen is had", "{} had a node, and then: {}", pod.key(),
                      last.message);
  if (last.time == std::exchange(history.lastEnd, last.time)) return;  // already counted
  // An attempt without any node has no rejection: upstream counts it as an error, too.
  const bool error =
      last.result == "error" || last.message == "no nodes available to schedule pods";
  error ? ++history.errors : ++history.rejections;
  if (!error) history.errors = 0;
  const int count = error ? history.errors : history.rejections;
  const auto seconds =
      std::chrono::seconds(std::min<std::int64_t>(10, 1LL << std::min(count - 1, 4)));
  const WallTime end = std::chrono::floor<std::chrono::seconds>(last.time + seconds);
  if (journal_.clock().wallNow() >= end) return;
  if (!error && scheduler_->queue().counts().active == 0) return;
  if (history.preemptions > 0) {
    --history.preemptions;
    return;
  }
  journal_.violated("back-off", "{} is tried {:.3f} s before its back-off ends ({} {}(s))",
                    pod.key(),
                    std::chrono::duration<double>(end - journal_.clock().wallNow()).count(), count,
                    error ? "error" : "rejection");
}

void DecisionChecker::chosen(const PodPtr& pod, NodeId id) {
  const auto& row = handle_->cluster().node(id);
  journal_.note("{} chooses {} for {}", process_, row.name, pod->key());
  if (!handle_->cluster().live().contains(id)) {
    journal_.violated("chosen node", "{} goes to {}, which does not exist", pod->key(), row.name);
    return;
  }
  Choice choice{process_, row.name, row.object->metadata.resourceVersion, {}};
  choice.limited = storage_->limits.contains(row.name);
  for (const auto& record : handle_->cluster().pods())
    choice.known[record.info->uid()] = handle_->cluster().node(record.node).name;
  choice.time = journal_.clock().steadyNow();
  choice.number = ++decisions_.chosen;
  history_[pod->uid()].chosen = journal_.clock().wallNow();
  const Model now = model(pod->uid(), &*storage_);
  for (const auto& feature : features_) feature->chosen(*handle_, *pod->pod, now, choice);
  // Of several choices of a node the last one counts; groups are tried a thousand times.
  auto& choices = decisions_.choices[pod->uid()];
  std::erase_if(choices, [&](const Choice& earlier) { return earlier.node == choice.node; });
  choices.push_back(std::move(choice));
  if (now.isUndecided(*pod->pod, *now.nodes.at(row.name))) return;
  const Reference reference(now, *pod->pod);
  const auto& outcome = reference.outcome();
  if (!outcome.feasible.contains(row.name)) {
    journal_.violated("chosen node", "{} does not fit on {}: {}", pod->key(), row.name,
                      fmt::format("{}", fmt::join(outcome.reasons.at(row.name), ", ")));
    return;
  }
  // A pod goes to its nominated node, which some units' objects have no field for.
  if (pod->pod->status.nominatedNodeName == row.name || history_[pod->uid()].nominated == row.name)
    return;
  // Scores depend on the set of candidate nodes.
  if (now.scoredByOthers || !undecidedNodes(now, *pod->pod).empty()) return;
  if (placedWithOthers(*pod->pod)) return;  // its domain may exclude better nodes
  for (const auto& [name, total] : outcome.totals)
    if (total > outcome.totals.at(row.name))
      journal_.violated("chosen node", "{} goes to {} with {}, {} has {}", pod->key(), row.name,
                        outcome.totals.at(row.name), name, total);
}

void DecisionChecker::rejected(const PodPtr& pod, const scheduler::Diagnosis& diagnosis) {
  if (placedWithOthers(*pod->pod)) return;
  if (std::exchange(rejected_, decisions_.attempts) == decisions_.attempts) return;  // seen above
  const Model now = model();
  const Reference reference(now, *pod->pod);
  std::set<std::string> feasible = reference.outcome().feasible;
  for (const std::string& node : undecidedNodes(now, *pod->pod)) feasible.erase(node);
  std::vector<std::string> texts;
  for (const std::string& name : feasible)
    texts.push_back(fmt::format("{} ({})", name, reasonsOn(name, diagnosis)));
  if (texts.empty()) return;
  journal_.violated("feasible nodes", "{} is called unschedulable but fits on {}", pod->key(),
                    fmt::format("{}", fmt::join(texts, ", ")));
}

// Why the scheduler rejects the node.
std::string DecisionChecker::reasonsOn(const std::string& name,
                                       const scheduler::Diagnosis& diagnosis) const {
  const auto node = handle_->cluster().findNode(name);
  if (!node || diagnosis.preFilter.rejected() || !diagnosis.verdicts) return diagnosis.message();
  if (diagnosis.absent.contains(*node)) return diagnosis.absentStatus.message();
  if (diagnosis.declined.contains(*node)) return diagnosis.declinedStatus.message();
  const auto& rejection = diagnosis.verdicts->rejection(diagnosis.verdicts->at(*node));
  return fmt::format("{}", fmt::join(rejection.reasons, ", "));
}

std::set<std::string> DecisionChecker::undecidedNodes(const Model& model, const api::Pod& pod) {
  std::set<std::string> names;
  for (const auto& [name, node] : model.nodes)
    if (model.isUndecided(pod, *node)) names.insert(name);
  return names;
}

// Nodes that plain evaluation can decide now may be undecided without the victims.
bool DecisionChecker::plainToPreemption(const Model& model, const api::Pod& pod) {
  Model without = model;
  std::erase_if(without.pods, [&](const auto& entry) {
    return entry.second->spec.priority.value_or(0) < pod.spec.priority.value_or(0);
  });
  return undecidedNodes(model, pod).empty() && undecidedNodes(without, pod).empty();
}

void DecisionChecker::preempted(const PodPtr& pod, const PostFilterResult& result,
                                const Model& model) {
  const std::size_t victims = result.status.ok() ? result.victims.value_or(0) : 0;
  const std::string& node = result.nomination.node;
  if (victims > 0)
    journal_.note("{} preempts {} pod(s) on {} for {}", process_, victims, node, pod->key());
  if (pod->pod->spec.preemptionPolicy == "Never" && victims > 0)
    journal_.violated("preemption policy", "{} must not preempt", pod->key());
  if (result.status.message().find("not eligible") != std::string::npos) return;
  if (placedWithOthers(*pod->pod) || !plainToPreemption(model, *pod->pod)) {
    // The verdict included other members of its group, or rules that plain evaluation does not
    // know; the limits of the pod alone still apply.
    for (const auto& other : model.pods)
      if (other.second->spec.nodeName == node &&
          other.second->spec.priority.value_or(0) < pod->priority)
        decisions_.victims.insert(other.first);
    ++history_[pod->uid()].preemptions;
    return;
  }
  const WallTime now = journal_.clock().wallNow();
  const auto plans = plansFor(model, *pod->pod, budgets(), now);
  if (!result.status.ok()) {
    if (!plans.empty())
      journal_.violated("preemption helps", "{} would fit on {} if {} pod(s) left ({})", pod->key(),
                        plans.begin()->first, plans.begin()->second.victims.size(),
                        result.status.message());
    return;
  }
  ++history_[pod->uid()].preemptions;
  const auto note = [&](const PodObject& victim) {
    decisions_.victims.insert(victim->metadata.uid);
  };
  const auto plan = plans.find(node);
  if (plan == plans.end() || plan->second.victims.empty()) {
    journal_.violated("preemption helps", "{} preempts on {} in vain", pod->key(), node);
    return;
  }
  std::ranges::for_each(plan->second.victims, note);
  if (victims != plan->second.victims.size())
    journal_.violated("least victims", "{} evicts {} on {}, {} are enough", pod->key(), victims,
                      node, plan->second.victims.size());
  for (const auto& [other, better] : plans)
    if (better.cost(now) < plan->second.cost(now))
      journal_.violated("least harm", "{} preempts on {}, {} would hurt less", pod->key(), node,
                        other);
}

}  // namespace koord::simulation
