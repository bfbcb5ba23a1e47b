#include "scheduler/extender/extenders.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "scheduler/engine/resources.h"

namespace koord::scheduler {

namespace {

// Extenders score from 0 to 10, plugins from 0 to 100.
constexpr std::int64_t kScoreScale = 10;

bool judges(const ExtenderConfig& config) {
  return !config.filterVerb.empty() || !config.prioritizeVerb.empty();
}

// An extender may return any number.
std::int64_t weighted(std::int64_t score, std::int64_t weight) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(score, weight, &product) &&
      !__builtin_mul_overflow(product, kScoreScale, &product))
    return product;
  return score < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
}

Status rejection(Code code, const std::string& reason) {
  return {code, {reason}, std::string(kExtenderName)};
}

}  // namespace

// The shared state of extenders that score the same nodes concurrently.
struct Extenders::Scoring {
  Scoring(Executor& executor, wire::PodObject podToScoreFor, wire::NodeObjects nodesToScore,
          std::size_t asked)
      : pod(std::move(podToScoreFor)),
        nodes(std::move(nodesToScore)),
        left(asked),
        ends(Future<bool>::make(executor)) {}

  wire::PodObject pod;
  wire::NodeObjects nodes;
  std::size_t left;
  std::unordered_map<std::string, std::int64_t> scores;
  std::pair<Future<bool>, Completer<bool>> ends;
};

Extenders::Extenders(const std::vector<ExtenderConfig>& configs, net::HttpTransport& transport,
                     Executor& executor, std::vector<std::string>& errors)
    : executor_(executor) {
  for (const ExtenderConfig& config : configs)
    extenders_.push_back(std::make_unique<Extender>(config, transport, executor, errors));
  std::ranges::stable_partition(extenders_,
                                [](const auto& extender) { return !extender->config().ignorable; });
}

bool Extenders::concerns(const api::Pod& pod) const {
  return std::ranges::any_of(extenders_, [&](const auto& extender) {
    return (judges(extender->config()) || !extender->config().preemptVerb.empty()) &&
           extender->interestedIn(pod);
  });
}

bool Extenders::confirmPreemptionOf(const api::Pod& pod) const {
  return std::ranges::any_of(extenders_, [&](const auto& extender) {
    return !extender->config().preemptVerb.empty() && extender->interestedIn(pod);
  });
}

Extender* Extenders::binderOf(const api::Pod& pod) const {
  const auto found = std::ranges::find_if(extenders_, [&](const auto& extender) {
    return !extender->config().bindVerb.empty() && extender->interestedIn(pod);
  });
  return found == extenders_.end() ? nullptr : found->get();
}

Task<Result<ExtenderVerdicts>> Extenders::judge(wire::PodObject pod, wire::NodeObjects nodes) {
  ExtenderVerdicts verdicts;
  auto filtering = filter(pod, &nodes, &verdicts);
  const Result<> filtered = co_await filtering;
  if (!filtered) co_return fail(filtered.error());
  for (const auto& node : nodes) verdicts.passed.insert(node->metadata.name);

  std::vector<Extender*> scorers;
  for (const auto& extender : extenders_)
    if (!extender->config().prioritizeVerb.empty() && extender->interestedIn(*pod))
      scorers.push_back(extender.get());
  if (nodes.size() < 2 || scorers.empty()) co_return verdicts;
  const auto scoring = std::make_shared<Scoring>(executor_, pod, std::move(nodes), scorers.size());
  for (Extender* scorer : scorers) scorings_.spawn(score(scorer, scoring));
  co_await scoring->ends.first;
  verdicts.scores = std::move(scoring->scores);
  co_return verdicts;
}

Task<Result<>> Extenders::filter(wire::PodObject pod, wire::NodeObjects* nodes,
                                 ExtenderVerdicts* verdicts) {
  for (const auto& extender : extenders_) {
    if (nodes->empty()) break;
    const ExtenderConfig& config = extender->config();
    if (config.filterVerb.empty() || !extender->interestedIn(*pod)) continue;
    auto asking = extender->filter(pod, *nodes);
    const auto answer = co_await asking;
    if (!answer) {
      if (!config.ignorable) co_return fail(answer.error());
      log::warn("skipping the ignorable extender {}: {}", config.urlPrefix, answer.error().message);
      continue;
    }
    for (const auto& [node, reason] : answer->unresolvable)
      verdicts->rejected[node] = rejection(Code::UnschedulableAndUnresolvable, reason);
    for (const auto& [node, reason] : answer->failed)
      if (!answer->unresolvable.contains(node))
        verdicts->rejected[node] = rejection(Code::Unschedulable, reason);
    const std::set<std::string_view> passed(answer->nodes.begin(), answer->nodes.end());
    std::erase_if(*nodes, [&](const auto& node) {
      const std::string& name = node->metadata.name;
      if (passed.contains(name)) return false;
      // As upstream, preemption does not help on a node that the answer omits.
      verdicts->rejected.try_emplace(
          name, Status{Code::UnschedulableAndUnresolvable, {}, std::string(kExtenderName)});
      return true;
    });
  }
  co_return Result<>{};
}

Task<void> Extenders::score(Extender* extender, std::shared_ptr<Scoring> scoring) {
  auto asking = extender->prioritize(scoring->pod, scoring->nodes);
  const auto answer = co_await asking;
  const ExtenderConfig& config = extender->config();
  if (answer) {
    for (const auto& [host, value] : *answer) {
      std::int64_t& score = scoring->scores[host];
      score = addSaturating(score, weighted(value, config.weight));
    }
  } else {
    log::warn("no scores from extender {}: {}", config.urlPrefix, answer.error().message);
  }
  if (--scoring->left == 0) scoring->ends.second.complete(true);
}

Task<Result<std::map<std::string, wire::Victims>>> Extenders::confirmVictims(
    wire::PodObject pod, std::map<std::string, wire::Victims> victims) {
  for (const auto& extender : extenders_) {
    if (victims.empty()) break;
    const ExtenderConfig& config = extender->config();
    if (config.preemptVerb.empty() || !extender->interestedIn(*pod)) continue;
    auto asking = extender->preempt(pod, victims);
    auto answer = co_await asking;
    if (!answer) {
      if (!config.ignorable) co_return fail(answer.error());
      log::warn("skipping the ignorable extender {}: {}", config.urlPrefix, answer.error().message);
      continue;
    }
    const auto none =
        std::ranges::find_if(*answer, [](const auto& entry) { return entry.second.pods.empty(); });
    if (none != answer->end() && !config.ignorable) {
      co_return fail(ErrorCode::Invalid,
                     "expected at least one victim pod on node \"" + none->first + "\"");
    }
    std::erase_if(*answer, [](const auto& entry) { return entry.second.pods.empty(); });
    victims = *std::move(answer);
  }
  co_return victims;
}

}  // namespace koord::scheduler
