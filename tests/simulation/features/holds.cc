#include "simulation/features/holds.h"

#include <algorithm>
#include <sstream>

#include "scheduler/testing/small_plugins.h"

namespace koord::simulation {

using scheduler::PodInfo;
using scheduler::PodLocation;
using scheduler::PodPtr;
using scheduler::Status;
using scheduler::testing::amountIn;
using scheduler::testing::Hold;
using scheduler::testing::HoldKind;
using scheduler::testing::Holds;

namespace {

constexpr std::size_t kMaxHolds = 6;

// A hold as the scheduler sees it.
PodObject unitOf(const Hold& hold) {
  auto unit = std::make_shared<api::Pod>();
  unit->metadata = hold.metadata;
  unit->metadata.annotations[Holds::kFor] = hold.spec.team;
  unit->spec.schedulerName = "default-scheduler";
  unit->spec.priority = hold.spec.priority;
  unit->spec.nodeName = hold.status.nodeName;
  if (!hold.status.nodeName.empty())
    unit->metadata.annotations[Holds::kBound] = hold.status.nodeName;
  auto& container = unit->spec.containers.emplace_back();
  container.name = "hold";
  container.resources.requests = hold.spec.requests;
  return unit;
}

// Holds as API objects.
class ApiHolds final : public HoldKind {
 public:
  explicit ApiHolds(scheduler::Handle& handle) : HoldKind(handle) {
    handle.stores().of<Hold>().listen([this](const auto& before, const auto& after) {
      auto& feed = handle_.units();
      if (!after) return feed.removed(unitOf(*before));
      before ? feed.updated(unitOf(*before), unitOf(*after), *this)
             : feed.added(unitOf(*after), *this);
    });
  }

  api::ObjectReference reference(const PodInfo& unit) const override {
    return {.kind = "Hold",
            .name = unit.pod->metadata.name,
            .uid = unit.uid(),
            .apiVersion = api::apiVersionOf(Hold::kType)};
  }
  Task<Result<PodLocation>> find(PodPtr unit) override {
    auto call = kube::get<Hold>(*handle_.api(), {"", unit->pod->metadata.name});
    const Result<Hold> hold = co_await call;
    PodLocation found;
    if (!hold && hold.error().code != ErrorCode::NotFound) co_return fail(hold.error());
    if (!hold || hold->metadata.uid != unit->uid()) {
      found.kind = PodLocation::Kind::Gone;
    } else if (!hold->status.nodeName.empty()) {
      found = {PodLocation::Kind::Bound, hold->status.nodeName, unitOf(*hold)};
    }
    co_return found;
  }
  Task<void> report(PodPtr unit, scheduler::FailureReport failure) override {
    auto known = handle_.stores().of<Hold>().get({"", unit->pod->metadata.name});
    if (!known || known->status.message == failure.message) co_return;
    auto writing = writeStatus(unit, {{"message", failure.message}});
    const auto written = co_await writing;
    (void)written;
  }
  Task<bool> evict(PodPtr unit, PodPtr) override {
    kube::DeleteOptions options;
    options.uid = unit->uid();
    auto deleting =
        kube::deleteObject(*handle_.api(), Hold::kType, {"", unit->pod->metadata.name}, options);
    const Result<> deleted = co_await deleting;
    co_return deleted || deleted.error().code == ErrorCode::NotFound ||
        deleted.error().code == ErrorCode::Conflict;
  }
  // Only under the resource version that was placed: a former leader must not move it.
  Task<Status> bind(PodPtr unit, std::string node) override {
    json::object status{{"nodeName", std::move(node)}, {"message", nullptr}};
    auto writing = writeStatus(unit, std::move(status), unit->pod->metadata.resourceVersion);
    const auto written = co_await writing;
    co_return written ? Status{} : Status::of(written.error());
  }

 private:
  Task<Result<json::value>> writeStatus(PodPtr unit, json::object status,
                                        std::string version = "") {
    json::object metadata{{"uid", unit->uid()}};
    if (!version.empty()) metadata.emplace("resourceVersion", std::move(version));
    json::object patch{{"metadata", std::move(metadata)}, {"status", std::move(status)}};
    auto call = kube::mergePatch(*handle_.api(), Hold::kType, {"", unit->pod->metadata.name},
                                 std::move(patch), "status");
    auto reply = co_await call;
    co_return reply;
  }
};

// The hold in a pod's annotation and the part of it that the pod uses; no uid: none.
struct Share {
  std::string hold;
  std::map<std::string, std::int64_t> amounts;
};
Share shareOf(const api::Pod& pod) {
  std::istringstream text(textOf(pod.metadata.annotations, Holds::kShare));
  Share share;
  text >> share.hold;
  for (std::string word; text >> word;) {
    const auto sign = word.find('=');
    share.amounts[word.substr(0, sign)] = std::stoll(word.substr(sign + 1));
  }
  return share;
}

}  // namespace

HoldsFeature::HoldsFeature(const Surroundings& world, Random random)
    : Feature(world, random), holds_(world.api, world.loop) {
  holds_.addHandler({[this](const auto& hold) { changed(nullptr, hold); },
                     [this](const auto& before, const auto& after) { changed(before, after); },
                     [this](const auto& hold) {
                       invariants_.touched();
                       journal_.note("hold {} is gone", hold->metadata.name);
                     }});
}

void HoldsFeature::join(scheduler::Registry& registry) {
  registry[std::string(Holds::kName)] = [](scheduler::Fields&, scheduler::Handle& handle) {
    handle.shared().of<HoldKind>([&] { return std::make_unique<ApiHolds>(handle); });
    return std::make_unique<Holds>(handle);
  };
}

std::vector<std::string> HoldsFeature::plugins() const {
  return {std::string(Holds::kName)};
}

void HoldsFeature::begin() {
  define(Hold::kType);
}

void HoldsFeature::start() {
  holds_.start();
}

void HoldsFeature::shape(scheduler::testing::PodBuilder& pod) {
  if (random_.chance(0.4)) pod.label(Holds::kTeam, pick({"blue", "red"}));
}

std::vector<HoldsFeature::HoldObject> HoldsFeature::sorted() const {
  std::vector<HoldObject> all;
  for (const auto& hold : holds_.objects()) all.push_back(hold);
  std::ranges::sort(all, {}, [](const auto& hold) { return hold->metadata.name; });
  return all;
}

void HoldsFeature::act() {
  const auto all = sorted();
  if (all.size() < kMaxHolds && random_.chance(0.6)) {
    Hold hold;
    hold.metadata.name = fmt::format("hold-{}", ++lastHold_);
    hold.spec.team = pick({"blue", "red"});
    hold.spec.requests["cpu"] = scheduler::testing::quantity(pick({"1", "2", "3"}));
    if (random_.chance(0.5))
      hold.spec.requests["memory"] = scheduler::testing::quantity(pick({"512Mi", "1Gi"}));
    hold.spec.priority = random_.chance(0.3) ? 500 : 0;
    journal_.note("{} for {} is created", hold.metadata.name, hold.spec.team);
    create(Hold::kType, "", api::encodeObject(hold));
  } else if (const auto* hold = anyOf(all); hold && random_.chance(0.5)) {
    journal_.note("somebody deletes {}", (*hold)->metadata.name);
    remove(Hold::kType, (*hold)->metadata);
  }
}

// Deletes holds on deleted nodes.
void HoldsFeature::tick() {
  for (const auto& hold : sorted())
    if (!hold->status.nodeName.empty() && !invariants_.nodes.get({"", hold->status.nodeName}))
      remove(Hold::kType, hold->metadata);
}

void HoldsFeature::changed(const HoldObject& before, const HoldObject& after) {
  invariants_.touched();
  ever_[after->metadata.uid] = after;
  const std::string was = before ? before->status.nodeName : "";
  const std::string& is = after->status.nodeName;
  if (!was.empty() && was != is)
    journal_.violated("bound once", "{} moves from {} to {}", after->metadata.name, was, is);
  if (was.empty() && !is.empty()) invariants_.bound(unitOf(*after));
}

std::vector<PodObject> HoldsFeature::units() const {
  std::vector<PodObject> units;
  for (const auto& hold : sorted()) units.push_back(unitOf(*hold));
  return units;
}

// A share counts in its hold, and what owners do not use of a hold is free for its team.
void HoldsFeature::addRules(scheduler::Handle& handle, const std::string&, Model& model) {
  struct Given {
    std::map<std::string, std::string> teams;  // by bound hold
    std::map<std::string, Share> shares;       // by pod
  };
  auto given = std::make_shared<Given>();
  const auto& ledger = Holds::ledgerOf(handle);
  const auto& names = handle.cluster().resources();
  for (const auto& record : handle.cluster().pods()) {
    if (record.info->kind == &Holds::kindOf(handle) && !record.assumed)
      given->teams[record.info->uid()] =
          textOf(record.info->pod->metadata.annotations, Holds::kFor);
    if (const auto* held = ledger.in(record.grants)) {
      Share& share = given->shares[record.info->uid()];
      share.hold = held->hold;
      held->part.forEach([&](scheduler::ResourceId id, std::int64_t amount) {
        share.amounts[names.name(id)] = amount;
      });
    }
  }
  model.given = [given](const Model& now, const api::Pod& pod, const api::Node& node,
                        const std::string& resource) -> std::int64_t {
    const std::string team = textOf(pod.metadata.labels, Holds::kTeam);
    const auto here = [&](const std::string& uid) {
      const auto there = now.pods.find(uid);
      return there != now.pods.end() && there->second->spec.nodeName == node.metadata.name;
    };
    std::int64_t sum = 0;
    std::string mine;  // the hold with the least uid, as in the plugin
    for (const auto& [uid, owner] : given->teams)
      if (mine.empty() && !team.empty() && owner == team && here(uid)) mine = uid;
    if (!mine.empty()) {
      for (const auto& container : now.pods.at(mine)->spec.containers)
        sum += amountIn(container.resources.requests, resource);
    }
    for (const auto& [uid, share] : given->shares) {
      if (!here(uid) || !here(share.hold)) continue;
      const auto amount = share.amounts.find(resource);
      if (amount == share.amounts.end()) continue;
      sum += amount->second - (share.hold == mine ? amount->second : 0);
    }
    return sum;
  };
}

void HoldsFeature::told(const api::Pod& pod) {
  if (const std::string text = textOf(pod.metadata.annotations, Holds::kShare); !text.empty())
    journal_.note("pod {} uses {}", pod.metadata.name, text);
}

void HoldsFeature::bound(const api::Pod& pod, const Choice& choice) {
  const Share own = shareOf(pod);
  if (own.hold.empty()) return;
  const auto found = ever_.find(own.hold);
  if (found == ever_.end())
    return journal_.violated("holds of owners", "{} uses a hold that never was", pod.metadata.name);
  const Hold& hold = *found->second;
  if (textOf(pod.metadata.labels, Holds::kTeam) != hold.spec.team)
    journal_.violated("holds of owners", "{} uses {}, which is for {}", pod.metadata.name,
                      hold.metadata.name, hold.spec.team);
  if (hold.status.nodeName != pod.spec.nodeName && !hold.status.nodeName.empty())
    journal_.violated("holds of owners", "{} on {} uses {} on {}", pod.metadata.name,
                      pod.spec.nodeName, hold.metadata.name, hold.status.nodeName);
  std::map<std::string, std::int64_t> sums;
  for (const auto& other : invariants_.others(choice, pod.spec.nodeName))
    if (const Share share = shareOf(*other); share.hold == own.hold)
      for (const auto& [name, amount] : share.amounts) sums[name] += amount;
  for (const auto& [name, sum] : sums)
    if (const std::int64_t all = amountIn(hold.spec.requests, name); sum > all)
      journal_.violated("what is held", "{} takes the use of {} to {} of {} {}", pod.metadata.name,
                        hold.metadata.name, sum, all, name);
}

// The rest of the pod's own hold is free for it, even where a node has become too small for all.
void HoldsFeature::addUsed(const api::Pod& pod, const Choice& choice,
                           std::map<std::string, std::int64_t>& used) {
  const std::string& node = pod.spec.nodeName;
  const std::string mine = shareOf(pod).hold;
  std::map<std::string, std::map<std::string, std::int64_t>> shares;  // by hold
  for (const auto& other : invariants_.others(choice, node))
    for (const auto& [name, amount] : shareOf(*other).amounts)
      shares[shareOf(*other).hold][name] += amount;
  for (const auto& hold : holds_.objects()) {
    if (hold->status.nodeName != node || !invariants_.hasReceived(choice, hold->metadata.uid, node))
      continue;
    ++used["pods"];
    if (hold->metadata.uid == mine) continue;
    for (const auto& [name, quantity] : hold->spec.requests)
      used[name] += std::max<std::int64_t>(
          amountIn(hold->spec.requests, name) - shares[hold->metadata.uid][name], 0);
  }
}

}  // namespace koord::simulation
