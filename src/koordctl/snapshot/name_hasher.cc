#include "koordctl/snapshot/name_hasher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace koord::koordctl {

namespace {

constexpr std::array<std::string_view, 5> kSystemNamespaces{
    "default", "kube-node-lease", "kube-public", "kube-system", "koordinator-system"};
// Cluster-scoped resources whose objects users name after their own.
constexpr std::array<std::string_view, 4> kNamed{"namespaces", "nodes", "persistentvolumes",
                                                 "reservations.scheduling.koordinator.sh"};
constexpr std::string_view kQuotas = "elasticquotas.scheduling.sigs.k8s.io";
constexpr std::string_view kOwnQuotas = "koordinator-";  // of Koordinator itself
// Fields whose values are never names.
constexpr std::array<std::string_view, 15> kOtherFields{"apiVersion",
                                                        "deviceClassName",
                                                        "effect",
                                                        "image",
                                                        "imageID",
                                                        "key",
                                                        "kind",
                                                        "operator",
                                                        "phase",
                                                        "priorityClassName",
                                                        "resourceVersion",
                                                        "runtimeClassName",
                                                        "schedulerName",
                                                        "storageClassName",
                                                        "topologyKey"};

bool isOther(std::string_view field) {
  return field == "uid" || std::ranges::find(kOtherFields, field) != kOtherFields.end();
}

bool isSystem(std::string_view namespace_) {
  return std::ranges::find(kSystemNamespaces, namespace_) != kSystemNamespaces.end();
}

bool isWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool hasLetter(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

// Calls fn(word, at) for the words of the text, without dots and dashes at their ends.
template <class F>
void forEachWord(std::string_view text, F&& fn) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (!isWordChar(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && isWordChar(text[end])) ++end;
    const std::string_view run = text.substr(at, end - at);
    const auto first = run.find_first_not_of(".-_");
    if (first != run.npos) {
      const auto last = run.find_last_not_of(".-_");
      fn(run.substr(first, last - first + 1), at + first);
    }
    at = end;
  }
}

}  // namespace

void NameHasher::collect(std::string_view resource, const json::object& object) {
  const json::value& metadata = memberOf(object, "metadata");
  const std::string_view name = textAt(metadata, "name"), space = textAt(metadata, "namespace");
  const auto note = [&](std::string_view text) {
    if (hasLetter(text)) names_.emplace(text);
  };
  const bool clusterScoped = std::ranges::find(kNamed, resource) != kNamed.end();
  if (resource == kQuotas ? !name.starts_with(kOwnQuotas)
                          : clusterScoped || (!space.empty() && !isSystem(space)) ||
                                (space == "default" && !name.starts_with("kube")))
    note(name);
  note(space);
  if (resource == "nodes") note(textAt(metadata, "labels", "kubernetes.io/hostname"));
  for (const auto& [key, value] : object) {
    noteWords(key);
    noteKeys(value);
  }
}

void NameHasher::noteWords(std::string_view key) {
  forEachWord(key, [this](std::string_view word, std::size_t) { keys_.emplace(word); });
}

void NameHasher::noteKeys(const json::value& value) {
  if (value.is_array()) {
    for (const json::value& item : value.get_array()) noteKeys(item);
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.get_object()) {
      noteWords(key);
      noteKeys(item);
    }
  } else if (value.is_string()) {
    noteKeysInText(std::string_view(value.get_string()));
  }
}

// Annotations have documents as texts: {"gpu": [...]}.
void NameHasher::noteKeysInText(std::string_view text) {
  const auto begin = text.find_first_not_of(" \n\t");
  if (begin == text.npos || (text[begin] != '{' && text[begin] != '[')) return;
  if (const auto document = parseJson(text); document && !document->is_string())
    noteKeys(*document);
}

void NameHasher::finish() {
  for (const std::string_view system : kSystemNamespaces) names_.emplace(system);
  const std::size_t width = std::max<std::size_t>(5, std::to_string(names_.size()).size());
  // The first names come before all that stay, because these begin with a letter.
  std::string_view stays = "0";
  std::size_t place = 0;
  for (const std::string& name : names_) {
    ++place;
    if (isSystem(name) || keys_.contains(name)) {
      stays = name;
    } else {
      renamed_.emplace(name, fmt::format("{}-{:0{}}", stays, place, width));
    }
  }
}

std::string_view NameHasher::renamed(std::string_view name) const {
  const auto found = renamed_.find(name);
  return found == renamed_.end() ? name : std::string_view(found->second);
}

void NameHasher::apply(std::string_view resource, json::object& object) const {
  // The configuration of components is theirs.
  const std::string_view space = textAt(memberOf(object, "metadata"), "namespace");
  const bool own = resource == "configmaps" && isSystem(space) && space != "default";
  if (json::value* metadata = object.if_contains("metadata"); metadata && metadata->is_object())
    metadata->get_object().erase("generateName");
  if (json::value* status = object.if_contains("status");
      resource == "nodes" && status && status->is_object())
    status->get_object().erase("addresses");
  if (own) return;
  for (auto& [key, value] : object)
    if (!isOther(key)) replaceIn(value);
}

void NameHasher::replaceIn(json::value& value) const {
  if (value.is_array()) {
    for (json::value& item : value.get_array()) replaceIn(item);
  } else if (value.is_object()) {
    for (auto& [key, item] : value.get_object())
      if (!isOther(key) || !item.is_string()) replaceIn(item);
  } else if (value.is_string()) {
    const std::string_view text(value.get_string());
    std::string changed = replaced(text);
    if (changed != text) value.get_string() = changed;
  }
}

std::string NameHasher::replaced(std::string_view text) const {
  std::string out;
  std::size_t done = 0;
  forEachWord(text, [&](std::string_view word, std::size_t at) {
    const auto found = renamed_.find(word);
    if (found == renamed_.end()) return;
    out.append(text.substr(done, at - done)).append(found->second);
    done = at + word.size();
  });
  return out.append(text.substr(done));
}

}  // namespace koord::koordctl
