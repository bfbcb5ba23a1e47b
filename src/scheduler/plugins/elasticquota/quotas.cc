#include "scheduler/plugins/elasticquota/quotas.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "model/well_known.h"
#include "scheduler/framework/store_feed.h"

namespace koord::scheduler {

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::ElasticQuota>&, kube::Api&, Executor&,
                                                  Random);

Quotas& Quotas::of(Handle& handle, const ElasticQuotaArgs& args) {
  return handle.shared().of<Quotas>([&] { return std::make_unique<Quotas>(handle, args); });
}

Quotas::Quotas(Handle& handle, const ElasticQuotaArgs& args)
    : handle_(handle),
      cluster_(handle.cluster()),
      args_(args),
      ignoreOverhead_(handle.enabled("ElasticQuotaIgnorePodOverhead")),
      ignoreTerminating_(handle.enabled("ElasticQuotaImmediateIgnoreTerminatingPod")),
      ignoreOverdue_(handle.enabled("ElasticQuotaIgnoreTerminatingPod")),
      defaultQuota_(!handle.enabled("DisableDefaultQuota")),
      manyTrees_(handle.enabled("MultiQuotaTree")),
      settings_{args.enableMinQuotaScale, handle.enabled("ElasticQuotaGuaranteeUsage")},
      pods_(handle.knownPods()),
      ledger_(*this),
      latencies_(handle.executor()) {
  accounts_.onSweep = [this] { members_.clear(); };
  setBuiltIn(model::kDefaultQuota);
  setBuiltIn(model::kSystemQuota);
  handle.stores().of<api::ElasticQuota>().listen(
      [this](const auto& before, const auto& after) { objectChanged(before, after); });
  pods_.listen([this](const PodPtr& before, const PodPtr& after) { podChanged(before, after); });
  cluster_.addLedger(ledger_);
}

// --- Trees.

NamedTree& Quotas::tree(const std::string& id) {
  auto& slot = trees_[id];
  if (!slot) {
    slot = std::make_unique<NamedTree>(id, settings_);
    treeTotalsChanged_ = true;
  }
  return *slot;
}

std::uint64_t Quotas::versionOfTrees() const {
  std::uint64_t version = 0;
  for (const auto& [id, tree] : trees_) version += tree->quotas().version();
  return version;
}

void Quotas::tell() {
  if (changed_ && !cluster_.inSimulation()) changed_();
}

// Adds the amounts of all accounts of the tree to its new columns.
void Quotas::feed(NamedTree& tree, const quota::Columns& fresh) {
  if (fresh.empty()) return;
  quota::QuotaTree& quotas = tree.quotas();
  accounts_.forEach([&](const Account& account) {
    if (account.place.tree != &tree) return;
    for (const auto& [resource, sum] : account.sums)
      if (const auto column = quotas.columnOf(resource); column && fresh.contains(*column))
        quotas.addSelf(account.place.quota, *column, sum);
  });
}

// The quotas that exist with or without an object.
void Quotas::setBuiltIn(std::string_view name) {
  Known& known = known_[std::string(name)];
  // From an object that is gone now.
  const QuotaObject before = std::exchange(known.read, {});
  treeTotalsChanged_ |= before.treeRoot;
  known.read.spec.apart = true;
  known.read.spec.max = known.read.spec.weight =
      withoutLimit(amountsOf(builtInMax(name), cluster_.resources()));
  quota::Columns fresh;
  NamedTree& defaultTree = tree("");
  known.place = {&defaultTree, defaultTree.quotas().set(name, known.read.spec, fresh)};
  feed(defaultTree, fresh);
  bindNamespaces(std::string(name), before.namespaces, {});
  reassignNamespaces(name, before.namespaces);
}

Place Quotas::find(std::string_view name) const {
  if (name == model::kRootQuota) return {trees_.at("").get(), quota::QuotaTree::kRoot};
  const auto it = known_.find(name);
  return it == known_.end() ? Place() : it->second.place;
}

std::shared_ptr<const api::ElasticQuota> Quotas::object(std::string_view name) const {
  const auto it = known_.find(name);
  return it == known_.end() ? nullptr : it->second.counting;
}

api::ResourceList Quotas::builtInMax(std::string_view name) const {
  const auto said = object(name);
  if (said && !said->spec.max.empty()) return said->spec.max;
  return name == model::kDefaultQuota ? args_.defaultQuotaGroupMax : args_.systemQuotaGroupMax;
}

api::ResourceList Quotas::unschedulable(std::string_view name) const {
  const auto it = known_.find(name);
  return it != known_.end() && it->second.read.treeRoot ? it->second.read.unschedulable
                                                        : api::ResourceList();
}

// --- Objects.

void Quotas::objectChanged(const std::shared_ptr<const api::ElasticQuota>& before,
                           const std::shared_ptr<const api::ElasticQuota>& after) {
  const api::ObjectMeta& meta = (after ? after : before)->metadata;
  const std::string name = meta.name;
  const Latencies::Timer timer(latencies_,
                               after ? QuotaOperation::UpdateQuota : QuotaOperation::DeleteQuota);
  Known& known = known_[name];
  if (after) {
    known.objects[api::keyOf(meta)] = after;
  } else {
    known.objects.erase(api::keyOf(meta));
  }
  known.counting = nullptr;
  for (const auto& [key, object] : known.objects) {
    const auto age = [](const api::ElasticQuota& quota) {
      return quota.metadata.creationTimestamp.value_or(WallTime::min());
    };
    if (!known.counting || age(*object) < age(*known.counting)) known.counting = object;
  }
  if (name == model::kRootQuota) return;
  ++version_;
  if (known.counting) {
    count(name, known);
  } else if (name == model::kDefaultQuota || name == model::kSystemQuota) {
    setBuiltIn(name);
  } else {
    noteDeletion(before);
    remove(name);
  }
  tell();
}

// The webhook keeps quotas that are in use. If it was bypassed, an event says where their pods
// count now.
void Quotas::noteDeletion(const std::shared_ptr<const api::ElasticQuota>& last) {
  constexpr std::size_t kKept = 1000;
  const Place place = find(last->metadata.name);
  if (!place || notes_.size() >= kKept) return;
  bool used = false;
  accounts_.forEach(
      [&](const Account& account) { used |= account.place == place && !account.idle(); });
  if (!used) return;
  notes_.push_back(
      {last, "QuotaDeletedInUse",
       fmt::format("metadata.name: quota {} was deleted while pods belong to it; {}",
                   last->metadata.name,
                   defaultQuota_ ? fmt::format("they belong to {} now", model::kDefaultQuota)
                                 : std::string("they are not limited"))});
}

void Quotas::count(const std::string& name, Known& known) {
  const QuotaObject before = std::exchange(known.read, readQuota(*known.counting, resources()));
  QuotaObject& read = known.read;
  if (read.spec.apart && known.counting->spec.max.empty()) {
    // Built in, and the object does not set it.
    read.spec.max = read.spec.weight = withoutLimit(amountsOf(builtInMax(name), resources()));
  }
  NamedTree& home = tree(manyTrees_ && !read.spec.apart ? read.tree : "");
  treeTotalsChanged_ |= manyTrees_ && (read.treeRoot || before.treeRoot);
  if (known.place && known.place.tree != &home) {
    // Its pods move with it: removed here, and added again by rehome.
    const Place old = std::exchange(known.place, {});
    reassignNamespaces(name, before.namespaces);
    old.quotas().erase(old.quota);
    dropIfEmpty(old.tree);
  }
  quota::Columns fresh;
  known.place = {&home, home.quotas().set(name, read.spec, fresh)};
  feed(home, fresh);
  bindNamespaces(name, before.namespaces, read.namespaces);
  std::vector<std::string> namespaces = before.namespaces;
  namespaces.insert(namespaces.end(), read.namespaces.begin(), read.namespaces.end());
  reassignNamespaces(name, namespaces);
}

void Quotas::remove(const std::string& name) {
  const auto it = known_.find(name);
  const Place old = std::exchange(it->second.place, {});
  const std::vector<std::string> namespaces = it->second.read.namespaces;
  treeTotalsChanged_ |= it->second.read.treeRoot;
  bindNamespaces(name, namespaces, {});
  known_.erase(it);
  if (!old) return;
  reassignNamespaces(name, namespaces);
  old.quotas().erase(old.quota);
  dropIfEmpty(old.tree);
}

// Any user may name a tree, so a tree without quotas is removed, except the default tree.
void Quotas::dropIfEmpty(NamedTree* tree) {
  if (tree->id.empty() || tree->quotas().size() > 0) return;
  version_ += tree->quotas().version() + 1;
  const std::string id = tree->id;
  trees_.erase(id);
  treeTotalsChanged_ = true;
}

void Quotas::bindNamespaces(const std::string& name, const std::vector<std::string>& before,
                            const std::vector<std::string>& after) {
  for (const std::string& bound : before) {
    const auto it = bound_.find(bound);
    if (it == bound_.end()) continue;
    it->second.erase(name);
    if (it->second.empty()) bound_.erase(it);
  }
  for (const std::string& bound : after) bound_[bound].insert(name);
}

std::vector<std::string> Quotas::problemsOf(const std::string& name) const {
  const auto it = known_.find(name);
  if (it == known_.end() || !it->second.place) return {};
  const Known& known = it->second;
  std::vector<std::string> problems = known.read.problems;
  const quota::QuotaTree& quotas = known.place.quotas();
  const std::string_view parent = model::kLabelQuotaParent;
  switch (quotas.parentState(known.place.quota)) {
    case quota::QuotaTree::ParentState::ParentMissing:
      problems.push_back(
          fmt::format("metadata.labels[{}]: parent quota {} does not exist; the quota is a child "
                      "of {} until it exists",
                      parent, known.read.spec.parent, model::kRootQuota));
      break;
    case quota::QuotaTree::ParentState::Cycle:
      problems.push_back(
          fmt::format("metadata.labels[{}]: quota {} is this quota or one of its descendants; the "
                      "quota is a child of {} instead",
                      parent, known.read.spec.parent, model::kRootQuota));
      break;
    case quota::QuotaTree::ParentState::ParentFound:
      if (known.read.spec.parent.empty() || quotas.spec(quotas.parent(known.place.quota)).isParent)
        break;
      problems.push_back(fmt::format(
          "metadata.labels[{}]: quota {} lacks the parent label {}; it counts as a parent", parent,
          known.read.spec.parent, model::kLabelQuotaIsParent));
      break;
  }
  for (const std::string& bound : known.read.namespaces) {
    const std::string& first = *bound_.at(bound).begin();
    if (first == name) continue;
    problems.push_back(fmt::format(
        "metadata.annotations[{}]: pods of namespace {} belong to quota {}, which also lists it",
        model::kAnnotationQuotaNamespaces, bound, first));
  }
  for (const auto& [key, object] : known.objects) {
    if (object == known.counting) continue;
    problems.push_back(
        fmt::format("metadata.name: {} has the same name and is ignored because it is younger: "
                    "names of quotas are unique in the cluster",
                    key.toString()));
  }
  return problems;
}

std::vector<PodPtr> Quotas::podsOf(const Place& place) const {
  std::vector<PodPtr> pods;
  for (const auto& record : cluster_.pods()) {
    const Charge* charge = ledger_.in(record.grants);
    if (charge && charge->account->place == place) pods.push_back(record.info);
  }
  return pods;
}

// --- The quota of a pod.

Place Quotas::resolve(bool labelled, std::string_view text) const {
  const auto placeIn = [&](std::string_view name) {
    const auto it = known_.find(name);
    return it == known_.end() ? Place() : it->second.place;
  };
  if (labelled) {
    if (const Place named = placeIn(text)) return named;
  } else {
    const auto same = known_.find(text);
    if (same != known_.end() && same->second.place && same->second.counting &&
        same->second.counting->metadata.namespace_ == text)
      return same->second.place;
    if (const auto bound = bound_.find(text); bound != bound_.end())
      for (const std::string& name : bound->second)
        if (const Place place = placeIn(name)) return place;
  }
  return defaultQuota_ ? placeIn(model::kDefaultQuota) : Place();
}

Place Quotas::placeOf(const PodInfo& pod) const {
  if (const Member* known = members_.find(pod))
    return known->account ? known->account->place : Place();
  const auto* label = api::findIn(pod.pod->metadata.labels, model::kLabelQuotaName);
  const bool labelled = label && !label->empty();
  if (!labelled && !defaultQuota_) return {};
  const std::string_view text = labelled ? std::string_view(*label) : pod.pod->metadata.namespace_;
  if (const Account* account = accounts_.find(labelled, text)) return account->place;
  return resolve(labelled, text);
}

const Quotas::Member& Quotas::memberOf(const PodInfo& pod) {
  return members_.of(pod, [&]() -> Member {
    const bool fixed = isFixed(pod.pod->metadata.labels);
    const auto* label = api::findIn(pod.pod->metadata.labels, model::kLabelQuotaName);
    const bool labelled = label && !label->empty();
    if (!labelled && !defaultQuota_) return {nullptr, fixed, nullptr, {}};
    bool fresh = false;
    const AccountPtr& account =
        accounts_.get(labelled, labelled ? *label : pod.pod->metadata.namespace_, fresh);
    if (fresh) account->place = resolve(account->labelled, account->text);
    return {account, fixed, ledger_.sharedGrant({account, fixed, nullptr}), asked(pod, nullptr)};
  });
}

bool Quotas::fixed(const PodInfo& pod) const {
  const Member* known = members_.find(pod);
  return known ? known->fixed : isFixed(pod.pod->metadata.labels);
}

// Moves accounts to the quotas where they belong now: those with this label, and those of the
// namespace of the same name and of these namespaces.
void Quotas::reassignNamespaces(std::string_view label, std::span<const std::string> namespaces) {
  const auto move = [&](bool labelled, std::string_view text) {
    Account* const account = accounts_.find(labelled, text);
    if (account) Accounts::move(*account, resolve(labelled, text));
  };
  move(true, label);
  move(false, label);
  for (const std::string& name : namespaces) move(false, name);
}

// --- Pods.

std::int64_t Quotas::overheadOf(const PodInfo& pod, ResourceId resource,
                                std::int64_t amount) const {
  const api::ResourceList& overhead = pod.pod->spec.overhead;
  if (overhead.empty()) return 0;
  const std::string& name = cluster_.resources().name(resource);
  const auto it = overhead.find(name);
  return it == overhead.end() ? 0 : std::min(amount, amountOf(name, it->second));
}

bool Quotas::leaves(const PodInfo& pod) const {
  return pod.pod->metadata.deletionTimestamp.has_value();
}

bool Quotas::ignores(const PodInfo& pod) const {
  return (ignoreTerminating_ && leaves(pod)) || (ignoreOverdue_ && overdue_.contains(pod.uid()));
}

void Quotas::want(const PodInfo& pod, int sign) {
  if (ignores(pod)) return;
  const Member& member = memberOf(pod);
  if (!member.account) return;
  Accounts::add(*member.account, member.amounts, &quota::Change::request, sign);
  if (member.fixed)
    Accounts::add(*member.account, member.amounts, &quota::Change::fixedRequest, sign);
}

void Quotas::podChanged(const PodPtr& before, const PodPtr& after) {
  const Latencies::Timer timer(latencies_, !before  ? QuotaOperation::OnPodAdd
                                           : !after ? QuotaOperation::OnPodDelete
                                                    : QuotaOperation::OnPodUpdate);
  // Nearly always a status update.
  const bool same = before && after && leaves(*before) == leaves(*after) &&
                    ((before->shape != 0 && before->shape == after->shape) ||
                     (before->request == after->request && before->labelSet == after->labelSet));
  if (!same) {
    if (before) want(*before, -1);
    if (after) want(*after, 1);
  }
  const std::string& uid = (after ? after : before)->uid();
  if (ignoreOverdue_) {
    if (!after) {
      terminating_.erase(uid);
      overdue_.erase(uid);
    } else if (leaves(*after) && !overdue_.contains(uid)) {
      terminating_.insert(uid);
    }
  }
  if (!same) tell();
}

void Quotas::ignoreOverdue() {
  const WallTime now = handle_.executor().wallNow();
  std::vector<PodPtr> over;
  for (const std::string& uid : terminating_) {
    const PodPtr pod = pods_.find(cluster_, uid);
    if (pod && leaves(*pod) && *pod->pod->metadata.deletionTimestamp < now) over.push_back(pod);
  }
  for (const PodPtr& pod : over) {
    want(*pod, -1);
    terminating_.erase(pod->uid());
    overdue_.insert(pod->uid());
    cluster_.regrant(pod->uid(), ledger_.id(), nullptr);
  }
  if (!over.empty()) tell();
}

void Quotas::charge(const PodInfo& pod, const Charge& charge, int sign) {
  Account& account = *charge.account;
  if (!charge.fixed) Accounts::addPriority(account, pod.priority, sign);
  const Member* const known = charge.within ? nullptr : members_.find(pod);
  const auto add = [&](const Amounts& amounts, quota::Sum quota::Change::* sum,
                       quota::Sum quota::Change::* ofFixed, int change) {
    Accounts::add(account, amounts, sum, change);
    if (charge.fixed) Accounts::add(account, amounts, ofFixed, change);
  };
  if (known) {
    add(known->amounts, &quota::Change::used, &quota::Change::fixedUsed, sign);
    return tell();
  }
  const Amounts charged = asked(pod, charge.within.get());
  // What a reservation is charged for is not requested again.
  if (charge.within) {
    add(asked(pod, nullptr), &quota::Change::request, &quota::Change::fixedRequest, -sign);
    add(charged, &quota::Change::request, &quota::Change::fixedRequest, sign);
  }
  add(charged, &quota::Change::used, &quota::Change::fixedUsed, sign);
  tell();
}

// --- Runtimes.

// The resources of the nodes: all of them for the default tree, less what other trees have.
void Quotas::syncTotals() {
  if (allocatable_ == cluster_.allocatableVersion() && !treeTotalsChanged_) return;
  allocatable_ = cluster_.allocatableVersion();
  treeTotalsChanged_ = false;
  std::map<quota::ResourceKey, quota::Sum> given;
  std::map<std::string, std::map<quota::ResourceKey, std::int64_t>> ofTrees;
  if (manyTrees_) {
    for (const auto& [name, known] : known_) {
      if (!known.read.treeRoot || !known.place || known.place.tree->id.empty()) continue;
      for (const auto& [resource, amount] : known.read.treeTotal) {
        ofTrees[known.place.tree->id][resource] += amount;
        if (!known.read.ignoresDefaultTree) given[resource] += amount;
      }
    }
  }
  const std::size_t count = resources().size();
  everPresent_.resize(count);
  for (ResourceId resource = 0; resource < count; ++resource) {
    quota::Sum sum = 0;
    for (const std::int64_t amount : cluster_.allocatable(resource)) sum += amount;
    if (sum > 0) everPresent_[resource] = true;
    if (const auto it = given.find(resource); it != given.end()) sum -= it->second;
    for (const auto& [id, tree] : trees_) {
      if (id.empty()) {
        tree->quotas().setTotal(
            resource, everPresent_[resource] ? std::optional(quota::clamped(sum)) : std::nullopt);
        continue;
      }
      const auto& totals = ofTrees[id];
      const auto it = totals.find(resource);
      tree->quotas().setTotal(resource,
                              it == totals.end() ? std::nullopt : std::optional(it->second));
    }
  }
}

void Quotas::refresh(const Place& place) {
  if (cluster_.inSimulation()) return;
  syncTotals();
  place.quotas().refresh(place.quota);
}

void Quotas::refreshAll() {
  if (cluster_.inSimulation()) return;
  const Latencies::Timer timer(latencies_, QuotaOperation::RefreshRuntime);
  syncTotals();
  for (const auto& [id, tree] : trees_) tree->quotas().refreshAll();
}

// --- Checks.

std::string Quotas::verifyRequests() {
  std::map<Account*, ResourceSums> right;
  const auto add = [&](Account* account, const PodInfo& pod, const Resources* within, int sign) {
    auto& sums = right[account];
    const bool fixed = isFixed(pod.pod->metadata.labels);
    forEachAmount(pod, within, [&](ResourceId resource, std::int64_t amount) {
      quota::Change& sum = sums[resource];
      sum.request += sign * quota::Sum{amount};
      if (fixed) sum.fixedRequest += sign * quota::Sum{amount};
    });
  };
  pods_.forEach(cluster_, [&](const PodPtr& pod) {
    if (ignores(*pod)) return;
    if (const AccountPtr account = accountOf(*pod)) add(account.get(), *pod, nullptr, 1);
  });
  for (const auto& record : cluster_.pods()) {
    const Charge* charge = ledger_.in(record.grants);
    if (!charge || !charge->within) continue;
    add(charge->account.get(), *record.info, nullptr, -1);
    add(charge->account.get(), *record.info, charge->within.get(), 1);
  }
  std::string difference;
  accounts_.forEach([&](Account& account) {
    const ResourceSums& sums = right[&account];
    for (const auto& [resource, sum] : account.sums) {
      const quota::Change counted = sums.of(resource);
      const quota::Change kept = sum;
      if (kept.request == counted.request && kept.fixedRequest == counted.fixedRequest) continue;
      difference += fmt::format("{} {}: request is {}, counted {}; ", account.text,
                                resources().name(resource), quota::clamped(kept.request),
                                quota::clamped(counted.request));
      Accounts::add(account, resource,
                    {.request = counted.request - kept.request,
                     .fixedRequest = counted.fixedRequest - kept.fixedRequest});
    }
  });
  return difference;
}

std::string Quotas::verifySome(std::size_t quotas) {
  std::string difference;
  for (std::size_t n = 0; n < std::min(quotas, known_.size()); ++n) {
    auto it = known_.upper_bound(nextVerified_);
    if (it == known_.end()) it = known_.begin();
    nextVerified_ = it->first;
    const Place& place = it->second.place;
    if (!place) continue;
    refresh(place);
    std::string found = place.quotas().verifyQuota(place.quota);
    if (found.empty()) continue;
    difference += found + "; ";
    place.quotas().rebuild();
  }
  return difference;
}

}  // namespace koord::scheduler
