#include "manager/webhook/quota/quota_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "kube/client.h"
#include "manager/common/names.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

// kube-apiserver ends a writing request after this time.
constexpr Duration kLongestRequest = 34s;

bool isStored(const QuotaTopology& topology, const QuotaLedger::Change& change) {
  const QuotaInfo* found = topology.find(change.quota.namespace_, change.quota.name);
  return change.deletes ? !found : found && found->equalsObject(change.quota);
}

// Temporary changes of a topology: the destructor reverts them.
class Overlay {
 public:
  explicit Overlay(QuotaTopology& topology) : topology_(topology) {}
  ~Overlay() {
    for (auto& [name, holders] : before_) topology_.setHolders(name, std::move(holders));
  }
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  void put(const QuotaInfo& quota) {
    keep(quota.name);
    topology_.put(quota);
  }
  void remove(const QuotaInfo& quota) {
    keep(quota.name);
    topology_.remove(quota.namespace_, quota.name);
  }

 private:
  void keep(const std::string& name) { before_.try_emplace(name, topology_.holders(name)); }

  QuotaTopology& topology_;
  std::map<std::string, std::vector<QuotaInfo>> before_;
};

}  // namespace

QuotaLedger::QuotaLedger(kube::Api& api, Executor& executor, Random random)
    : api_(api), executor_(executor), quotas_(api, executor, {}, random) {
  const auto put = [this](const auto& quota) {
    stored_.put(*quota);
    onStored(quota->metadata.name);
  };
  quotas_.addHandler({put, [put](const auto&, const auto& quota) { put(quota); },
                      [this](const auto& quota) {
                        stored_.remove(*quota);
                        onStored(quota->metadata.name);
                      }});
}

Task<Result<QuotaTopology>> QuotaLedger::list() {
  QuotaTopology topology;
  std::function<void(const kube::Received&)> add = [&topology](const kube::Received& item) {
    // An unreadable quota must not block the changes of others.
    if (const auto quota = item.as<api::ElasticQuota>()) topology.put(*quota);
  };
  auto task =
      kube::listEach(api_, kube::listRequest(api::ElasticQuota::kType, "", "", ""), std::move(add));
  const auto head = co_await task;
  if (!head) co_return fail(Error(head.error()).within("elastic quotas"));
  co_return topology;
}

Task<Result<>> QuotaLedger::addChildren(Family* family, std::string parent) {
  auto listing = kube::list<api::ElasticQuota>(
      api_, "", fmt::format("{}={}", model::kLabelQuotaParent, parent), "");
  const auto children = co_await listing;
  if (!children) co_return fail(Error(children.error()).within("elastic quotas below " + parent));
  std::set<std::string> names;
  for (const auto& child : children->items) {
    names.insert(child.metadata.name);
    family->there.push_back(quotaInfoOf(child));
  }
  for (const auto& name : stored_.childrenOf(parent))
    if (!names.contains(name)) family->gone.push_back(*stored_.find(name));
  co_return Result<>();
}

Task<Result<QuotaLedger::Family>> QuotaLedger::readFamily(Change change) {
  Family family;
  const QuotaInfo& quota = change.quota;
  if (!quota.parent.empty() && quota.parent != model::kRootQuota) {
    if (const QuotaInfo* parent = stored_.find(quota.parent)) {
      const QuotaInfo known = *parent;
      const api::ObjectKey key{known.namespace_, known.name};
      auto reading = kube::get<api::ElasticQuota>(api_, key);
      const auto read = co_await reading;
      if (!read && read.error().code != ErrorCode::NotFound) co_return fail(read.error());
      if (read) {
        family.there.push_back(quotaInfoOf(*read));
      } else {
        family.gone.push_back(known);
      }
    }
    auto siblings = addChildren(&family, quota.parent);
    if (auto added = co_await siblings; !added) co_return fail(std::move(added.error()));
  }
  // A quota whose name is too long for a label cannot be a parent.
  const bool mayHaveChildren = change.deletes || quota.isParent || stored_.find(quota.name);
  if (mayHaveChildren && quota.name.size() <= kLongestLabelValue) {
    auto children = addChildren(&family, quota.name);
    if (auto added = co_await children; !added) co_return fail(std::move(added.error()));
  }
  co_return family;
}

Task<Result<>> QuotaLedger::checkWithFamily(Change change, const Check* check) {
  if (auto judged = judge(stored_, change.quota.name, *check); !judged)
    co_return fail(std::move(judged.error()));
  const std::string name = change.quota.name;
  auto reading = readFamily(std::move(change));
  const auto family = co_await reading;
  if (!family) co_return fail(family.error());
  Overlay fresh(stored_);
  for (const QuotaInfo& quota : family->gone) fresh.remove(quota);
  for (const QuotaInfo& quota : family->there) fresh.put(quota);
  co_return judge(stored_, name, *check);
}

Task<Result<>> QuotaLedger::admit(Change change, Check check, bool dryRun) {
  Result<> judged = fail(ErrorCode::Unavailable, "the quotas are not read yet");
  if (synced()) {
    auto judging = checkWithFamily(change, &check);
    judged = co_await judging;
  }
  if (!judged) {
    auto listing = list();
    auto listed = co_await listing;
    if (!listed) co_return fail(std::move(listed.error()));
    // A deletion may have been admitted since the list was requested.
    std::erase_if(admitted_, [&](const Admitted& admitted) {
      return !admitted.change.deletes && isStored(*listed, admitted.change);
    });
    if (judged = judge(*listed, change.quota.name, check); !judged)
      co_return fail(std::move(judged.error()));
  }
  // There must be no suspension between the verdict and this.
  if (!dryRun) remember(std::move(change));
  co_return Result<>();
}

Task<Result<std::optional<QuotaInfo>>> QuotaLedger::find(std::string name) {
  if (synced())
    if (const QuotaInfo* found = stored_.find(name)) co_return std::optional(*found);
  auto listing = list();
  const auto listed = co_await listing;
  if (!listed) co_return fail(listed.error());
  const QuotaInfo* found = listed->find(name);
  co_return found ? std::optional(*found) : std::optional<QuotaInfo>();
}

Result<> QuotaLedger::judge(QuotaTopology& topology, const std::string& name, const Check& check) {
  const SteadyTime now = executor_.steadyNow();
  std::erase_if(admitted_, [&](const Admitted& admitted) { return admitted.until <= now; });
  if (auto ok = check(topology); !ok || admitted_.empty()) return ok;
  // Two changes of one quota may be stored in either order.
  for (const bool lastCounts : {true, false}) {
    Overlay made(topology);
    for (std::size_t i = 0; i < admitted_.size(); ++i) {
      const Change& change = admitted_[lastCounts ? i : admitted_.size() - 1 - i].change;
      if (change.quota.name == name) continue;
      if (change.deletes) {
        made.remove(change.quota);
      } else {
        made.put(change.quota);
      }
    }
    if (auto ok = check(topology); !ok)
      return fail(ErrorCode::Invalid,
                  ok.error().message + " (changes of other quotas are in progress; try again)");
  }
  return {};
}

void QuotaLedger::remember(Change change) {
  admitted_.push_back({std::move(change), executor_.steadyNow() + kLongestRequest});
}

void QuotaLedger::onStored(const std::string& name) {
  std::erase_if(admitted_, [&](const Admitted& admitted) {
    return admitted.change.quota.name == name && isStored(stored_, admitted.change);
  });
}

}  // namespace koord::manager
