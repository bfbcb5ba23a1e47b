#pragma once

// Shapes shared by all API objects (meta.k8s.io/v1). Structs hold the fields that our code reads;
// writes go out as patches, so fields that are not here survive. A field is named as in JSON; one
// whose JSON name is a C++ keyword has an underscore at its end (namespace_).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/list.h"
#include "api/map.h"
#include "api/text.h"
#include "base/executor.h"
#include "base/json.h"
#include "base/quantity.h"

namespace koord::api {

// Instantiated in map.cc.
extern template class Map<std::string>;
extern template class Map<Quantity>;
using StringMap = Map<std::string>;
using ResourceList = Map<Quantity>;
using Time =
    std::optional<WallTime>;  // absent, null and zero are the same; whole seconds on the wire
using GoDuration = std::optional<Duration>;  // "1h2m3s" on the wire

struct MicroTime {  // six digits on the wire
  WallTime time{};
};

// A number or a string on the wire ("5" and 5 differ).
struct IntOrString {
  std::int32_t number = 0;
  std::string text;  // used when isText
  bool isText = false;
  bool operator==(const IntOrString&) const = default;
};

struct OwnerReference {
  std::string apiVersion;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool blockOwnerDeletion = false;
  bool operator==(const OwnerReference&) const = default;
};

struct ObjectMeta {
  std::string name;
  Text generateName;
  std::string namespace_;
  std::string uid;
  std::string resourceVersion;
  std::int64_t generation = 0;
  Time creationTimestamp;
  Time deletionTimestamp;
  std::optional<std::int64_t> deletionGracePeriodSeconds;
  StringMap labels;
  StringMap annotations;
  List<OwnerReference> ownerReferences;
  List<std::string> finalizers;
};

struct ListMeta {
  std::string resourceVersion;
  std::string continue_;
  std::optional<std::int64_t> remainingItemCount;
};

struct ObjectReference {
  std::string kind;
  std::string namespace_;
  std::string name;
  std::string uid;
  std::string apiVersion;
  std::string resourceVersion;
  std::string fieldPath;
  bool operator==(const ObjectReference&) const = default;
};

struct LabelSelectorRequirement {
  std::string key;
  std::string operator_;  // In, NotIn, Exists, DoesNotExist
  List<std::string> values;
  bool operator==(const LabelSelectorRequirement&) const = default;
};

struct LabelSelector {
  StringMap matchLabels;
  List<LabelSelectorRequirement> matchExpressions;
  bool operator==(const LabelSelector&) const = default;
};

struct Condition {
  std::string type;
  std::string status;  // True, False, Unknown
  std::int64_t observedGeneration = 0;
  Time lastTransitionTime;
  std::string reason;
  std::string message;
};

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
};

struct StatusDetails {
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  List<StatusCause> causes;
  std::int32_t retryAfterSeconds = 0;
};

// What the API answers when it has no object to give.
struct Status {
  ListMeta metadata;
  std::string status;  // Success, Failure
  std::string message;
  std::string reason;
  std::optional<StatusDetails> details;
  std::int32_t code = 0;
};

// Names one kind of resource. The members point at static text.
struct ResourceType {
  std::string_view group;  // "" for core
  std::string_view version;
  std::string_view plural;  // as in URLs: pods
  std::string_view kind;
  bool namespaced = true;
};

std::string apiVersionOf(const ResourceType& type);  // "v1", "apps/v1"

// The key of an object; namespace_ is empty for cluster-scoped ones.
struct ObjectKey {
  std::string namespace_;
  std::string name;

  std::string toString() const { return namespace_.empty() ? name : namespace_ + "/" + name; }
  auto operator<=>(const ObjectKey&) const = default;
};

inline ObjectKey keyOf(const ObjectMeta& meta) {
  return {meta.namespace_, meta.name};
}

// The owner with controller: true, or nullptr.
const OwnerReference* controllerOf(const ObjectMeta& meta);

// The value of a label or annotation, or nullptr.
const std::string* findIn(const StringMap& map, std::string_view key);
// The value of a label or annotation, "" if it is absent. A view into the map.
std::string_view textIn(const StringMap& map, std::string_view key);

// Instantiated in lists.cc, so that other files do not contain the code that copies and destroys.
extern template class List<LabelSelectorRequirement>;
extern template class List<OwnerReference>;
extern template class List<StatusCause>;
extern template class List<std::string>;

}  // namespace koord::api

template <>
struct std::hash<koord::api::ObjectKey> {
  std::size_t operator()(const koord::api::ObjectKey& key) const noexcept {
    return of(key.namespace_, key.name);
  }
  static std::size_t of(std::string_view namespace_, std::string_view name) noexcept {
    const std::size_t h = std::hash<std::string_view>{}(name);
    return h ^ (std::hash<std::string_view>{}(namespace_) + 0x9e3779b97f4a7c15ULL + (h << 6) +
                (h >> 2));
  }
};
