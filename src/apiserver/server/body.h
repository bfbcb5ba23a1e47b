#pragma once

// From request bodies to objects in the form that is stored, and the rules about metadata, status
// and generation that hold for every write.

#include "apiserver/server/target.h"
#include "base/random.h"

namespace koord::apiserver {

// Query parameter, "" when absent.
std::string_view queryOf(const kube::Request& request, std::string_view name);
// Whether this is a dry run; an error for values other than "All".
Outcome<bool> isDryRun(const kube::Request& request);

// Parses a body and checks apiVersion, kind and types; unknown fields go, with a warning or an
// error as the fieldValidation parameter says. Defaults are filled in. The result is in stored
// form.
Outcome<json::value> readBody(const kube::Request& request, const Target& target,
                              std::vector<std::string>& warnings);
// The same for an object that is at hand: a patched or mutated one.
Outcome<> admitObject(json::value& object, const kube::Request& request, const Target& target,
                      std::vector<std::string>& warnings);

// Takes metadata.managedFields out of an object; null when it has none.
json::value takeManagedFields(json::value& object);

// Namespace and name from URL and body must agree; makes a name of generateName.
Outcome<> settleName(json::value& object, const kube::Request& request, const Target& target,
                     Random& random);

// System fields of a new object; status and generation by the kind's rules.
Outcome<> prepareCreate(json::value& object, const Target& target, WallTime now, Random& random);
// Takes over from the stored object what a client cannot change by this kind of update.
Outcome<> prepareUpdate(json::value& next, const json::value& old, const Target& target,
                        std::string_view subresource);

// The same but for resourceVersion.
bool sameObject(const json::value& a, const json::value& b);
// Nothing keeps a deleted object any more: no finalizer, no grace period.
bool canGo(const json::value& object);

std::string newUid(Random& random);
// The five letters and digits at the end of generated names.
std::string randomSuffix(Random& random);

}  // namespace koord::apiserver
