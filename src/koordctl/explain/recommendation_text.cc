#include "koordctl/explain/recommendation_text.h"

#include <fmt/format.h>

#include "base/quantity.h"
#include "koordctl/explain/layout.h"

namespace koord::koordctl {

namespace {

double amountAt(const json::value& value, std::string_view key) {
  return realNumber(memberOf(value, key)).value_or(0);
}

std::string shownNumber(double value, bool cpu) {
  return cpu ? fmt::format("{:.3f}", value) : fmt::format("{:.0f}Mi", value / (1 << 20));
}

std::string shownBound(const json::value& side, std::string_view key, bool cpu) {
  const auto amount = Quantity::parse(textAt(side, key));
  return amount ? shownNumber(amount->toDouble(), cpu) : "";
}

Row rowOf(const json::value& container, const json::value& requests, bool cpu) {
  const char* name = cpu ? "cpu" : "memory";
  const auto* side = at(container, name);
  if (!side) return {};
  const auto* asked = at(requests, textAt(container, "name"));
  Row row{std::string(textAt(container, "name")), cpu ? "cpu, cores" : "memory",
          asked ? shownNumber(amountAt(*asked, name), cpu) : ""};
  for (const char* bound : {"lower", "target", "upper"})
    row.push_back(shownBound(*side, bound, cpu));
  for (const char* share : {"p50", "p95", "max"})
    row.push_back(shownNumber(amountAt(*side, share), cpu));
  return row;
}

}  // namespace

std::string recommendationText(const json::value& answer) {
  const auto& containers = arrayAt(answer, "containers");
  std::string out = fmt::format("Recommendation {}, {} pods\n", textAt(answer, "recommendation"),
                                scalar(at(answer, "pods")));
  if (const auto problem = textAt(answer, "problem"); !problem.empty())
    addParagraph(out, "", problem);
  if (containers.empty()) return out + "No report of koordlet has contained its pods yet.\n";
  const auto* requests = at(answer, "requests");
  std::vector<Row> rows{
      {"CONTAINER", "", "ASKS FOR", "AT LEAST", "TARGET", "AT MOST", "MEDIAN", "95 %", "MOST"}};
  for (const auto& container : containers)
    for (const bool cpu : {true, false})
      if (Row row = rowOf(container, requests ? *requests : json::value(), cpu); !row.empty())
        rows.push_back(std::move(row));
  out += "\n";
  addTable(out, rows);
  out += "\n";
  for (const auto& container : containers)
    addParagraph(out, "  ",
                 fmt::format("{}: {} samples from {} to {}, which count as {:.2f} days",
                             textAt(container, "name"), scalar(at(container, "samples")),
                             textAt(container, "since"), textAt(container, "until"),
                             amountAt(container, "confidence")));
  addParagraph(out, "  ",
               "The target is 1.10 x the 95th percentile of CPU usage and the 98th of memory "
               "usage. The bounds narrow with each day of samples.");
  return out;
}

}  // namespace koord::koordctl
