#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "api/selector.h"
#include "apiserver/objects/edit.h"
#include "apiserver/server/body.h"
#include "apiserver/server/write.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

constexpr const char* kBudgets = "poddisruptionbudgets.policy";
constexpr std::size_t kMaxDisruptedPods = 2000;

// Finished and terminating pods need no budget.
bool needsNoBudget(const json::value& pod) {
  const auto phase = textAt(pod, "status", "phase");
  return phase == "Pending" || phase == "Succeeded" || phase == "Failed" ||
         !textAt(pod, "metadata", "deletionTimestamp").empty();
}

using Budget = std::pair<EntryPtr, json::value>;

// The budgets that select a pod.
std::vector<Budget> budgetsOf(const json::value& pod, const Table& table) {
  api::StringMap labels;
  if (const auto* own = at(pod, "metadata", "labels"); own && own->is_object())
    for (const auto& label : own->get_object())
      if (label.value().is_string())
        labels.emplace(std::string(label.key()), std::string(label.value().get_string()));
  std::vector<Budget> budgets;
  const auto [begin, end] = table.range(textAt(pod, "metadata", "namespace"));
  for (auto it = begin; it != end; ++it) {
    auto budget = parseJson(it->second->text);
    const auto* json = budget ? at(*budget, "spec", "selector") : nullptr;
    if (!json) continue;
    auto selector = api::decode<api::LabelSelector>(*json);
    auto compiled = selector ? api::Selector::compile(*selector) : fail(selector.error());
    if (compiled && compiled->matches(labels)) budgets.emplace_back(it->second, *std::move(budget));
  }
  return budgets;
}

bool isReady(const json::value& pod) {
  const auto* conditions = at(pod, "status", "conditions");
  if (!conditions || !conditions->is_array()) return false;
  return std::ranges::any_of(conditions->get_array(), [](const json::value& condition) {
    return textAt(condition, "type") == "Ready" && textAt(condition, "status") == "True";
  });
}

// A pod that is not ready can be evicted without a disruption if its budget's policy says so, or if
// the budget has enough healthy pods.
bool isFree(const json::value& pod, const json::value& budget) {
  if (isReady(pod)) return false;
  if (textAt(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow") return true;
  const auto desired = integerAt(budget, 0, "status", "desiredHealthy");
  return desired > 0 && integerAt(budget, 0, "status", "currentHealthy") >= desired;
}

Outcome<> checkBudget(std::string_view name, const json::value& budget) {
  const auto denied = [&](std::string message, int retrySeconds) {
    Failure failure(ErrorCode::TooManyRequests,
                    "Cannot evict pod as it would violate the pod's disruption budget.");
    failure.error.retryAfter = std::chrono::seconds(retrySeconds);
    failure.causes.push_back({"DisruptionBudget", std::move(message), ""});
    return refuse(std::move(failure));
  };
  if (integerAt(budget, 0, "status", "observedGeneration") <
      integerAt(budget, 0, "metadata", "generation"))
    return denied(
        fmt::format("The disruption budget {} is still being processed by the server.", name), 10);
  const auto forbidden = [&](std::string_view why) {
    return refuse(ErrorCode::Forbidden,
                  fmt::format("poddisruptionbudget.policy \"{}\" is forbidden: {}", name, why));
  };
  const auto allowed = integerAt(budget, 0, "status", "disruptionsAllowed");
  if (allowed < 0) return forbidden("pdb disruptions allowed is negative");
  if (const auto* disrupted = at(budget, "status", "disruptedPods");
      disrupted && disrupted->is_object() && disrupted->get_object().size() > kMaxDisruptedPods)
    return forbidden(
        "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  if (allowed == 0)
    return denied(fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                              name, integerAt(budget, 0, "status", "desiredHealthy"),
                              integerAt(budget, 0, "status", "currentHealthy")),
                  0);
  return {};
}

// Decrements the allowed disruptions and adds the pod to the disrupted pods.
void spend(json::value& budget, std::string_view pod, const std::string& now) {
  const auto allowed = integerAt(budget, 0, "status", "disruptionsAllowed");
  auto& status = objectAt(budget.get_object(), "status");
  status["disruptionsAllowed"] = allowed - 1;
  if (allowed == 1)
    setCondition(status,
                 {{"type", "DisruptionAllowed"},
                  {"status", "False"},
                  {"observedGeneration", integerAt(budget, 0, "status", "observedGeneration")},
                  {"lastTransitionTime", now},
                  {"reason", "InsufficientPods"},
                  {"message", ""}});
  objectAt(status, "disruptedPods")[pod] = now;
}

}  // namespace

Outcome<> WriteCall::spendDisruption(const json::value& pod) {
  auto& table = server_.store_.table(kBudgets);
  auto budgets = budgetsOf(pod, table);
  if (budgets.empty()) return {};
  if (budgets.size() > 1)
    return refuse(ErrorCode::Internal,
                  "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                  "does not support.");
  auto& [entry, budget] = budgets.front();
  if (isFree(pod, budget)) return {};
  if (auto good = checkBudget(entry->name(), budget); !good) return good;
  if (dryRun_) return {};
  spend(budget, textAt(pod, "metadata", "name"), formatTime(server_.executor_.wallNow()));
  stored();
  server_.store_.put(table, draftOf(budget, *server_.registry_.findByTable(kBudgets)), budget);
  return {};
}

Task<Outcome<Written>> WriteCall::evict() {
  const auto& request = call_.request;
  auto body = readSubresourceKind("Eviction");
  if (!body) co_return std::unexpected(std::move(body.error()));
  if (textAt(*body, "metadata", "name") != request.name)
    co_return refuse(ErrorCode::BadRequest, "name in URL does not match name in Eviction object");
  if (auto good = checkDeleteOptions(memberOf(*body, "deleteOptions")); !good)
    co_return std::unexpected(std::move(good.error()));
  dryRun_ = dryRun_ || wantsDryRun(memberOf(*body, "deleteOptions"));
  const auto key = makeKey(request.namespace_, request.name);
  auto entry = target_.table->find(key);
  if (!entry) co_return refuse(notFound(*target_.resource, request.name));
  auto pod = readOld(*entry);
  if (!pod) co_return std::unexpected(std::move(pod.error()));

  // The deletion is part of the eviction: only the latter goes through admission.
  if (auto good = admitNode("CREATE", nullptr, &*pod); !good)
    co_return std::unexpected(std::move(good.error()));
  auto a = attributes("CREATE", &*pod, nullptr);
  a.objectKind = "Eviction";
  a.objectVersion = "policy/v1";
  auto admitting = admitSubresourceKind(std::move(a), *std::move(body));
  body = co_await admitting;
  if (!body) co_return std::unexpected(std::move(body.error()));
  const json::value options = membersOf(memberOf(*body, "deleteOptions"));
  if (auto good = checkDeleteOptions(options); !good)
    co_return std::unexpected(std::move(good.error()));
  entry = target_.table->find(key);
  if (!entry) co_return refuse(notFound(*target_.resource, request.name));
  pod = readOld(*entry);
  if (!pod) co_return std::unexpected(std::move(pod.error()));

  if (auto good = checkPreconditions(*entry, *pod, options); !good)
    co_return std::unexpected(std::move(good.error()));
  if (!needsNoBudget(*pod))
    if (auto good = spendDisruption(*pod); !good)
      co_return std::unexpected(std::move(good.error()));
  if (!dryRun_) {
    setCondition(objectAt(pod->get_object(), "status"),
                 {{"type", "DisruptionTarget"},
                  {"status", "True"},
                  {"lastTransitionTime", formatTime(server_.executor_.wallNow())},
                  {"reason", "EvictionByEvictionAPI"},
                  {"message", "Eviction API: evicting"}});
    managed_ = entry->managedFields();
    entry = put(*pod);
  }
  if (auto removed = deleteNow(entry, *pod, options); !removed) co_return removed;
  co_return Written{bytesOf(successText(request, "", "")), 201};
}

}  // namespace koord::apiserver
