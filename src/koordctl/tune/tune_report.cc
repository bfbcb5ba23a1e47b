#include "koordctl/tune/tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "koordctl/colocation/statistics.h"
#include "koordctl/tune/json_edit.h"
#include "koordctl/tune/tunables.h"

namespace koord::koordctl {

namespace {

using colocation::Estimate;

struct Column {
  std::string_view key;  // in JSON
  std::string_view title;
  double Effect::* figure;
  int digits;
};
constexpr Column kColumns[] = {
    {"batchPercent", "batch work, % of CPUs", &Effect::batchPercent, 1},
    {"cpuPercent", "CPU used, %", &Effect::cpuPercent, 1},
    {"slowdownP99", "p99 slowdown", &Effect::slowdownP99, 2},
    {"wastedPercent", "work wasted, %", &Effect::wastedPercent, 2},
    {"killedPerDay", "killed a day", &Effect::killedPerDay, 1},
};

std::vector<double> valuesOf(const Effects& effects, double Effect::* figure) {
  std::vector<double> values;
  for (const Effect& effect : effects) values.push_back(effect.*figure);
  return values;
}

std::string cell(const Estimate& estimate, int digits) {
  return colocation::toText(estimate, digits, "+-");
}

std::string row(std::string_view name, const std::vector<std::string>& cells) {
  std::string text = fmt::format("{:<22}", name);
  for (std::size_t n = 0; n < cells.size(); ++n)
    text += fmt::format("  {:>{}}", cells[n], std::max<std::size_t>(kColumns[n].title.size(), 13));
  return text + "\n";
}

std::string rowOf(std::string_view name, const Effects& effects) {
  std::vector<std::string> cells;
  for (const Column& column : kColumns)
    cells.push_back(cell(colocation::estimate(valuesOf(effects, column.figure)), column.digits));
  return row(name, cells);
}

json::object figuresOf(const Effects& effects) {
  json::object figures;
  for (const Column& column : kColumns) {
    const Estimate estimate = colocation::estimate(valuesOf(effects, column.figure));
    figures[column.key] = json::object{{"mean", estimate.mean}, {"halfWidth", estimate.halfWidth}};
  }
  return figures;
}

json::object valuesIn(const colocation::Arm& arm) {
  json::object values;
  for (const Tunable& tunable : tunables())
    if (const auto value = tunable.get(arm)) values[tunable.name] = *value;
  return values;
}

std::string differences(const TuneResult& result) {
  std::vector<std::string> cells;
  for (const Column& column : kColumns)
    cells.push_back(
        cell(colocation::estimateOfDifference(valuesOf(result.proposalEffects, column.figure),
                                              valuesOf(result.baseEffects, column.figure)),
             column.digits));
  return row("difference, by seed", cells);
}

// colocation-config has the fields of the cluster beside nodeConfigs, the others in an object.
std::string withField(std::string_view text, std::string_view section, std::string_view field,
                      std::string_view value) {
  const std::string_view path[] = {"clusterStrategy", field};
  return withMember(text, std::span(path).subspan(section == "colocation-config" ? 1 : 0), value);
}

}  // namespace

std::string tuneText(const TuneResult& result, const TuneSubject& subject) {
  std::string text;
  for (const std::string& note : subject.site->notes) text += fmt::format("note: {}\n", note);
  if (!subject.colocates)
    text +=
        "note: colocation-config does not enable co-location: \"now\" is with it enabled, and the "
        "patch enables it\n";
  std::vector<std::string> titles;
  for (const Column& column : kColumns) titles.emplace_back(column.title);
  text += fmt::format("\n{} nodes, {} pods, {:g} days, {} seeds that the search has not seen\n",
                      subject.site->site.nodes.size(), subject.site->recording.pods.size(),
                      subject.days, result.baseEffects.size());
  text += row("", titles);
  text += rowOf("without batch pods", subject.services);
  text += rowOf("now", result.baseEffects);
  if (!result.changed)
    return text + fmt::format(
                      "\nNo change is proposed: none of {} settings does more batch work "
                      "within the limits.\n",
                      result.steps.size());
  text += rowOf("proposal", result.proposalEffects);
  text += differences(result);
  text += "\nProposal:\n";
  for (const Tunable& tunable : tunables()) {
    const auto before = tunable.get(result.base), after = tunable.get(result.proposal);
    if (before == after || !after) continue;
    text += fmt::format("  {:<31} {:>3} -> {:<3}  {}\n", tunable.name, before.value_or(0), *after,
                        tunable.meaning);
    if (tunable.section.empty())
      text += "    (of LoadAwareScheduling in koord-scheduler's configuration; not in the patch)\n";
  }
  return text;
}

json::object tuneDocument(const TuneResult& result, const TuneSubject& subject) {
  json::array steps, notes;
  for (const TuneStep& step : result.steps)
    steps.push_back(json::object{
        {"change", step.change}, {"taken", step.taken}, {"figures", figuresOf(step.effects)}});
  for (const std::string& note : subject.site->notes) notes.emplace_back(note);
  return {{"nodes", subject.site->site.nodes.size()},
          {"pods", subject.site->recording.pods.size()},
          {"days", subject.days},
          {"colocates", subject.colocates},
          {"notes", std::move(notes)},
          {"withoutBatchPods", figuresOf(subject.services)},
          {"now", json::object{{"settings", valuesIn(result.base)},
                               {"figures", figuresOf(result.baseEffects)}}},
          {"changed", result.changed},
          {"proposal", json::object{{"settings", valuesIn(result.proposal)},
                                    {"figures", figuresOf(result.proposalEffects)}}},
          {"steps", std::move(steps)}};
}

json::object configPatch(const TuneResult& result, const api::StringMap& config, bool colocates) {
  std::map<std::string_view, std::string> sections;
  const auto set = [&](std::string_view section, std::string_view field, std::string_view value) {
    const auto* now = api::findIn(config, section);
    auto& text = sections.try_emplace(section, now ? *now : std::string()).first->second;
    text = withField(text, section, field, value);
  };
  for (const Tunable& tunable : tunables()) {
    const auto before = tunable.get(result.base), after = tunable.get(result.proposal);
    if (tunable.section.empty() || before == after || !after) continue;
    set(tunable.section, tunable.name, std::to_string(*after));
  }
  if (sections.empty()) return {};
  if (!colocates) set("colocation-config", "enable", "true");
  json::object data;
  for (const auto& [key, section] : sections) data[key] = section;
  return {{"data", std::move(data)}};
}

}  // namespace koord::koordctl
