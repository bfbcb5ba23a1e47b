#include "net/metrics_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace koord::net {

namespace {

void addHead(std::string& out, std::string_view name, std::string_view type,
             std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

constexpr std::string_view kHelp = "# HELP ";
constexpr std::string_view kNextHelp = "\n# HELP ";

// The length of the text before the first metric that has a HELP line.
std::size_t lengthWithoutHelp(std::string_view text) {
  if (text.starts_with(kHelp)) return 0;
  const auto first = text.find(kNextHelp);
  return first == text.npos ? text.size() : first + 1;
}

// Text of one metric after the other; each begins with its HELP line.
template <class Fn>
void forEachMetric(std::string_view text, Fn&& fn) {
  text.remove_prefix(lengthWithoutHelp(text));
  while (!text.empty()) {
    const auto next = text.find(kNextHelp);
    const std::string_view metric = text.substr(0, next == text.npos ? next : next + 1);
    text.remove_prefix(metric.size());
    const auto nameEnd = metric.find(' ', kHelp.size());
    fn(metric.substr(kHelp.size(), nameEnd - kHelp.size()), metric.substr(nameEnd + 1), metric);
  }
}

// "[STABLE] ..." -> STABLE; metrics without such a mark count as INTERNAL.
std::string_view stabilityOf(std::string_view help) {
  const auto end = help.find(']');
  return help.starts_with('[') && end != help.npos ? help.substr(1, end - 1) : "INTERNAL";
}

}  // namespace

std::string MetricsPage::complete(std::string own) const {
  if (!build.version.empty()) {
    std::string_view number = build.version;
    if (number.starts_with('v')) number.remove_prefix(1);
    const auto dot = std::min(number.find('.'), number.size());
    const std::string_view rest = number.substr(std::min(dot + 1, number.size()));
    addHead(own, "kubernetes_build_info", "gauge", "[ALPHA] Version of this program: always 1");
    fmt::format_to(std::back_inserter(own),
                   "kubernetes_build_info{{build_date=\"{}\",compiler=\"{}\",git_commit=\"{}\","
                   "git_version=\"{}\",major=\"{}\",minor=\"{}\",platform=\"linux/{}\"}} 1\n",
                   build.date, __VERSION__, build.commit, build.version, number.substr(0, dot),
                   rest.substr(0, rest.find('.')),
#if defined(__aarch64__)
                   "arm64"
#else
                   "amd64"
#endif
    );
  }
  if (!features.empty()) {
    addHead(own, "kubernetes_feature_enabled", "gauge",
            "[BETA] Whether a feature gate is on: 1, or 0");
    for (const Feature& feature : features) {
      fmt::format_to(std::back_inserter(own),
                     "kubernetes_feature_enabled{{name=\"{}\",stage=\"{}\"}} {}\n", feature.name,
                     feature.stage, feature.enabled ? 1 : 0);
    }
  }
  std::string shown = own.substr(0, lengthWithoutHelp(own));
  std::map<std::string, int, std::less<>> byStability;
  int left = 0;
  forEachMetric(own, [&](std::string_view name, std::string_view help, std::string_view metric) {
    if (disabled.contains(name)) {
      ++left;
      return;
    }
    ++byStability[std::string(stabilityOf(help))];
    shown += metric;
  });
  addHead(shown, "disabled_metrics_total", "counter",
          "[BETA] Metrics that --disabled-metrics disables");
  fmt::format_to(std::back_inserter(shown), "disabled_metrics_total {}\n", left);
  addHead(shown, "registered_metrics_total", "counter",
          "[BETA] Metrics that are shown, by stability");
  for (const auto& [stability, count] : byStability) {
    fmt::format_to(
        std::back_inserter(shown),
        "registered_metrics_total{{deprecated_version=\"\",stability_level=\"{}\"}} {}\n",
        stability, count);
  }
  return shown;
}

}  // namespace koord::net
