#include "koordctl/explain/starts_text.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "koordctl/explain/layout.h"

namespace koord::koordctl {

namespace {

// A number in the unit that suits it: "45", "s".
struct Span {
  double number = 0;
  const char* unit = "s";
};

Span spanOf(double seconds) {
  if (seconds < 120) return {seconds, "s"};
  if (seconds < 7'200) return {seconds / 60, "min"};
  if (seconds < 172'800) return {seconds / 3600, "h"};
  return {seconds / 86'400, "days"};
}

// One digit more below ten, but for seconds.
std::string numberText(const Span& span) {
  if (span.number >= 10 || *span.unit == 's') return fmt::format("{:.0f}", span.number);
  const std::string text = fmt::format("{:.1f}", span.number);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string timeText(double seconds) {
  const Span span = spanOf(seconds);
  return fmt::format("{} {}", numberText(span), span.unit);
}

// "12 to 19 min"; "45 s to 3 min".
std::string rangeText(double from, double to) {
  const Span low = spanOf(from), high = spanOf(to);
  const std::string first = numberText(low), last = numberText(high);
  if (std::string_view(low.unit) != high.unit)
    return fmt::format("{} {} to {} {}", first, low.unit, last, high.unit);
  return first == last ? fmt::format("{} {}", first, low.unit)
                       : fmt::format("{} to {} {}", first, last, high.unit);
}

double secondsAt(const json::value& object, const char* name) {
  const auto number = realNumber(memberOf(object, name));
  return number && std::isfinite(*number) ? std::max(0.0, *number) : 0.0;
}

std::string pods(std::int64_t count, const char* of = "") {
  return fmt::format("{} {}pod{}", count, of, count == 1 ? "" : "s");
}

std::string boundsText(const json::value& bounds) {
  if (!find(bounds, "earliest"))
    return fmt::format("within {}, at an unknown time", timeText(secondsAt(bounds, "latest")));
  return fmt::format("in {} (likely {})",
                     rangeText(secondsAt(bounds, "earliest"), secondsAt(bounds, "latest")),
                     timeText(secondsAt(bounds, "likely")));
}

// "3 pods of Job team-a/train on node n1 must end first; its 12 earlier runs took 31 to 44 min"
std::string runsText(const json::value& runs) {
  std::string nodes = joined(arrayAt(runs, "nodes"), 3);
  const std::int64_t count = countAt(runs, "nodeCount");
  if (count > 0)
    nodes = count == 1 ? fmt::format(" on node {}", nodes) : fmt::format(" on nodes {}", nodes);
  const std::string workload = fmt::format("{} {}/{}", textAt(runs, "kind"),
                                           textAt(runs, "namespace"), textAt(runs, "name"));
  const std::int64_t ending = countAt(runs, "pods");
  std::string text = fmt::format("{} of {}{} {} first", pods(ending), workload, nodes,
                                 ending == 1 ? "ends" : "end");
  if (const std::int64_t known = countAt(runs, "runs"); known > 0)
    text += fmt::format("; {} earlier runs took {}", known,
                        rangeText(secondsAt(runs, "shortest"), secondsAt(runs, "longest")));
  return text;
}

std::string unknownText(const json::value& estimate) {
  std::vector<std::string> names;
  for (const json::value& pod : arrayAt(estimate, "unknown"))
    names.push_back(fmt::format("{}/{} on {}", textAt(pod, "namespace"), textAt(pod, "name"),
                                textAt(pod, "node")));
  const std::int64_t count = countAt(estimate, "unknownPods");
  if (count == 0) return {};
  if (names.empty()) return fmt::format("nothing is known about the ends of {}", pods(count));
  std::string text = fmt::format("nothing is known about the end of {}", fmt::join(names, ", "));
  const std::int64_t more = count - static_cast<std::int64_t>(names.size());
  return more > 0 ? fmt::format("{} and {}", text, pods(more, "other ")) : text;
}

std::string refusalText(const json::value& estimate) {
  if (const auto message = textAt(estimate, "message"); !message.empty())
    return std::string(message);
  const std::string unknown = unknownText(estimate);
  return unknown.empty() ? "no known end of a pod lets it start" : unknown;
}

}  // namespace

std::string startsText(const json::value& estimate) {
  const std::string_view state = textAt(estimate, "state");
  std::string out;
  if (state == "none") {
    addParagraph(out, "Starts ", "no estimate: " + refusalText(estimate));
    return out;
  }
  if (state != "estimated" && state != "latestOnly") return out;
  std::string text = boundsText(memberOf(estimate, "next"));
  if (textAt(estimate, "kind") == "quota") text = "the next pod " + text;
  if (const auto node = textAt(estimate, "node"); !node.empty())
    text += fmt::format(", likely on node {}", node);
  if (const json::value* all = find(estimate, "all"); all && countAt(estimate, "pods") > 1)
    text += fmt::format("; all {} {}", pods(countAt(estimate, "pods")), boundsText(*all));
  addParagraph(out, "Starts ", text);
  if (state == "latestOnly")
    addParagraph(out, "       ", "of some pods on the node only a deadline is known");
  for (const json::value& runs : arrayAt(estimate, "runs"))
    addParagraph(out, "       ", runsText(runs));
  const double interval = realNumber(memberOf(estimate, "interval")).value_or(0);
  if (interval > 0)
    addParagraph(
        out, "       ",
        fmt::format("in {:.0f} of 100 cases, if no other pods are created", interval * 100));
  return out;
}

std::string estimatesText(const json::value& when) {
  std::string out;
  for (const json::value& entry : arrayAt(when, "estimates")) {
    if (!entry.is_object()) continue;
    json::object estimate = entry.get_object();
    if (const json::value* interval = find(when, "interval"))
      estimate.insert_or_assign("interval", *interval);
    const auto space = textAt(entry, "namespace");
    out += fmt::format("{}{} {}{}{}\n", out.empty() ? "" : "\n", textAt(entry, "kind"), space,
                       space.empty() ? "" : "/", textAt(entry, "name"));
    std::string text = startsText(estimate);
    if (text.empty()) {
      const auto message = textAt(entry, "message");
      const auto node = textAt(entry, "node");
      addParagraph(text, "       ",
                   !message.empty() ? std::string(message)
                   : node.empty()   ? "runs already"
                                    : fmt::format("runs already, on {}", node));
    }
    out += text;
  }
  return out;
}

json::value startsQuestion(const std::string& kind, const std::string& name, json::array jobs) {
  json::object when{{kind, json::array{json::string(name)}}};
  if (!jobs.empty()) when.emplace("jobs", std::move(jobs));
  return json::object{{"apiVersion", "simulation.koordinator.sh/v1alpha1"},
                      {"kind", "Simulation"},
                      {"spec", json::object{{"when", std::move(when)}}}};
}

json::value estimateIn(const json::value& answer) {
  const json::value& when = memberOf(memberOf(answer, "status"), "when");
  const json::array& estimates = arrayAt(when, "estimates");
  if (estimates.empty() || !estimates[0].is_object()) return nullptr;
  json::object estimate = estimates[0].get_object();
  if (const json::value* interval = find(when, "interval"))
    estimate.insert_or_assign("interval", *interval);
  return estimate;
}

}  // namespace koord::koordctl
