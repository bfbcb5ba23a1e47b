#pragma once

// The admission protocol: an AdmissionReview in, an AdmissionReview out.

#include <functional>
#include <string>

#include "api/admission.h"
#include "base/result.h"
#include "base/task.h"

namespace koord::manager {

struct Verdict {
  bool allowed = true;
  int code = 200;       // like HTTP, for the client that sent the object
  std::string message;  // why it is refused
  json::array patch;    // JSON patch operations for the object
};

inline Verdict allow() {
  return {};
}
inline Verdict refuse(int code, std::string message) {
  return {false, code, std::move(message), {}};
}

// True if an object of this resource of the core group is created or changed.
inline bool writesCore(const api::AdmissionRequest& request, std::string_view resource) {
  return request.resource.group.empty() && request.resource.resource == resource &&
         request.subResource.empty() &&
         (request.operation == "CREATE" || request.operation == "UPDATE");
}

using AdmissionHandler = std::function<Task<Verdict>(api::AdmissionRequest)>;

// Reads the body of a request; the error is the answer's message.
Result<api::AdmissionReview> readReview(std::string_view body);
// The answer's body, in the API version of the request.
std::string writeReview(std::string_view apiVersion, std::string_view uid, const Verdict& verdict);

}  // namespace koord::manager
