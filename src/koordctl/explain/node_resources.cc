#include "koordctl/explain/node_resources.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity.h"
#include "koordctl/explain/layout.h"

namespace koord::koordctl {

namespace {

bool isMemory(std::string_view resource) {
  return resource.ends_with("memory");
}

// Cores with two digits; bytes in the largest unit that gives a number above 1.
std::string shownAmount(std::string_view text, bool memory) {
  const auto amount = Quantity::parse(text);
  if (!amount) return std::string(text);
  double value = amount->toDouble();
  if (!memory) return fmt::format("{:.2f}", value);
  const char* units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, unit == 0 ? 0 : 2, units[unit]);
}

// Batch and mid CPU are in thousandths of a core.
std::string shownValue(std::string_view resource, std::string_view text) {
  if (isMemory(resource)) return shownAmount(text, true);
  const auto amount = Quantity::parse(text);
  return amount ? fmt::format("{:.2f} cores", amount->toDouble() / 1000) : std::string(text);
}

std::string_view shownSign(std::string_view sign) {
  if (sign == "most") return "<=";
  if (sign == "least") return ">=";
  return sign;
}

void addTerms(std::string& out, std::string_view resource, const json::value& entry) {
  struct Line {
    std::string sign, amount, what, source;
  };
  std::vector<Line> lines;
  std::size_t amounts = 0, whats = 0;
  for (const auto& term : arrayAt(entry, "terms")) {
    const auto sign = textAt(term, "sign");
    const auto amount = textAt(term, "amount");
    lines.push_back({std::string(shownSign(sign)),
                     sign == "x" ? std::string(amount) : shownAmount(amount, isMemory(resource)),
                     std::string(textAt(term, "what")), std::string(textAt(term, "source"))});
    amounts = std::max(amounts, lines.back().amount.size());
    whats = std::max(whats, lines.back().what.size());
  }
  std::size_t i = 0;
  for (const auto& term : arrayAt(entry, "terms")) {
    const Line& line = lines[i++];
    addParagraph(out,
                 fmt::format("    {:<2} {:>{}}  {:<{}}  ", line.sign, line.amount, amounts,
                             line.what, whats),
                 line.source);
    for (const auto& pod : arrayAt(term, "largest"))
      out += fmt::format("       {:>{}}  {}: {}\n", "", amounts, textAt(pod, "pod"),
                         shownAmount(textAt(pod, "amount"), isMemory(resource)));
  }
}

}  // namespace

std::string nodeResourcesText(const json::value& answer) {
  const auto& resources = arrayAt(answer, "resources");
  if (resources.empty()) return {};
  std::string out = fmt::format("Node {}", textAt(answer, "node"));
  if (const auto when = textAt(answer, "measuredAt"); !when.empty())
    out += fmt::format(", measured at {}", when);
  out += "\n";
  for (const auto& entry : resources) {
    const auto name = textAt(entry, "name");
    const auto slash = name.find('/');
    const auto value = textAt(entry, "value");
    out += fmt::format("\n  {} {}\n", name.substr(slash == std::string_view::npos ? 0 : slash + 1),
                       value.empty() ? "is not offered" : "= " + shownValue(name, value));
    addTerms(out, name, entry);
    if (const auto note = textAt(entry, "note"); !note.empty()) addParagraph(out, "    ", note);
    if (const auto onNode = textAt(entry, "onNode"); !onNode.empty() && onNode != value)
      out += fmt::format("    The Node has {}.\n", shownValue(name, onNode));
  }
  return out + "\n";
}

}  // namespace koord::koordctl
