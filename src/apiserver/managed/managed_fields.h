#pragma once

// metadata.managedFields: who set which fields of an object, by Kubernetes' rules. An update takes
// over the fields that it changes. An applied configuration owns all fields that it has, may not
// change fields of other managers unless forced, and releases the fields that it has dropped.

#include <string>
#include <vector>

#include "api/patch/typed_fields.h"
#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// Up to this number of update managers (not apply) have entries of their own; the oldest are merged
// into one.
constexpr std::size_t kMaxUpdateManagers = 10;

struct ManagedEntry {
  std::string manager;
  bool applied = false;
  std::string apiVersion;
  std::string time;
  std::string subresource;
  api::FieldSet fields;  // of the stored form, for any apiVersion

  // Returns true if both are writes of the same manager, which share one entry.
  bool sameManager(const ManagedEntry& other) const;
};

using ManagedFields = std::vector<ManagedEntry>;

// Parses metadata.managedFields; the error says which entry is wrong.
Result<ManagedFields> parseManagedFields(const json::value& list);
// The list as JSON text, in the order of the API; "" if it is empty.
std::string managedText(ManagedFields managed);
// Returns true if the two differ in times only.
bool sameManagers(const ManagedFields& a, const ManagedFields& b);

// The manager of an update and its form. managedFields themselves are not part of either object.
struct ManagedWrite {
  std::string manager;
  std::string apiVersion;
  std::string subresource;
  std::string now;
  const api::Schema* schema = nullptr;
  // Fields that this kind of write cannot change, with all below them; null: none.
  const api::FieldSet* ignored = nullptr;
};

// The changes of a write that can change only these fields: api::compareFields without the rest.
api::FieldChanges changesOf(const json::value& before, const json::value& after,
                            const ManagedWrite& write);
// Fields without owners: the object's identity, and the fields that the server writes.
const api::FieldSet& systemFields();

// managedText of a new object. Its creator owns all of its fields, except for the status if this
// kind of write ignores it.
std::string newManagedText(const json::value& object, const ManagedWrite& write);
// Updates the owners after an update.
void noteUpdate(ManagedFields& managed, api::FieldChanges changes, const ManagedWrite& write);

// Returns the object after `config` was applied, and updates its managers. Conflicts name each
// field and its owner.
Outcome<json::value> applyConfig(ManagedFields& managed, const json::value& live,
                                 const json::value& config, const ManagedWrite& write, bool force);

}  // namespace koord::apiserver
