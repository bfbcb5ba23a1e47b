#include "koordctl/explain/migration_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "koordctl/explain/layout.h"

namespace koord::koordctl {

namespace {

constexpr std::string_view kOurs = "descheduler.koordinator.sh/";

std::string annotation(const json::value& job, std::string_view key) {
  const json::value* all = at(job, "metadata", "annotations");
  return all ? std::string(textAt(*all, key)) : std::string();
}

std::string ours(const json::value& job, std::string_view key) {
  return annotation(job, std::string(kOurs) + std::string(key));
}

void addLine(std::string& out, std::string_view title, const std::string& text) {
  if (!text.empty()) addParagraph(out, fmt::format("{:<11}", title), text);
}

std::string podText(const json::value& job) {
  std::string text = fmt::format("{}/{}", textAt(job, "spec", "podRef", "namespace"),
                                 textAt(job, "spec", "podRef", "name"));
  if (const auto from = ours(job, "from-node"); !from.empty()) text += ", on node " + from;
  return text;
}

std::string whyText(const json::value& job) {
  const auto trigger = annotation(job, "koordinator.sh/evict-trigger");
  const auto reason = annotation(job, "koordinator.sh/evict-reason");
  if (trigger.empty() && reason.empty()) return "created by a user";
  if (trigger.empty() || reason.empty()) return trigger + reason;
  return fmt::format("{}: {}", trigger, reason);
}

std::string planText(const json::value& job) {
  const auto node = ours(job, "planned-node");
  if (node.empty()) return "the new node is unknown";
  std::string text = "node " + node;
  if (const auto by = ours(job, "planned-by"); !by.empty()) text += ", by " + by;
  if (const auto avoid = ours(job, "avoid-nodes"); !avoid.empty())
    text += "; not on " + avoid + ", which its workload left recently or which is full";
  return text;
}

std::string landedText(const json::value& job) {
  const auto node = textAt(job, "status", "nodeName");
  const auto pod = textAt(job, "status", "podRef", "name");
  if (node.empty() && pod.empty()) return {};
  if (pod.empty()) return fmt::format("reserved on node {}", node);
  return fmt::format("pod {}/{} on node {}", textAt(job, "status", "podRef", "namespace"), pod,
                     node);
}

std::string reservationLine(const json::value& job, const json::value* reservation) {
  const auto name = textAt(job, "spec", "reservationOptions", "reservationRef", "name");
  if (name.empty()) return {};
  if (!reservation || reservation->is_null()) return fmt::format("{}, which was deleted", name);
  const auto phase = textAt(*reservation, "status", "phase");
  return fmt::format("{}, {}", name, phase.empty() ? "Pending" : phase);
}

// Its current step, or what it waits for.
std::string stateText(const json::value& job) {
  const auto phase = textAt(job, "status", "phase");
  std::string text(phase.empty() ? "Pending" : phase);
  const json::value* paused = at(job, "spec", "paused");
  if (paused && paused->is_bool() && paused->get_bool()) text += ", paused";
  if (const auto reason = textAt(job, "status", "reason"); !reason.empty())
    text += fmt::format(", {}", reason);
  return text;
}

void addSteps(std::string& out, const json::value& job) {
  const json::value* status = find(job, "status");
  if (!status) return;
  std::vector<Row> rows{{"STEP", "DONE", "SINCE", "WHAT"}};
  for (const json::value& each : arrayAt(*status, "conditions")) {
    std::string what(textAt(each, "reason"));
    if (const auto message = textAt(each, "message"); !message.empty())
      what += fmt::format("{}{}", what.empty() ? "" : ": ", message);
    rows.push_back({std::string(textAt(each, "type")),
                    textAt(each, "status") == "True" ? "yes" : "no",
                    std::string(textAt(each, "lastTransitionTime")), std::move(what)});
  }
  if (rows.size() == 1) return;
  out += "\nSteps\n";
  addTable(out, rows);
}

void addEvents(std::string& out, const json::value& answer) {
  std::vector<Row> rows;
  for (const json::value& each : arrayAt(answer, "events")) {
    std::string time(textAt(each, "lastTimestamp"));
    if (time.empty()) time = textAt(each, "eventTime");
    rows.push_back({std::move(time), std::string(textAt(each, "reason")),
                    std::string(textAt(each, "message"))});
  }
  if (rows.empty()) return;
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return row.front(); });
  rows.insert(rows.begin(), {"TIME", "EVENT", "MESSAGE"});
  out += "\nEvents\n";
  addTable(out, rows);
}

}  // namespace

std::string migrationText(const json::value& answer) {
  std::string out;
  static const json::value kNothing;
  const json::value* found = find(answer, "job");
  const json::value& job = found ? *found : kNothing;
  addLine(out, "Migration", std::string(textAt(job, "metadata", "name")));
  addLine(out, "State", stateText(job));
  addLine(out, "", std::string(textAt(job, "status", "message")));
  addLine(out, "Pod", podText(job));
  addLine(out, "Because", whyText(job));
  addLine(out, "Planned", planText(job));
  addLine(out, "New pod", landedText(job));
  const auto mode = textAt(job, "spec", "mode");
  const auto ttl = textAt(job, "spec", "ttl");
  addLine(out, "Mode",
          fmt::format("{}{}", mode.empty() ? "the controller's default" : mode,
                      ttl.empty() ? "" : fmt::format(", within {}", ttl)));
  addLine(out, "Reserved", reservationLine(job, find(answer, "reservation")));
  if (const auto size = ours(job, "moves-together-size"); !size.empty())
    addLine(out, "Gang", fmt::format("migrates with its gang of {} pods", size));
  addSteps(out, job);
  addEvents(out, answer);
  return out;
}

}  // namespace koord::koordctl
