#include "apiserver/authz/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace koord::apiserver {
namespace {

using Texts = std::vector<std::string>;

// Limit of the pieces that are checked one by one, for all rules together. A role has as many as
// the product of its list sizes: a body of three megabytes could need more memory for them than
// there is.
constexpr std::size_t kMaxPieces = 100'000;

// kMaxPieces + 1 stands for every larger number.
std::size_t times(std::size_t a, std::size_t b) {
  return b != 0 && a > kMaxPieces / b ? kMaxPieces + 1 : a * b;
}

std::size_t countPieces(const PolicyRule& rule) {
  const auto names = std::max<std::size_t>(rule.names.size(), 1);
  return times(times(rule.groups.size(), rule.resources.size()), times(rule.verbs.size(), names)) +
         times(rule.urls.size(), rule.verbs.size());
}

bool has(const Texts& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

bool hasAll(const Texts& list, const Texts& texts) {
  return std::ranges::all_of(texts, [&](const auto& text) { return has(list, text); });
}

bool matchesResource(const PolicyRule& rule, const Attributes& a) {
  for (std::string_view known : rule.resources) {
    if (known == "*") return true;
    if (!known.starts_with(a.resource) && !known.starts_with("*/")) continue;
    if (a.subresource.empty()) {
      if (known == a.resource) return true;
      continue;
    }
    const auto slash = known.find('/');
    if (slash == std::string_view::npos || known.substr(slash + 1) != a.subresource) continue;
    if (known.substr(0, slash) == a.resource || known.substr(0, slash) == "*") return true;
  }
  return false;
}

bool coversUrl(std::string_view known, std::string_view url) {
  if (known == url) return true;
  if (!known.ends_with('*')) return false;
  while (known.ends_with('*')) known.remove_suffix(1);
  return url.starts_with(known);
}

bool matchesUrl(const PolicyRule& rule, std::string_view path) {
  return std::ranges::any_of(rule.urls, [&](const auto& known) { return coversUrl(known, path); });
}

bool coversResource(const PolicyRule& rule, std::string_view resource) {
  const auto slash = resource.find('/');
  return has(rule.resources, "*") || has(rule.resources, resource) ||
         (slash != std::string_view::npos &&
          has(rule.resources, "*" + std::string(resource.substr(slash))));
}

// Returns true if the first rule alone allows everything that the second does.
bool covers(const PolicyRule& rule, const PolicyRule& other) {
  if (!has(rule.verbs, "*") && !hasAll(rule.verbs, other.verbs)) return false;
  if (!std::ranges::all_of(other.urls, [&](const auto& url) { return matchesUrl(rule, url); }))
    return false;
  if (other.groups.empty() || other.resources.empty()) return true;
  if (!has(rule.groups, "*") && !hasAll(rule.groups, other.groups)) return false;
  if (!rule.names.empty() && (other.names.empty() || !hasAll(rule.names, other.names)))
    return false;
  return std::ranges::all_of(other.resources,
                             [&](const auto& resource) { return coversResource(rule, resource); });
}

std::string describe(const PolicyRule& rule) {
  std::string out;
  for (const auto& [name, texts] :
       {std::pair{"APIGroups", &rule.groups}, std::pair{"Resources", &rule.resources},
        std::pair{"NonResourceURLs", &rule.urls}, std::pair{"ResourceNames", &rule.names},
        std::pair{"Verbs", &rule.verbs}})
    if (!texts->empty())
      out += fmt::format("{}{}:{}", out.empty() ? "" : ", ", name, quotedList(*texts));
  return "{" + out + "}";
}

}  // namespace

std::string quotedList(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : " ") + toJson(json::string(text));
  return "[" + out + "]";
}

std::vector<std::string> textsOf(const json::value* list) {
  std::vector<std::string> out;
  if (list && list->is_array())
    for (const auto& item : list->get_array())
      if (item.is_string()) out.emplace_back(item.get_string());
  return out;
}

std::vector<PolicyRule> rulesOf(const json::value& role) {
  std::vector<PolicyRule> out;
  const auto* list = find(role, "rules");
  if (!list || !list->is_array()) return out;
  for (const auto& rule : list->get_array())
    out.push_back({textsOf(find(rule, "verbs")), textsOf(find(rule, "apiGroups")),
                   textsOf(find(rule, "resources")), textsOf(find(rule, "resourceNames")),
                   textsOf(find(rule, "nonResourceURLs"))});
  return out;
}

json::array jsonOf(const std::vector<PolicyRule>& rules) {
  json::array out;
  for (const auto& rule : rules) {
    json::object one{{"verbs", json::array(rule.verbs.begin(), rule.verbs.end())}};
    for (const auto& [name, texts] :
         {std::pair{"apiGroups", &rule.groups}, std::pair{"resources", &rule.resources},
          std::pair{"resourceNames", &rule.names}, std::pair{"nonResourceURLs", &rule.urls}})
      if (!texts->empty()) one[name] = json::array(texts->begin(), texts->end());
    out.push_back(std::move(one));
  }
  return out;
}

bool allows(const PolicyRule& rule, const Attributes& a) {
  if (!has(rule.verbs, "*") && !has(rule.verbs, a.verb)) return false;
  if (!a.isResource()) return matchesUrl(rule, a.path);
  return (has(rule.groups, "*") || has(rule.groups, a.group)) && matchesResource(rule, a) &&
         (rule.names.empty() || has(rule.names, a.name));
}

std::vector<PolicyRule> elementaryRules(const PolicyRule& rule) {
  std::vector<PolicyRule> out;
  for (const auto& group : rule.groups)
    for (const auto& resource : rule.resources)
      for (const auto& verb : rule.verbs) {
        if (rule.names.empty()) out.push_back({{verb}, {group}, {resource}, {}, {}});
        for (const auto& name : rule.names)
          out.push_back({{verb}, {group}, {resource}, {name}, {}});
      }
  for (const auto& url : rule.urls)
    for (const auto& verb : rule.verbs) out.push_back({{verb}, {}, {}, {}, {url}});
  return out;
}

std::vector<PolicyRule> notCovered(const std::vector<PolicyRule>& owned,
                                   const std::vector<PolicyRule>& wanted) {
  const auto isOwned = [&](const PolicyRule& rule) {
    return std::ranges::any_of(owned, [&](const auto& own) { return covers(own, rule); });
  };
  std::vector<PolicyRule> missing;
  std::size_t left = kMaxPieces;
  for (const auto& rule : wanted) {
    if (isOwned(rule)) continue;
    const auto pieces = countPieces(rule);
    if (pieces > left) {  // too many to check: not owned
      missing.push_back(rule);
      continue;
    }
    left -= pieces;
    for (auto& piece : elementaryRules(rule))
      if (!isOwned(piece)) missing.push_back(std::move(piece));
  }
  return missing;
}

std::string describe(const std::vector<PolicyRule>& rules) {
  std::map<std::tuple<Texts, Texts, Texts>, PolicyRule> byResource;
  std::set<std::string> lines;
  for (const auto& rule : rules) {
    if (!rule.urls.empty() || rule.groups.size() != 1 || rule.resources.size() != 1) {
      lines.insert(describe(rule));
      continue;
    }
    auto& one = byResource.try_emplace({rule.groups, rule.resources, rule.names}, PolicyRule{})
                    .first->second;
    if (one.verbs.empty()) {
      one = rule;
    } else {
      for (const auto& verb : rule.verbs)
        if (!has(one.verbs, verb)) one.verbs.push_back(verb);
    }
  }
  for (const auto& [key, rule] : byResource) lines.insert(describe(rule));
  std::string out;
  for (const auto& line : lines) out += (out.empty() ? "" : "\n") + line;
  return out;
}

}  // namespace koord::apiserver
