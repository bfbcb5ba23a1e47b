#include "simulation/features/allowances.h"

#include <algorithm>
#include <limits>

#include "model/pod_requests.h"
#include "scheduler/testing/small_plugins.h"

namespace koord::simulation {

using scheduler::testing::Allowance;
using scheduler::testing::AllowanceLimit;
using scheduler::testing::amountIn;

namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

std::int64_t cpuOf(const api::Pod& pod) {
  return amountIn(model::podRequests(pod), "cpu");
}

std::int64_t limitOf(scheduler::Handle& handle, const std::string& namespace_) {
  std::int64_t least = kNone;
  for (const auto& [key, object] : handle.stores().of<AllowanceLimit>().all())
    if (key.namespace_ == namespace_) least = std::min(least, object->spec.milliCpu);
  return least;
}

}  // namespace

AllowancesFeature::AllowancesFeature(const Surroundings& world, Random random)
    : Feature(world, random), limits_(world.api, world.loop) {
  const auto seen = [this](const auto&) { invariants_.touched(); };
  limits_.addHandler({seen, [seen](const auto&, const auto& after) { seen(after); }, seen});
}

void AllowancesFeature::join(scheduler::Registry& registry) {
  registry[std::string(Allowance::kName)] = [](scheduler::Fields&, scheduler::Handle& handle) {
    return std::make_unique<Allowance>(handle);
  };
}

std::vector<std::string> AllowancesFeature::plugins() const {
  return {std::string(Allowance::kName)};
}

void AllowancesFeature::begin() {
  define(Limit::kType);
}

void AllowancesFeature::start() {
  limits_.start();
  act();
}

void AllowancesFeature::act() {
  const std::string namespace_ = pick({"default", "other"});
  const std::string name = pick({"one", "two"});
  const auto known = limits_.get({namespace_, name});
  const std::int64_t amount = 1000 * (1 + static_cast<std::int64_t>(random_.below(12)));
  if (!known) {
    journal_.note("pods of {} are allowed {}m by {}", namespace_, amount, name);
    Limit limit;
    limit.metadata.name = name;
    limit.metadata.namespace_ = namespace_;
    limit.spec.milliCpu = amount;
    write(kube::createObject(api_, Limit::kType, {namespace_, ""}, api::encodeObject(limit)));
  } else if (random_.chance(0.3)) {
    journal_.note("the allowance {} of {} ends", name, namespace_);
    remove(Limit::kType, known->metadata);
  } else {
    journal_.note("pods of {} are allowed {}m by {} now", namespace_, amount, name);
    patch(Limit::kType, known->metadata, {{"spec", {{"milliCpu", amount}}}});
  }
}

void AllowancesFeature::addRules(scheduler::Handle& handle, const std::string& without,
                                 Model& model) {
  const auto& ledger = Allowance::ledgerOf(handle);
  // By namespace. Pods of deleted nodes count, although the model does not have them; nominated
  // pods do not.
  struct Charges {
    std::map<std::string, std::int64_t> hidden, limits;
  };
  auto charges = std::make_shared<Charges>();
  for (const auto& record : handle.cluster().pods()) {
    const std::int64_t* amount = ledger.in(record.grants);
    if (!amount || record.info->uid() == without) continue;
    const std::string& namespace_ = record.info->pod->metadata.namespace_;
    if (!model.pods.contains(record.info->uid())) charges->hidden[namespace_] += *amount;
  }
  for (const char* namespace_ : {"default", "other"})
    charges->limits[namespace_] = limitOf(handle, namespace_);
  model.admit = [charges](const Model& now, const api::Pod& pod, const api::Node&) -> std::string {
    const std::string& namespace_ = pod.metadata.namespace_;
    const auto limit = charges->limits.find(namespace_);
    if (limit == charges->limits.end() || limit->second == kNone) return "";
    std::int64_t sum = cpuOf(pod) + charges->hidden[namespace_];
    for (const auto& [uid, other] : now.pods)
      if (other->metadata.namespace_ == namespace_ && !now.nominatedOnly.contains(uid))
        sum += cpuOf(*other);
    return sum > limit->second ? "beyond the allowance" : "";
  };
}

void AllowancesFeature::chosen(scheduler::Handle& handle, const api::Pod& pod, const Model&,
                               Choice& choice) {
  const std::string& namespace_ = pod.metadata.namespace_;
  known_[{choice.process, namespace_}].push_back({choice.time, limitOf(handle, namespace_)});
}

// By what the process knew then, or when it chose nodes for other pods since: those may be bound
// already.
void AllowancesFeature::bound(const api::Pod& pod, const Choice& choice) {
  const std::string& namespace_ = pod.metadata.namespace_;
  std::int64_t limit = 0;
  for (const Known& known : known_[{choice.process, namespace_}])
    if (known.time >= choice.time) limit = std::max(limit, known.limit);
  std::int64_t sum = 0;
  for (const auto& other : invariants_.others(choice))
    if (other->metadata.namespace_ == namespace_) sum += cpuOf(*other);
  if (sum > limit)
    journal_.violated("allowances", "{} takes {} to {}m cpu of {}m", pod.metadata.name, namespace_,
                      sum, limit);
}

std::string AllowancesFeature::differences(scheduler::Handle& handle, const Model&) {
  std::map<std::string, std::int64_t> sums;
  for (const auto& pod : invariants_.pods.objects())
    if (!pod->spec.nodeName.empty() && !api::isTerminal(*pod))
      sums[pod->metadata.namespace_] += cpuOf(*pod);
  for (const char* namespace_ : {"default", "other"}) {
    std::int64_t least = kNone;
    for (const auto& limit : limits_.objects())
      if (limit->metadata.namespace_ == namespace_) least = std::min(least, limit->spec.milliCpu);
    if (limitOf(handle, namespace_) != least)
      return fmt::format("the limit of {} is {}", namespace_, least);
    const auto& used = Allowance::ledgerOf(handle).used;
    const auto kept = used.find(namespace_);
    if (const std::int64_t all = kept == used.end() ? 0 : kept->second; all != sums[namespace_])
      return fmt::format("pods of {} use {}m cpu, {}m are counted", namespace_, sums[namespace_],
                         all);
  }
  return "";
}

}  // namespace koord::simulation
