#include "koordctl/shadow/report_text.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "koordctl/explain/layout.h"

namespace koord::koordctl {

namespace {

double numberIn(const json::value& object, std::string_view key) {
  const json::value* found = find(object, key);
  return found ? realNumber(*found).value_or(0) : 0;
}

std::string meaningOf(std::string_view result) {
  static const std::vector<std::pair<std::string_view, std::string_view>> kMeanings{
      {"sameNode", "same node"},
      {"equalScore", "another node with the same score"},
      {"bothWait", "neither has a node"},
      {"samePreemption", "both preempt there, or at equal cost"},
      {"nearbyState", "the same on the state of a moment earlier or later"},
      {"worseScore", "DIFFERS: the shadow scores another node higher"},
      {"notFeasible", "DIFFERS: the shadow rejects the incumbent's node"},
      {"onlyIncumbentPlaces", "DIFFERS: the shadow has no node"},
      {"onlyShadowPlaces", "DIFFERS: only the shadow has a node without preemption"},
      {"otherPreemption", "DIFFERS: both preempt, on nodes of different cost"},
      {"onlyIncumbentPreempts", "DIFFERS: the shadow finds no victims"},
      {"onlyShadowPreempts", "DIFFERS: the incumbent evicts no pod"},
      {"shadowFailed", "DIFFERS: the shadow's decision ended with an error"}};
  for (const auto& [name, meaning] : kMeanings)
    if (name == result) return std::string(meaning);
  return "";
}

std::string durationText(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.1f} s", seconds);
}

std::string headText(const json::value& report) {
  const std::int64_t compared = countAt(report, "compared"), agreed = countAt(report, "agreed");
  const std::string_view since = textAt(report, "since");
  std::string text =
      since.empty()
          ? fmt::format("shadow of {}, which reads the cluster\n", textAt(report, "incumbent"))
          : fmt::format("shadow of {} since {}\n", textAt(report, "incumbent"), since);
  const json::value* skipped = find(report, "skipped");
  if (const std::int64_t behind = skipped ? countAt(*skipped, "behind") : 0; behind > 0)
    text += fmt::format("it fell behind: {} decisions are not compared (--shadow-share)\n", behind);
  if (const std::int64_t late = skipped ? countAt(*skipped, "late") : 0; late > 0)
    text += fmt::format("{} decisions arrived late and are not compared (--shadow-lag)\n", late);
  if (compared == 0) return text + "no decision has been compared yet\n";
  text +=
      fmt::format("agreement  {:.2f} % of {} decisions",
                  100.0 * static_cast<double>(agreed) / static_cast<double>(compared), compared);
  if (const std::int64_t nearby = countAt(report, "agreedOnNearbyState"); nearby > 0)
    text += fmt::format(", {} of them a moment earlier or later", nearby);
  if (const std::int64_t open = countAt(report, "open"); open > 0)
    text += fmt::format("; {} more are not final yet", open);
  return text + "\n";
}

std::string resultsText(const json::value& report) {
  std::string text;
  if (const auto* results = find(report, "results"); results && results->is_object()) {
    text += "\n";
    for (const auto& [name, count] : results->get_object())
      text += fmt::format("{:>10}  {:<22} {}\n", countAt(*results, name), std::string_view(name),
                          meaningOf(name));
  }
  for (const auto& [key, title] :
       {std::pair("skipped", "not compared"), {"refusedWrites", "writes that were refused"}}) {
    const auto* members = find(report, key);
    if (!members || !members->is_object() || members->get_object().empty()) continue;
    text += fmt::format("{}:", title);
    for (const auto& [name, count] : members->get_object())
      text += fmt::format(" {} {}", countAt(*members, name), std::string_view(name));
    text += "\n";
  }
  return text;
}

std::string latencyText(const json::value& report) {
  const json::value* latency = find(report, "latency");
  if (!latency) return "";
  std::string text =
      fmt::format("\n{:<36} {:>10} {:>10} {:>10}\n", "latency", "mean", "p50", "p99");
  const auto line = [&](std::string_view key, const std::string& title) {
    const json::value* of = find(*latency, key);
    if (!of || numberIn(*of, "count") == 0) return;
    text += fmt::format(
        "{:<36} {:>10} {:>10} {:>10}\n", title, durationText(numberIn(*of, "meanSeconds")),
        durationText(numberIn(*of, "p50Seconds")), durationText(numberIn(*of, "p99Seconds")));
  };
  line("incumbent", fmt::format("{}, creation to binding", textAt(report, "incumbent")));
  line("shadow", "shadow, one decision");
  return text;
}

std::string gainsText(const json::value& report) {
  const json::value* gains = find(report, "gains");
  if (!gains) return "";
  const std::int64_t placements = countAt(*gains, "placements");
  const std::int64_t preemptions = countAt(*gains, "preemptionsAvoided");
  if (placements == 0 && preemptions == 0) return "";
  std::string text = "\nwith the shadow's choices, each by itself:\n";
  if (placements > 0) {
    text += fmt::format(
        "  spread        {:+.2f} percentage points of the nodes' requested CPU, "
        "a placement\n",
        -numberIn(*gains, "spreadPercentPoints"));
    text +=
        fmt::format("  free CPU      {:+.1f} cores in the largest free block, in {} placements\n",
                    numberIn(*gains, "largestFreeCpuCores"), placements);
    if (const std::int64_t gpus = countAt(*gains, "wholeFreeGpus"); gpus != 0)
      text += fmt::format("  whole GPUs    {:+}\n", gpus);
    if (const std::int64_t gpus = countAt(*gains, "largestFreeGpus"); gpus != 0)
      text += fmt::format("  GPUs a node   {:+} in the largest free block\n", gpus);
  }
  if (preemptions > 0) text += fmt::format("  preemptions   {} avoided\n", preemptions);
  return text;
}

std::string choiceText(const json::value* choice) {
  if (!choice) return "";
  const std::string_view outcome = textAt(*choice, "outcome"), node = textAt(*choice, "node");
  const std::string_view message = textAt(*choice, "message");
  std::string text(outcome == "place" && !node.empty() ? "node" : outcome);
  if (outcome == "preempt") text += " on";
  if (!node.empty()) text += fmt::format(" {}", node);
  if (const auto* victims = find(*choice, "victims"); victims && victims->is_array()) {
    std::vector<std::string_view> names;
    for (const auto& victim : victims->get_array())
      if (victim.is_string()) names.emplace_back(victim.get_string());
    text += fmt::format(", victims {}", fmt::join(names, " "));
  }
  if (!message.empty()) text += fmt::format(": {}", message);
  return text;
}

std::string differenceText(const json::value& entry) {
  const std::string_view result = textAt(entry, "result");
  std::string text = fmt::format("{}  {}  {}{}\n", textAt(entry, "time"), textAt(entry, "pod"),
                                 result, find(entry, "group") ? ", with its group" : "");
  text += fmt::format("  incumbent  {}\n", choiceText(find(entry, "incumbent")));
  if (const std::string_view by = textAt(entry, "rejectedBy"); !by.empty())
    text += fmt::format("             rejected by {}\n", by);
  text += fmt::format("  shadow     {}\n", choiceText(find(entry, "shadow")));
  const json::value* scores = find(entry, "scores");
  if (!scores) return text;
  text += fmt::format("  score      {} < {}", countAt(*scores, "incumbent"),
                      countAt(*scores, "shadow"));
  std::string separator = ": ";
  for (const json::value& plugin : arrayAt(*scores, "plugins")) {
    text += fmt::format("{}{} {}, {}", std::exchange(separator, "; "), textAt(plugin, "plugin"),
                        countAt(plugin, "incumbent"), countAt(plugin, "shadow"));
  }
  return text + "\n";
}

}  // namespace

std::string shadowText(const json::value& report, std::size_t differences) {
  std::string text =
      headText(report) + resultsText(report) + latencyText(report) + gainsText(report);
  std::size_t shown = 0;
  for (const json::value& entry : arrayAt(report, "differences")) {
    if (shown == differences) break;
    if (shown++ == 0) text += "\ndifferences, the latest first:\n";
    text += differenceText(entry);
  }
  return text;
}

}  // namespace koord::koordctl
