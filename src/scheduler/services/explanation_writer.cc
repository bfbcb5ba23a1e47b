// An answer depends on all nodes and pods, so no event says when to update it. The objects, which
// are few and mostly none, are visited every few seconds.

#include "scheduler/services/explanation_writer.h"

#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"
#include "scheduler/engine/run_guarded.h"
#include "scheduler/services/diagnose.h"

namespace koord::scheduler {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPeriod = 5s;
constexpr Duration kWithoutKind = 60s;  // the API server does not have the kind (yet)
constexpr Duration kUsualLife = 24h;
// After each answer the writer pauses for so many times the duration of its search.
constexpr int kRestPerAnswer = 9;

constexpr api::ResourceType kExplanations{"scheduling.koordinator.sh", "v1alpha1",
                                          "scheduleexplanations", "ScheduleExplanation", true};

api::ObjectKey keyOfExplanation(const json::value& explanation) {
  return {std::string(textAt(explanation, "metadata", "namespace")),
          std::string(textAt(explanation, "metadata", "name"))};
}

// An object with ttl 0 stays until it is deleted; an invalid ttl counts as the usual one.
bool isOver(const json::value& explanation, WallTime now) {
  const auto created = parseTime(textAt(explanation, "metadata", "creationTimestamp"));
  const auto ttl = parseDuration(textAt(explanation, "spec", "ttl"));
  const Duration life = ttl ? *ttl : kUsualLife;
  return created && life > Duration::zero() && now - *created > life;
}

json::object notAnswered(std::string why) {
  return {{"schedulable", false}, {"failedMessage", std::move(why)}};
}

}  // namespace

std::optional<json::object> ExplanationWriter::statusFor(const json::value& explanation) const {
  const WallTime now = executor_.wallNow();
  const std::string asked(textAt(explanation, "spec", "questionObjectKey"));
  const auto slash = asked.find('/');
  json::object status;
  if (slash == std::string::npos || slash == 0 || slash + 1 == asked.size()) {
    status = notAnswered("spec.questionObjectKey: expected NAMESPACE/NAME of a pod, got \"" +
                         asked + "\"");
  } else {
    Result<json::value> said = fail(ErrorCode::Internal, "a plugin failed");
    runGuarded("a plugin", "an explanation", [&] {
      said = explainSchedule(scheduler_, {asked.substr(0, slash), asked.substr(slash + 1)}, now);
    });
    json::value* told = said ? find(*said, "status") : nullptr;
    status = told && told->is_object() ? std::move(told->get_object())
                                       : notAnswered(said ? "" : said.error().message);
  }
  status.erase("lastUpdateTime");
  const auto* before = at(explanation, "status");
  if (before && before->is_object()) {
    json::object known = before->get_object();
    known.erase("lastUpdateTime");
    if (known == status) return std::nullopt;
    // A merge patch alone does not remove keys.
    for (const auto& member : known)
      if (!status.contains(member.key())) status[member.key()] = nullptr;
  }
  status["lastUpdateTime"] = formatTime(now);
  return status;
}

Task<Result<>> ExplanationWriter::answer(json::value explanation, Duration& worked) {
  const api::ObjectKey key = keyOfExplanation(explanation);
  if (isOver(explanation, executor_.wallNow())) {
    kube::DeleteOptions options;
    options.uid = textAt(explanation, "metadata", "uid");
    auto deleting = kube::deleteObject(api_, kExplanations, key, options);
    Result<> deleted = co_await deleting;
    co_return deleted;
  }
  const SteadyTime since = executor_.steadyNow();
  auto status = statusFor(explanation);
  worked = executor_.steadyNow() - since;
  if (!status) co_return Result<>{};
  json::object metadata{{"uid", textAt(explanation, "metadata", "uid")}};
  json::value patch =
      json::object{{"metadata", std::move(metadata)}, {"status", *std::move(status)}};
  auto patching = kube::mergePatch(api_, kExplanations, key, std::move(patch), "status");
  const Result<json::value> patched = co_await patching;
  if (!patched) co_return fail(Error(patched.error()));
  co_return Result<>{};
}

Task<void> ExplanationWriter::run() {
  for (;;) {
    auto listing = kube::listObjects(api_, kExplanations, "", "", "");
    const Result<json::value> list = co_await listing;
    const bool known = list || list.error().code != ErrorCode::NotFound;
    if (list) {
      const auto* items = at(*list, "items");
      const std::size_t count = items && items->is_array() ? items->get_array().size() : 0;
      for (std::size_t i = 0; i < count; ++i) {
        Duration worked{};
        auto runHandler = answer(items->get_array()[i], worked);
        const Result<> answered = co_await runHandler;
        // Users may have created thousands of them, and each is a search.
        auto rest = sleepFor(executor_, kRestPerAnswer * worked);
        co_await rest;
        if (!answered && answered.error().code != ErrorCode::NotFound &&
            answered.error().code != ErrorCode::Conflict)
          log::warn("ScheduleExplanation {}: {}",
                    keyOfExplanation(items->get_array()[i]).toString(), answered.error().message);
      }
    }
    auto pause = sleepFor(executor_, known ? kPeriod : kWithoutKind);
    co_await pause;
  }
}

}  // namespace koord::scheduler
