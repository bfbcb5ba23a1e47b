#pragma once

// What the expressions of policies read of one request, made once for all policies.

#include <map>
#include <string>

#include "apiserver/admission/host.h"
#include "apiserver/rules/policy_environment.h"

namespace koord::apiserver {

// What expressions see of the namespace of a request; null for a request that is for none. NotFound
// if it does not exist.
Outcome<json::value> namespaceObjectOf(const AdmissionHost& host,
                                       const AdmissionAttributes& attributes);

class PolicyRequest {
 public:
  // `host`, `attributes` and `forms` outlive it.
  PolicyRequest(const AdmissionHost& host, const AdmissionAttributes& attributes,
                const RequestForms& forms, json::value namespaceObject);

  // `param` (nullptr: none) outlives the result, which is valid until the object of the form
  // changes.
  PolicyInputs inputs(const ResourceForm& form, const json::value* param);
  // The object in the form.
  const json::value& object(const ResourceForm& form) { return shownIn(form).object; }
  // Replaces the object by one in the form of the request.
  void setObject(json::value object);
  const json::value& object() const { return object_; }
  const api::Schema* schema(const ResourceForm& form) const;

 private:
  struct Shown {
    json::value object, oldObject, request;
    bool isCurrent = false;  // `object`
  };
  Shown& shownIn(const ResourceForm& form);

  const AdmissionHost& host_;
  const AdmissionAttributes& attributes_;
  const RequestForms& forms_;
  UserAuthorizer authorizer_;
  json::value namespaceObject_;
  json::value object_;                                          // in the form of the request
  std::map<std::pair<std::string, std::string>, Shown> shown_;  // by group and version
};

}  // namespace koord::apiserver
