#pragma once

// What webhooks and policies ask of the server, and what they leave for the answer.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/admission/matching.h"
#include "apiserver/objects/failure.h"
#include "apiserver/server/target.h"

namespace koord::apiserver {

struct AdmissionHost {
  NamespaceLabels namespaceLabels;                                    // for namespaceSelector
  std::function<json::value(std::string_view name)> namespaceObject;  // null: there is none
  // Where the objects of a policy's paramKind are; nullopt: the kind is not served.
  std::function<std::optional<Target>(const json::value& paramKind)> paramTarget;
  // The schema of a built-in kind: "Scale".
  std::function<const api::Schema*(std::string_view kind)> kindSchema;
  Authorize authorize;
  FormHost forms;
};

// For the client and for the audit log.
struct AdmissionNotes {
  std::vector<std::string>& warnings;
  std::map<std::string, std::string>& annotations;  // of the audit event
};

// Checks an object that admission has changed, in the form of the request, and gives it the
// defaults of its kind. Done after each change, so that the next policy or webhook sees them.
// `strict`: a field that the kind does not have is an error, else it is dropped.
using CompleteObject = std::function<Outcome<>(json::value& object, bool strict)>;

}  // namespace koord::apiserver
