// The report of a shadow: its JSON is the answer of GET /apis/v1/shadow, and what koordctl prints.

#include "base/time.h"
#include "base/utf8.h"
#include "scheduler/shadow/shadow.h"

namespace koord::scheduler {

namespace {

constexpr std::size_t kMostText = 1000;  // bytes of a message

Choice shortened(Choice choice) {
  if (choice.message.size() > kMostText)
    choice.message = printable(choice.message.substr(0, kMostText)) + "...";
  if (choice.victims.size() > 20) choice.victims.resize(20);
  return choice;
}

json::value latencyJson(const ShadowMetrics::Latency& latency) {
  return json::object{{"count", latency.count},
                      {"meanSeconds", latency.mean},
                      {"p50Seconds", latency.p50},
                      {"p99Seconds", latency.p99}};
}

json::object scoresJson(const NodeJudgement& judgement) {
  json::array plugins;
  for (const auto& [plugin, incumbent, shadow] : judgement.scores)
    plugins.push_back(
        json::object{{"plugin", plugin}, {"incumbent", incumbent}, {"shadow", shadow}});
  return {{"incumbent", judgement.incumbentTotal},
          {"shadow", judgement.shadowTotal},
          {"plugins", std::move(plugins)}};
}

}  // namespace

void Shadow::record(Difference difference) {
  metrics_.compared(difference.match);
  const Question& question = difference.question;
  json::object entry{{"time", formatTime(difference.time)},
                     {"pod", question.pod->key()},
                     {"result", json::string(nameOf(difference.match))},
                     {"incumbent", choiceJson(shortened(question.incumbent))},
                     {"shadow", choiceJson(shortened(difference.shadow))}};
  if (question.group) entry.emplace("group", true);
  const NodeJudgement& judgement = difference.judgement;
  if (question.incumbent.kind == Choice::Kind::Place) {
    entry.emplace("feasibleNodes", judgement.feasibleNodes);
    if (!judgement.feasible) entry.emplace("rejectedBy", judgement.reason);
    if (!judgement.scores.empty()) entry.emplace("scores", scoresJson(judgement));
  }
  differences_.push_back(std::move(entry));
  while (differences_.size() > options_.differences) differences_.pop_front();

  if (difference.match == Match::OnlyShadowPlaces &&
      question.incumbent.kind == Choice::Kind::Preempt)
    ++gains_.preemptions;
  if (!difference.left || !difference.instead) return;
  const Footprint &left = *difference.left, &instead = *difference.instead;
  ++gains_.placements;
  gains_.cpuCores += static_cast<double>(instead.largestFreeCpu - left.largestFreeCpu) / 1000;
  gains_.gpuBlock += instead.largestFreeGpus - left.largestFreeGpus;
  gains_.gpus += instead.wholeFreeGpus - left.wholeFreeGpus;
  gains_.spread += left.spread - instead.spread;
}

// Each difference by itself, on the incumbent's state: the shadow follows the incumbent, so gains
// do not add up over time as they would if it had placed the pods.
json::value Shadow::gains() const {
  const double each = gains_.placements == 0 ? 0 : 1.0 / static_cast<double>(gains_.placements);
  return json::object{{"placements", gains_.placements},
                      {"largestFreeCpuCores", gains_.cpuCores},
                      {"largestFreeGpus", gains_.gpuBlock},
                      {"wholeFreeGpus", gains_.gpus},
                      {"spreadPercentPoints", gains_.spread * each},
                      {"preemptionsAvoided", gains_.preemptions}};
}

json::value Shadow::report() const {
  json::object results, skipped, refused;
  std::uint64_t compared = 0, agreed = 0, nearby = 0;
  for (const Match match : kMatches) {
    const std::uint64_t count = metrics_.count(match);
    compared += count;
    if (agrees(match)) agreed += count;
    if (match == Match::NearbyState) nearby = count;
    if (count > 0) results.emplace(nameOf(match), count);
  }
  for (const Skip skip : kSkips)
    if (const std::uint64_t count = metrics_.count(skip); count > 0)
      skipped.emplace(nameOf(skip), count);
  for (const auto& [what, times] : api_.refused()) refused.emplace(what, times);
  json::array differences;
  for (auto it = differences_.rbegin(); it != differences_.rend(); ++it) differences.push_back(*it);
  return json::object{
      {"kind", "ShadowReport"},
      {"incumbent", options_.incumbent},
      {"since", started_ ? json::value(formatTime(startedAt_)) : json::value(nullptr)},
      {"compared", compared},
      {"agreed", agreed},
      {"agreedOnNearbyState", nearby},
      {"open", open_.size() + agreed_.size()},
      {"results", std::move(results)},
      {"skipped", std::move(skipped)},
      {"refusedWrites", std::move(refused)},
      {"latency", json::object{{"incumbent", latencyJson(metrics_.incumbentLatency())},
                               {"shadow", latencyJson(metrics_.shadowLatency())}}},
      {"gains", gains()},
      {"differences", std::move(differences)}};
}

}  // namespace koord::scheduler
