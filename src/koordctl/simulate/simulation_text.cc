#include "koordctl/simulate/simulation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "koordctl/explain/layout.h"
#include "koordctl/explain/starts_text.h"

namespace koord::koordctl {

namespace {

// Of the default quota, in units of CPU: the largest amount of millicores.
constexpr std::string_view kNoLimit = "1844674407370955161";

std::string keyOf(const json::value& entry) {
  const auto space = textAt(entry, "namespace");
  return space.empty() ? std::string(textAt(entry, "name"))
                       : fmt::format("{}/{}", space, textAt(entry, "name"));
}

void addPods(std::string& out, const json::value& status, bool explain) {
  std::vector<Row> rows{{"POD", "FROM", "NODE"}};
  std::map<std::pair<std::string, std::string>, std::int64_t> together;
  for (const json::value& pod : arrayAt(status, "pods")) {
    if (textAt(pod, "state") != "placed") continue;
    const std::string of(textAt(pod, "of")), node(textAt(pod, "node"));
    const std::string from(textAt(pod, "from"));
    if (explain || of.empty() || !from.empty()) {
      rows.push_back({keyOf(pod), from.empty() ? "-" : from, node});
    } else {
      ++together[{of, node}];
    }
  }
  for (const auto& [where, count] : together)
    rows.push_back(
        {fmt::format("{} of {}", counted(count, "pod"), where.first), "-", where.second});
  if (rows.size() == 1) return;
  out += '\n';
  addTable(out, rows);
}

// Pods that wait for the same reason share a paragraph.
void addPending(std::string& out, const json::value& status) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> reasons;
  for (const json::value& pod : arrayAt(status, "pods")) {
    const std::string state(textAt(pod, "state"));
    if (state == "placed") continue;
    std::string why(textAt(pod, "message"));
    if (why.empty()) why = state == "notTried" ? "not tried" : "no reason is known";
    reasons[{std::string(textAt(pod, "of")), why}].push_back(keyOf(pod));
  }
  for (const auto& [about, pods] : reasons) {
    const std::string who =
        about.first.empty() || pods.size() == 1
            ? pods.front()
            : fmt::format("{} of {}", counted(std::ssize(pods), "pod"), about.first);
    const std::string more = about.first.empty() && pods.size() > 1
                                 ? fmt::format(" and {} more", pods.size() - 1)
                                 : std::string();
    out += '\n';
    addParagraph(out, "Pending  ", fmt::format("{}{}: {}", who, more, about.second));
  }
}

void addVictims(std::string& out, const json::value& status) {
  const auto& victims = arrayAt(status, "victims");
  const std::int64_t hidden = countAt(status, "hiddenVictims");
  if (victims.empty() && hidden == 0) return;
  out += fmt::format("\n{} would be preempted.\n",
                     counted(static_cast<std::int64_t>(victims.size()) + hidden, "pod"));
  std::vector<Row> rows{{"POD", "NODE", "FOR", "PRIORITY", "RULES OF"}};
  for (const json::value& victim : victims)
    rows.push_back({keyOf(victim), std::string(textAt(victim, "node")),
                    std::string(textAt(victim, "preemptor")),
                    fmt::format("{} < {}", scalar(find(victim, "priority")),
                                scalar(find(victim, "preemptorPriority"))),
                    std::string(textAt(victim, "plugin"))});
  if (rows.size() > 1) addTable(out, rows);
  if (hidden > 0)
    out += fmt::format("  {} in namespaces that you may not read\n", counted(hidden, "pod"));
}

void addHiddenPods(std::string& out, const json::value& status) {
  if (const std::int64_t hidden = countAt(status, "hiddenPods"); hidden > 0)
    out += fmt::format("\n{} in namespaces that you may not read\n", counted(hidden, "more pod"));
}

std::string missingText(const json::value& remedy) {
  const json::value* amounts = at(remedy, "nearestMiss", "missing");
  if (!amounts || !amounts->is_object()) return {};
  std::string missing;
  for (const auto& [resource, amount] : amounts->get_object())
    missing += fmt::format("{}{} {}", missing.empty() ? "" : ", ", scalar(&amount),
                           std::string_view(resource.data(), resource.size()));
  return fmt::format("{} lacks {}", textAt(remedy, "nearestMiss", "node"), missing);
}

void addRemedies(std::string& out, const json::value& status) {
  for (const json::value& remedy : arrayAt(status, "remedies")) {
    const std::string of(textAt(remedy, "of"));
    const std::int64_t pods = countAt(remedy, "pods");
    std::vector<std::string> ways;
    if (const std::string missing = missingText(remedy); !missing.empty()) ways.push_back(missing);
    for (const json::value& one : arrayAt(remedy, "butForOne"))
      if (const auto change = textAt(one, "change"); !change.empty())
        ways.push_back(fmt::format("{}: {}", textAt(one, "plugin"), change));
    if (const json::value* nodes = find(remedy, "nodes"))
      ways.push_back(fmt::format("{} like {} would do",
                                 counted(countAt(*nodes, "count"), "more node"),
                                 textAt(*nodes, "like")));
    if (ways.empty()) continue;
    const std::string who =
        of.empty() ? keyOf(remedy) : fmt::format("{} of {}", counted(pods, "pod"), of);
    out += '\n';
    addParagraph(out, "Remedy   ", fmt::format("{}: {}", who, fmt::join(ways, "; ")));
  }
}

void addOthers(std::string& out, const json::value& status) {
  const auto& others = arrayAt(status, "others");
  const std::int64_t hidden = countAt(status, "hiddenOthers");
  if (others.empty() && hidden == 0) return;
  out += fmt::format("\n{} that wait{} now would get nodes.\n",
                     counted(static_cast<std::int64_t>(others.size()) + hidden, "pod"),
                     others.size() + static_cast<std::size_t>(hidden) == 1 ? "s" : "");
  std::vector<Row> rows{{"POD", "NODE"}};
  for (const json::value& other : others)
    rows.push_back({keyOf(other), std::string(textAt(other, "node"))});
  if (rows.size() > 1) addTable(out, rows);
}

}  // namespace

std::string counted(std::int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

void addQuotas(std::string& out, const json::value& status) {
  std::vector<Row> rows{{"QUOTA", "RESOURCE", "USED", "THEN", "RUNTIME", "MAX"}};
  for (const json::value& quota : arrayAt(status, "quotas")) {
    const json::value* used = at(quota, "after", "used");
    if (!used || !used->is_object()) continue;
    for (const auto& [key, amount] : used->get_object()) {
      const std::string_view resource(key.data(), key.size());
      const std::string before = scalar(at(quota, "before", "used", resource));
      if (before == scalar(&amount)) continue;
      const auto now = [&](const char* what) {
        const std::string text = scalar(at(quota, "after", what, resource));
        return text.empty() || text == kNoLimit ? std::string("-") : text;
      };
      rows.push_back({std::string(textAt(quota, "name")), std::string(resource),
                      before.empty() ? "0" : before, scalar(&amount), now("runtime"), now("max")});
    }
  }
  if (rows.size() == 1) return;
  out += '\n';
  addTable(out, rows);
}

void addStatusNotes(std::string& out, const json::value& status) {
  for (const json::value& note : arrayAt(status, "notes")) {
    out += '\n';
    addParagraph(out, "Note     ", scalar(&note));
  }
}

std::string simulationText(const json::value& result, bool explain) {
  const json::value* found = find(result, "status");
  if (!found) return "the answer has no status\n";
  const json::value& status = *found;
  if (const json::value* when = find(status, "when")) {
    std::string text = estimatesText(*when);
    addStatusNotes(text, status);
    return text;
  }
  std::string out =
      fmt::format("{} placed, {} pending", countAt(status, "placed"), countAt(status, "pending"));
  if (const std::int64_t rest = countAt(status, "notTried"); rest > 0)
    out += fmt::format(", {} not tried", rest);
  out += '\n';
  addPods(out, status, explain);
  addPending(out, status);
  addHiddenPods(out, status);
  addRemedies(out, status);
  addVictims(out, status);
  addOthers(out, status);
  addQuotas(out, status);
  addStatusNotes(out, status);
  return out;
}

bool allEstimated(const json::value& result) {
  const json::value& when = memberOf(memberOf(result, "status"), "when");
  const json::array& estimates = arrayAt(when, "estimates");
  return !estimates.empty() && std::ranges::all_of(estimates, [](const json::value& estimate) {
    const std::string_view state = textAt(estimate, "state");
    return state == "estimated" || state == "latestOnly" || state == "running";
  });
}

bool allPlaced(const json::value& result) {
  const json::value* status = find(result, "status");
  const json::value* complete = status ? find(*status, "complete") : nullptr;
  if (!complete || !complete->is_bool() || !complete->get_bool()) return false;
  if (countAt(*status, "pending") > 0) return false;  // the answer may hide pods
  for (const json::value& pod : arrayAt(*status, "pods"))
    if (textAt(pod, "state") != "placed") return false;
  return true;
}

}  // namespace koord::koordctl
