#include "apiserver/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace koord::apiserver {
namespace {

struct Check {
  std::string_view name;
  std::string wrong;   // "" if the check passes
  bool counts = true;  // true if a failure fails the endpoint
};

std::vector<Check> checksOf(std::string_view endpoint, const std::optional<Error>& failure) {
  // All objects are in memory, so reading them cannot fail. kube-apiserver names this check etcd.
  std::vector<Check> checks{{"ping", ""}, {"log", ""}, {"etcd", ""}};
  if (endpoint == "readyz")
    checks.push_back({"storage-writes", failure ? failure->message : "", false});
  return checks;
}

}  // namespace

std::optional<HealthAnswer> answerHealth(const net::Target& target,
                                         const std::optional<Error>& failure) {
  const std::string_view path = std::string_view(target.path).substr(1);
  const auto slash = path.find('/');
  const std::string_view endpoint = path.substr(0, slash);
  if (endpoint != "healthz" && endpoint != "livez" && endpoint != "readyz") return {};
  const auto checks = checksOf(endpoint, failure);
  if (slash != std::string_view::npos && slash + 1 < path.size()) {
    const auto check = std::ranges::find(checks, path.substr(slash + 1), &Check::name);
    if (check == checks.end()) return HealthAnswer{404, "404 page not found\n"};
    if (check->wrong.empty()) return HealthAnswer{200, "ok"};
    return HealthAnswer{500, fmt::format("internal server error: {}\n", check->wrong)};
  }
  std::set<std::string_view> excluded;
  for (const auto& [name, value] : target.query)
    if (name == "exclude") excluded.insert(value);
  std::string lines;
  bool healthy = true;
  for (const auto& check : checks) {
    if (excluded.erase(check.name) > 0) {
      lines += fmt::format("[+]{} excluded: ok\n", check.name);
    } else if (check.wrong.empty()) {
      lines += fmt::format("[+]{} ok\n", check.name);
    } else {
      lines += fmt::format("[-]{} failed: reason withheld{}\n", check.name,
                           check.counts ? "" : " (reads and watches continue)");
      healthy = healthy && !check.counts;
    }
  }
  for (const auto unknown : excluded)
    lines += fmt::format("warn: some health checks cannot be excluded: no matches for \"{}\"\n",
                         unknown);
  if (!healthy) return HealthAnswer{500, fmt::format("{}{} check failed\n", lines, endpoint)};
  if (!target.has("verbose")) return HealthAnswer{200, "ok"};
  return HealthAnswer{200, fmt::format("{}{} check passed\n", lines, endpoint)};
}

}  // namespace koord::apiserver
