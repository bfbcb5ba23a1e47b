#include "koordctl/doctor/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "koordctl/explain/layout.h"

namespace koord::koordctl {

std::string findingsText(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& finding : findings) {
    const char* mark = finding.level == Finding::Level::Fine      ? "ok       "
                       : finding.level == Finding::Level::Off     ? "off      "
                       : finding.level == Finding::Level::Warning ? "warning  "
                                                                  : "PROBLEM  ";
    addParagraph(text, mark, finding.what);
    if (!finding.advice.empty()) addParagraph(text, "         ", finding.advice);
  }
  return text;
}

bool hasProblem(const std::vector<Finding>& findings) {
  return std::ranges::any_of(
      findings, [](const auto& finding) { return finding.level == Finding::Level::Problem; });
}

}  // namespace koord::koordctl
