#pragma once

// One stored version of an object. It is encoded once, when it is written, and never changes: lists
// and watches send the same bytes.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta.h"

namespace koord::apiserver {

struct Entry {
  std::string key;              // "namespace/name"; "name" for cluster-scoped objects
  std::uint64_t version = 0;    // resourceVersion
  std::string text;             // the whole object as JSON, with its resourceVersion
  std::uint32_t versionAt = 0;  // offset of the resourceVersion's digits in text
  // Position of `,"managedFields":[...]` in text; size 0: the object has none.
  std::uint32_t managedAt = 0, managedSize = 0;
  api::StringMap labels;
  std::vector<std::string> fields;  // values of the resource's selectable fields, in its order

  // The value of `metadata` as JSON.
  std::string_view metadata() const;
  // The list as JSON; "" if there is none.
  std::string_view managedFields() const;
  // The text without its managedFields.
  std::string bareText() const;
  std::string_view namespace_() const {
    const auto slash = key.find('/');
    return slash == std::string::npos ? std::string_view{} : std::string_view(key).substr(0, slash);
  }
  std::string_view name() const {
    const auto slash = key.find('/');
    return std::string_view(key).substr(slash == std::string::npos ? 0 : slash + 1);
  }
};
using EntryPtr = std::shared_ptr<const Entry>;

// An object's identity and fields without its version.
struct Draft {
  std::string key;
  api::StringMap labels;
  std::vector<std::string> fields;
};

// Encodes the object with this resourceVersion in place of its own. managedFields are JSON text; if
// empty, the object's own stay.
EntryPtr makeEntry(Draft draft, const json::value& object, std::uint64_t version,
                   std::string_view managedFields = {});
// The entry's text with another resourceVersion: what a deletion reports.
std::string textWithVersion(const Entry& entry, std::uint64_t version);

std::string makeKey(std::string_view namespace_, std::string_view name);

enum class EventType { Added, Modified, Deleted };

// One change of a resource. before is null for additions, now for deletions.
struct Event {
  std::uint64_t version = 0;
  EventType type = EventType::Added;
  EntryPtr before;
  EntryPtr now;
};

}  // namespace koord::apiserver
