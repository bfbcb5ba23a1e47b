#pragma once

// Result<T>: a value or an Error. Every function that can fail returns a Result; exceptions do not
// cross a module. An Error carries a code (the Kubernetes API reasons and a few of our own), a
// message that tells a user what happened where, and, for API errors, the delay that a server
// requested.

#include <chrono>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace koord {

enum class ErrorCode {
  Unknown,
  BadRequest,  // malformed: cannot be parsed, or a field has the wrong type
  Unauthorized,
  Forbidden,
  NotFound,
  MethodNotAllowed,
  NotAcceptable,
  AlreadyExists,
  Conflict,
  Gone,  // resource version or continue token expired: list again
  RequestEntityTooLarge,
  UnsupportedMediaType,
  Invalid,  // well-formed, but a field's value is not allowed
  TooManyRequests,
  Internal,
  Unavailable,  // the other side cannot be reached or is shutting down
  Timeout,
  Cancelled,
  Io,  // a local file, device or kernel interface failed
};

// The Kubernetes reason ("NotFound") or, for our own codes, a name in the same style.
std::string_view reasonOf(ErrorCode code);
// The HTTP status that the API uses for the code; 500 for codes without a status.
int httpStatusOf(ErrorCode code);
// The code for an HTTP status without a Kubernetes reason.
ErrorCode codeOfHttpStatus(int status);
// The code for a Kubernetes reason; for an unknown reason, that of the HTTP status.
ErrorCode codeOfReason(std::string_view reason, int httpStatus);

struct Error {
  ErrorCode code = ErrorCode::Unknown;
  std::string message;
  std::chrono::milliseconds retryAfter{0};  // requested by a server; 0 = none

  // "prefix: message"; callers use it to add where and for what.
  Error within(std::string_view prefix) &&;
};

template <class T = void>
using Result = std::expected<T, Error>;

// return fail(ErrorCode::Invalid, "spec.replicas: must not be negative");
inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message), {}});
}
inline std::unexpected<Error> fail(Error error) {
  return std::unexpected(std::move(error));
}

// The text of errno: "open /sys/fs/cgroup/cpu: No such file or directory". ENOENT becomes NotFound,
// EACCES and EPERM Forbidden, all others Io.
Error errnoError(std::string_view what, int errnum);

}  // namespace koord
