#pragma once

// metadata.managedFields: who set which fields of an object. The rules are Kubernetes': an update
// takes over the fields that it changes; an applied configuration owns all that it names, may not
// change what others own unless forced, and lets go of what it does not name any more.

#include <string>
#include <vector>

#include "api/patch/typed_fields.h"
#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// Managers that updated, not applied, are told apart up to this number; the oldest become one.
constexpr std::size_t kMaxUpdateManagers = 10;

struct ManagedEntry {
  std::string manager;
  bool applied = false;
  std::string apiVersion;
  std::string time;
  std::string subresource;
  api::FieldSet fields;  // of the form that is stored, whatever apiVersion's names are

  // Writes of the same manager go into one entry.
  bool sameManager(const ManagedEntry& other) const;
};

using ManagedFields = std::vector<ManagedEntry>;

// Of metadata.managedFields; the error says which entry is wrong.
Result<ManagedFields> parseManagedFields(const json::value& list);
// JSON text of the list, in the order of the API; "" for none.
std::string managedText(ManagedFields managed);
// Nothing but times is different.
bool sameManagers(const ManagedFields& a, const ManagedFields& b);

// How an update changed an object, and who did it. managedFields themselves are not part of either
// object.
struct ManagedWrite {
  std::string manager;
  std::string apiVersion;
  std::string subresource;
  std::string now;
  const api::Schema* schema = nullptr;
  // What this kind of write cannot change, with all that is below; null: nothing.
  const api::FieldSet* ignored = nullptr;
};

// What a write that can change these fields only did; api::compareFields without the rest.
api::FieldChanges changesOf(const json::value& before, const json::value& after,
                            const ManagedWrite& write);
// What nobody owns: who an object is, and what the server writes itself.
const api::FieldSet& systemFields();

// managedText of a new object whose creator owns all that is in it, but for its status when the
// kind of write ignores that.
std::string newManagedText(const json::value& object, const ManagedWrite& write);
// Who owns what after an update.
void noteUpdate(ManagedFields& managed, api::FieldChanges changes, const ManagedWrite& write);

// The object after `config` was applied, and its managers. Conflicts name each field and its owner.
Outcome<json::value> applyConfig(ManagedFields& managed, const json::value& live,
                                 const json::value& config, const ManagedWrite& write, bool force);

}  // namespace koord::apiserver
