#pragma once

// Converts request bodies to objects in stored form, and has the rules about metadata, status and
// generation that every write follows.

#include "apiserver/server/target.h"
#include "base/random.h"

namespace koord::apiserver {

// A query parameter; "" if absent.
std::string_view queryOf(const kube::Request& request, std::string_view name);
// Returns true for a dry run; an error for values other than "All".
Outcome<bool> isDryRun(const kube::Request& request);

// Parses a body and checks apiVersion, kind and types. Drops unknown fields, with a warning or an
// error as the fieldValidation parameter says. Sets defaults. The result is in stored form.
Outcome<json::value> readBody(const kube::Request& request, const Target& target,
                              std::vector<std::string>& warnings);
// The same for a parsed object: after a patch or mutation.
Outcome<> admitObject(json::value& object, const kube::Request& request, const Target& target,
                      std::vector<std::string>& warnings);

// Removes metadata.managedFields from an object and returns them; null if it has none.
json::value takeManagedFields(json::value& object);

// Checks that namespace and name of URL and body agree; creates a name from generateName.
Outcome<> completeName(json::value& object, const kube::Request& request, const Target& target,
                       Random& random);

// Sets the system fields of a new object, and status and generation by the kind's rules.
Outcome<> prepareCreate(json::value& object, const Target& target, WallTime now, Random& random);
// Copies from the stored object what a client cannot change by this kind of update.
Outcome<> prepareUpdate(json::value& next, const json::value& old, const Target& target,
                        std::string_view subresource);

// Returns true if the two are equal apart from resourceVersion.
bool sameObject(const json::value& a, const json::value& b);
// Returns true if a deleted object has no finalizer and no grace period left.
bool isDeletable(const json::value& object);

std::string newUid(Random& random);
// The five random letters and digits at the end of generated names.
std::string randomSuffix(Random& random);

}  // namespace koord::apiserver
