#include "manager/webhook/quota/quota_evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "api/codec.h"
#include "base/task.h"
#include "kube/client.h"
#include "manager/common/names.h"
#include "model/node_names.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 10s;
constexpr int kMinRetries = 3;

// A quota whose max has none of these resources does not charge pods.
constexpr std::string_view kPodResources[] = {
    model::kCpu,       model::kMemory,        "ephemeral-storage",
    "requests.cpu",    "requests.memory",     "requests.ephemeral-storage",
    model::kBatchCpu,  model::kBatchMemory,   model::kMidCpu,
    model::kMidMemory, model::kGpu,           model::kNvidiaGpu,
    model::kGpuShared, model::kGpuMemoryRatio};

Result<api::ResourceList> annotatedAmounts(const api::ElasticQuota& quota, std::string_view key) {
  const auto* text = api::findIn(quota.metadata.annotations, key);
  if (!text || text->empty()) return api::ResourceList();
  auto list = api::decodeText<api::ResourceList>(*text, api::Reading::Go);
  if (!list)
    return fail(std::move(list.error()).within(fmt::format("metadata.annotations[{}]", key)));
  return list;
}

std::string textOfAmounts(const api::ResourceList& list) {
  std::string text;
  for (const auto& [name, amount] : list)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, amount.toString());
  return text;
}

// One round of a batch: the quota's limit, the used amounts, and the batch's additions so far.
class Round {
 public:
  static Result<Round> of(const api::ElasticQuota& quota) {
    Round round(quota);
    auto limit = annotatedAmounts(quota, kAnnotationQuotaAdmission);
    if (!limit) return fail(std::move(limit.error()));
    auto used = annotatedAmounts(quota, model::kAnnotationQuotaChildRequest);
    if (!used) return fail(std::move(used.error()));
    round.limit_ = limit->empty() ? quota.spec.max : *std::move(limit);
    round.used = *std::move(used);
    round.counts_ = std::ranges::any_of(
        kPodResources, [&](std::string_view name) { return model::has(quota.spec.max, name); });
    return round;
  }

  // Returns true if the request was added, false if there is nothing to add. Fails if it does not
  // fit.
  Result<bool> add(const api::ResourceList& request, bool dryRun) {
    api::ResourceList asked;
    if (counts_)
      for (const auto& [name, amount] : request)
        if (!amount.isZero() && model::has(quota_->spec.max, name)) asked[name] = amount;
    if (asked.empty()) return false;
    api::ResourceList sum = used;
    model::addTo(sum, asked);
    api::ResourceList tooMuch, taken, limited;
    for (const auto& [name, amount] : asked) {
      const auto limit = limit_.find(name);
      if (limit == limit_.end() || model::amountOf(sum, name) <= limit->second) continue;
      tooMuch[name] = amount;
      if (model::has(used, name)) taken[name] = model::amountOf(used, name);
      limited[name] = limit->second;
    }
    if (!tooMuch.empty())
      return fail(ErrorCode::Invalid,
                  fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}",
                              api::keyOf(quota_->metadata).toString(), textOfAmounts(tooMuch),
                              textOfAmounts(taken), textOfAmounts(limited)));
    if (dryRun) return false;
    used = std::move(sum);
    return true;
  }

  api::ResourceList used;

 private:
  explicit Round(const api::ElasticQuota& quota) : quota_(&quota) {}

  const api::ElasticQuota* quota_;
  api::ResourceList limit_;
  bool counts_ = false;
};

}  // namespace

struct QuotaEvaluator::Waiter {
  api::ResourceList request;
  bool dryRun;
  Completer<Result<>> answer;
  bool decided = false;

  void decide(Result<> result) {
    decided = true;
    answer.complete(std::move(result));
  }
};

int retriesForBatch(std::size_t pods, int maxRetries) {
  if (pods <= 1) return kMinRetries;
  const int doublings = static_cast<int>(std::bit_width(pods)) - 1;
  return std::min(kMinRetries + doublings, std::max(maxRetries, kMinRetries));
}

Task<Result<>> QuotaEvaluator::evaluate(api::ObjectKey quota, api::ResourceList request,
                                        bool dryRun) {
  auto pair = Future<Result<>>::make(executor_);
  auto waiter = std::make_shared<Waiter>(std::move(request), dryRun, pair.second);
  const bool idle = !waiting_.contains(quota);
  waiting_[quota].push_back(waiter);
  if (idle) tasks_.spawn(work(std::move(quota)));
  const TimerId deadline = executor_.runAfter(kPatience, [waiter] {
    waiter->decide(fail(ErrorCode::Internal, "elastic quota evaluation timed out"));
  });
  Result<> answer = co_await pair.first;
  executor_.cancel(deadline);
  co_return answer;
}

// Evaluates batch after batch while there are requests.
Task<void> QuotaEvaluator::work(api::ObjectKey key) {
  for (;;) {
    const Batch batch = std::exchange(waiting_[key], {});
    if (batch.empty()) break;
    auto judging = judge(key, batch);
    co_await judging;
  }
  waiting_.erase(key);
}

Task<void> QuotaEvaluator::judge(const api::ObjectKey& key, const Batch& batch) {
  const auto decideRest = [&batch](const Result<>& result) {
    for (const auto& waiter : batch)
      if (!waiter->decided) waiter->decide(result);
  };
  int retries = std::max(options_.maxRetries, kMinRetries);
  Duration jittered{};
  for (;; --retries) {
    auto reading = kube::get<api::ElasticQuota>(api_, key);
    const auto quota = co_await reading;
    if (!quota) co_return decideRest(fail(quota.error()));
    auto round = Round::of(*quota);
    if (!round) co_return decideRest(fail(round.error()));
    std::size_t added = 0;
    for (const auto& waiter : batch) {
      if (waiter->decided) continue;
      const auto fits = round->add(waiter->request, waiter->dryRun);
      if (!fits) {
        waiter->decide(fail(fits.error()));
      } else if (*fits) {
        ++added;
      } else {
        waiter->decide({});
      }
    }
    if (added == 0) co_return;
    retries = std::min(retries, retriesForBatch(added, options_.maxRetries));
    auto writing = write(*quota, round->used);
    const Result<> written = co_await writing;
    if (written || retries <= 0) co_return decideRest(written);
    if (written.error().code != ErrorCode::Conflict || options_.retryJitter <= Duration::zero() ||
        jittered + options_.retryJitter > options_.maxTotalJitter)
      continue;
    const Duration half = options_.retryJitter / 2;
    const Duration wait = half + Duration(random_.below(half.count() + 1));
    jittered += options_.retryJitter;
    auto pause = sleepFor(executor_, wait);
    co_await pause;
  }
}

Task<Result<>> QuotaEvaluator::write(const api::ElasticQuota& quota,
                                     const api::ResourceList& used) {
  json::object annotations;
  annotations[model::kAnnotationQuotaChildRequest] = toJson(api::encode(used));
  json::value patch =
      json::object{{"metadata", json::object{{"resourceVersion", quota.metadata.resourceVersion},
                                             {"annotations", std::move(annotations)}}}};
  auto task = kube::patchOnly(api_, api::ElasticQuota::kType, api::keyOf(quota.metadata),
                              kube::PatchType::Merge, std::move(patch));
  const Result<> written = co_await task;
  co_return written;
}

}  // namespace koord::manager
