#include "koordctl/colocation/study_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace koord::koordctl::colocation {

namespace {

json::object toObject(const Estimate& estimate) {
  return {{"mean", estimate.mean}, {"halfWidth", estimate.halfWidth}};
}

constexpr std::string_view kBases[] = {"services", "kubernetes", "upstream", "recommended"};

const ArmResult* armOf(const std::vector<ArmResult>& arms, std::string_view name) {
  const auto it = std::ranges::find(arms, name, &ArmResult::name);
  return it == arms.end() ? nullptr : &*it;
}

json::object armObject(const StudyOptions& options, const ArmResult& arm,
                       const std::vector<ArmResult>& arms) {
  json::object all;
  for (const Figure& figure : figures()) {
    const auto values = valuesOf(options, arm, figure);
    json::object one = toObject(estimate(values));
    json::object differences;
    for (const std::string_view name : kBases)
      if (const ArmResult* base = armOf(arms, name))
        differences[name] =
            toObject(estimateOfDifference(values, valuesOf(options, *base, figure)));
    one["differenceTo"] = std::move(differences);
    one["bySeed"] = json::array(values.begin(), values.end());
    all[figure.name] = std::move(one);
  }
  json::array points;
  if (!arm.bySeed.empty())
    for (const Moment& moment : arm.bySeed.front().moments)
      points.push_back(json::object{{"seconds", moment.seconds},
                                    {"cpuUsed", moment.cpuUsed},
                                    {"servicesUsed", moment.servicesUsed},
                                    {"offered", moment.offered},
                                    {"slowdownP99", moment.slowdown}});
  return {{"name", arm.name}, {"figures", std::move(all)}, {"points", std::move(points)}};
}

json::array armArray(const StudyOptions& options, const std::vector<ArmResult>& arms) {
  json::array all;
  for (const ArmResult& arm : arms) all.push_back(armObject(options, arm, arms));
  return all;
}

// base: nullptr, or the arm to which the difference is shown.
std::string cell(const StudyOptions& options, const ArmResult& arm, const Figure& figure,
                 const ArmResult* base) {
  const auto values = valuesOf(options, arm, figure);
  const Estimate value =
      base ? estimateOfDifference(values, valuesOf(options, *base, figure)) : estimate(values);
  return toText(value, figure.digits, "+-");
}

constexpr std::size_t kColumns = 4;  // the compared arms, then those of the ablation
constexpr std::size_t kWidth = 33;

// A table for each kColumns arms. Rows are figures, columns are arms.
std::string tableText(const StudyOptions& options, std::span<const ArmResult> arms,
                      const ArmResult* base = nullptr) {
  std::string text;
  for (; !arms.empty(); arms = arms.subspan(std::min(kColumns, arms.size()))) {
    const auto columns = arms.first(std::min(kColumns, arms.size()));
    text += fmt::format("\n{:<26}", "");
    for (const ArmResult& arm : columns) text += fmt::format("{:>{}}", arm.name, kWidth);
    text += "\n";
    for (const Figure& figure : figures()) {
      text += fmt::format("{:<26}", figure.title);
      for (const ArmResult& arm : columns)
        text += fmt::format("{:>{}}", cell(options, arm, figure, base), kWidth);
      text += "\n";
    }
  }
  return text;
}

constexpr std::string_view kSweptFigures[] = {"cpuMeanPercent", "batchPercentOfCapacity",
                                              "slowdownP99"};

std::string sweepRow(const StudyOptions& options, const std::string& name,
                     std::span<const ArmResult> arms) {
  std::string text = fmt::format("{:<26}", name);
  for (const Figure& figure : figures()) {
    if (std::ranges::find(kSweptFigures, figure.name) == std::end(kSweptFigures)) continue;
    std::string values;
    for (const ArmResult& arm : arms) {
      if (arm.name == "services") continue;
      values += fmt::format("{}{:.{}f}", values.empty() ? "" : " / ",
                            estimate(valuesOf(options, arm, figure)).mean, figure.digits);
    }
    text += fmt::format("{:>26}", values);
  }
  return text + "\n";
}

std::string sweepText(const StudyResult& study) {
  if (study.sweep.empty()) return "";
  std::string text =
      "\nOne assumption changed: kubernetes / upstream / recommended, means over seeds\n";
  text += fmt::format("{:<26}{:>26}{:>26}{:>26}\n", "", "CPU used, mean %",
                      "batch work, % of all CPUs", "slowdown, p99");
  const std::span<const ArmResult> arms(study.arms);
  text += sweepRow(study.options, "(defaults)", arms.first(std::min(kColumns, arms.size())));
  for (const SweepResult& row : study.sweep)
    text += sweepRow(study.options, fmt::format("{} {}", row.parameter, row.value), row.arms);
  return text;
}

}  // namespace

std::string studyJson(const StudyResult& study) {
  const StudyOptions& options = study.options;
  json::array parameters;
  for (const Parameter& parameter : parameterTable())
    parameters.push_back(json::object{{"name", parameter.name},
                                      {"value", options.parameters.*parameter.value},
                                      {"meaning", parameter.meaning},
                                      {"source", parameter.source}});
  json::array sweep;
  for (const SweepResult& row : study.sweep)
    sweep.push_back(json::object{
        {"parameter", row.parameter}, {"value", row.value}, {"arms", armArray(options, row.arms)}});
  return toJson(json::object{{"days", options.days},
                             {"seeds", options.seeds},
                             {"firstSeed", options.firstSeed},
                             {"parameters", std::move(parameters)},
                             {"arms", armArray(options, study.arms)},
                             {"sweep", std::move(sweep)}});
}

std::string studyText(const StudyResult& study) {
  const StudyOptions& options = study.options;
  std::string text = fmt::format(
      "{} nodes of {} CPUs, {} days, seeds {} to {}; +- is the half width of the 95 % confidence "
      "interval\n",
      options.parameters.nodes, options.parameters.cores, options.days, options.firstSeed,
      options.firstSeed + static_cast<std::uint64_t>(options.seeds) - 1);
  const std::span<const ArmResult> arms(study.arms);
  const std::size_t compared = std::min(kColumns, arms.size());
  text += tableText(options, arms);
  if (const ArmResult* base = armOf(study.arms, "kubernetes"))
    text += "\nDifferences to kubernetes, seed by seed\n" +
            tableText(options, arms.first(compared), base);
  if (const ArmResult* base = armOf(study.arms, "recommended"); base && compared < arms.size())
    text += "\nDifferences to recommended, seed by seed\n" +
            tableText(options, arms.subspan(compared), base);
  return text + sweepText(study);
}

}  // namespace koord::koordctl::colocation
