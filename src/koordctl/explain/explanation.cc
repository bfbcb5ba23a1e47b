#include "koordctl/explain/explanation.h"

#include <fmt/format.h>

#include <vector>

#include "koordctl/explain/layout.h"
#include "koordctl/explain/plugin_answers.h"
#include "koordctl/explain/starts_text.h"

namespace koord::koordctl {

namespace {

void addState(std::string& out, const json::value& answer) {
  out += fmt::format("Pod    {}\n", textAt(answer, "pod"));
  std::string state(textAt(answer, "state"));
  if (const auto node = textAt(answer, "node"); !node.empty()) state += fmt::format(" on {}", node);
  if (const auto attempts = scalar(at(answer, "attempts")); !attempts.empty())
    state += fmt::format(", tried {} {}", attempts, attempts == "1" ? "time" : "times");
  if (const auto until = textAt(answer, "backoffUntil"); !until.empty())
    state += fmt::format(", next attempt not before {}", until);
  if (state != "unknown" && !state.empty()) out += "State  " + state + "\n";
  if (const auto gate = textAt(answer, "gatedBy"); !gate.empty())
    out += fmt::format("Gated  by {}\n", gate);
  if (const auto& waits = arrayAt(answer, "waitsFor"); !waits.empty())
    out += fmt::format("Waits  for a change that concerns {}\n", joined(waits));
  out += startsText(memberOf(answer, "starts"));
}

void addVerdicts(std::string& out, const json::value& answer) {
  const auto total = scalar(at(answer, "totalNodes"));
  if (total.empty()) {
    if (const auto message = textAt(answer, "message"); !message.empty())
      out += fmt::format("\n{}\n", message);
    return;
  }
  out +=
      fmt::format("\nIt fits on {} of {} nodes now.\n", scalar(at(answer, "feasibleNodes")), total);
  if (const auto& rejections = arrayAt(answer, "rejections"); !rejections.empty()) {
    std::vector<Row> rows{{"NODES", "REJECTED BY", "BECAUSE", "FOR EXAMPLE"}};
    for (const auto& rejection : rejections)
      rows.push_back({scalar(at(rejection, "count")), std::string(textAt(rejection, "plugin")),
                      joined(arrayAt(rejection, "reasons")),
                      joined(arrayAt(rejection, "nodes"), 5)});
    addTable(out, rows);
  }
  if (const auto* miss = at(answer, "nearestMiss"); miss && miss->is_object()) {
    std::string missing;
    if (const auto* amounts = at(*miss, "missing"); amounts && amounts->is_object())
      for (const auto& [resource, amount] : amounts->get_object())
        missing += fmt::format("{}{} {}", missing.empty() ? "" : ", ", scalar(&amount),
                               std::string_view(resource.data(), resource.size()));
    out += fmt::format(
        "\nIt would fit on {} if it requested {} less, or if that much were freed there.\n",
        textAt(*miss, "node"), missing);
  }
}

// Adds the nodes where the least would have to change.
void addNearly(std::string& out, const json::value& answer) {
  const auto& nearly = arrayAt(answer, "butForOne");
  if (nearly.empty()) return;
  out += "\nNodes that fail only one check\n";
  std::vector<Row> rows{{"NODES", "REJECTED BY", "BECAUSE", "FOR EXAMPLE", "WHAT WOULD HELP"}};
  for (const auto& entry : nearly)
    rows.push_back({scalar(at(entry, "count")), std::string(textAt(entry, "plugin")),
                    joined(arrayAt(entry, "reasons")), joined(arrayAt(entry, "nodes"), 1),
                    std::string(textAt(entry, "change"))});
  addTable(out, rows);
}

void addScores(std::string& out, const json::value& answer) {
  const auto& best = arrayAt(answer, "bestNodes");
  if (best.empty()) return;
  out += "\nThe best nodes, with each plugin's weighted score\n";
  Row head{"NODE", "SCORE"};
  if (const auto* plugins = at(best[0], "plugins"); plugins && plugins->is_object())
    for (const auto& [plugin, score] : plugins->get_object()) head.emplace_back(plugin);
  std::vector<Row> rows{head};
  for (const auto& node : best) {
    Row row{std::string(textAt(node, "node")), scalar(at(node, "score"))};
    for (std::size_t i = 2; i < head.size(); ++i)
      row.push_back(scalar(at(node, "plugins", head[i])));
    rows.push_back(std::move(row));
  }
  addTable(out, rows);
}

void addDecisions(std::string& out, const json::value& answer) {
  const auto& decisions = arrayAt(answer, "decisions");
  if (decisions.empty()) return;
  out += "\nDecisions\n";
  std::vector<Row> rows{{"TIME", "ATTEMPT", "RESULT", "NODE", "FEASIBLE", "MESSAGE"}};
  for (const auto& decision : decisions)
    rows.push_back({std::string(textAt(decision, "time")), scalar(at(decision, "attempt")),
                    std::string(textAt(decision, "result")), std::string(textAt(decision, "node")),
                    fmt::format("{}/{}", scalar(at(decision, "feasibleNodes")),
                                scalar(at(decision, "evaluatedNodes"))),
                    std::string(textAt(decision, "message"))});
  addTable(out, rows);
}

}  // namespace

std::string explanationText(const json::value& answer) {
  std::string out;
  addState(out, answer);
  addPluginAnswers(out, answer);
  addVerdicts(out, answer);
  addNearly(out, answer);
  addScores(out, answer);
  addDecisions(out, answer);
  return out;
}

}  // namespace koord::koordctl
