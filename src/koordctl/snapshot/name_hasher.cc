#include "koordctl/snapshot/name_hasher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/quantity.h"
#include "base/time.h"

namespace koord::koordctl {

namespace {

constexpr std::array<std::string_view, 5> kSystemNamespaces{
    "default", "kube-node-lease", "kube-public", "kube-system", "koordinator-system"};
// Cluster-scoped resources whose objects users name after their own.
constexpr std::array<std::string_view, 4> kNamed{"namespaces", "nodes", "persistentvolumes",
                                                 "reservations.scheduling.koordinator.sh"};
constexpr std::string_view kQuotas = "elasticquotas.scheduling.sigs.k8s.io";
constexpr std::string_view kOwnQuotas = "koordinator-";  // of Koordinator itself
// In the namespace "default", but not of a user.
constexpr std::string_view kApiServerService = "kubernetes";
// What schedulers compare values of labels, annotations and fields with, of the form of a name.
constexpr std::array<std::string_view, 13> kSettings{"cambricon",
                                                     "false",
                                                     "hami-core",
                                                     "huawei",
                                                     "metax",
                                                     "none",
                                                     "null",
                                                     "nvidia",
                                                     "once-satisfied",
                                                     "only-waiting",
                                                     "static",
                                                     "true",
                                                     "waiting-and-running"};
// Fields whose values are never names.
constexpr std::array<std::string_view, 16> kOtherFields{"apiVersion",
                                                        "deviceClassName",
                                                        "effect",
                                                        "image",
                                                        "imageID",
                                                        "images",
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

// True if the text as a value could be something else, too: "42", "100m", "5s", "true".
bool couldBeAmountOrSetting(std::string_view text) {
  return std::ranges::none_of(text, isLower) || Quantity::parse(text) || parseDuration(text) ||
         std::ranges::find(kSettings, text) != kSettings.end();
}

// StorageClasses, PriorityClasses and others.
bool isClass(std::string_view resource) {
  return resource.substr(0, resource.find('.')).ends_with("classes");
}

// True if users chose the name, or a part of it.
bool isOfUser(std::string_view resource, const json::object& object) {
  const json::value& metadata = memberOf(object, "metadata");
  const std::string_view name = textAt(metadata, "name"), space = textAt(metadata, "namespace");
  if (resource == kQuotas) return !name.starts_with(kOwnQuotas);
  if (space.empty()) return std::ranges::find(kNamed, resource) != kNamed.end();
  if (!isSystem(space)) return true;
  // The pods of static manifests have the names of their nodes: "etcd-NODE".
  const std::string_view node = textAt(memberOf(object, "spec"), "nodeName");
  if (resource == "pods" && !node.empty() && name.ends_with(node)) return true;
  return space == "default" && name != kApiServerService;
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
    if (!couldBeAmountOrSetting(text)) names_.emplace(text);
  };
  if (isOfUser(resource, object)) note(name);
  if (isClass(resource)) staying_.emplace(name);
  note(space);
  if (resource == "nodes") note(textAt(metadata, "labels", "kubernetes.io/hostname"));
  for (const auto& [key, value] : object) {
    noteWords(key);
    noteKeys(value);
  }
}

void NameHasher::noteWords(std::string_view key) {
  forEachWord(key, [this](std::string_view word, std::size_t) { staying_.emplace(word); });
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
    if (isSystem(name) || staying_.contains(name)) {
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
  replaceIn(object);
}

void NameHasher::replaceIn(json::object& object) const {
  for (auto& [key, value] : object)
    if (!isOther(key) || value.is_object()) replaceIn(value);
}

void NameHasher::replaceIn(json::value& value) const {
  if (value.is_array()) {
    for (json::value& item : value.get_array()) replaceIn(item);
  } else if (value.is_object()) {
    replaceIn(value.get_object());
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
