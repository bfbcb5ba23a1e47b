#pragma once

// Result<T>: a value or an Error. Every function that can fail returns one; exceptions do not cross
// a module. An Error carries a code (the Kubernetes API reasons, plus a few of our own), a message
// that tells a user what happened where, and, for API errors, the delay a server asked for.

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

// The Kubernetes reason ("NotFound") or, for codes of ours, a name in the same style.
std::string_view reasonOf(ErrorCode code);
// The HTTP status that the API uses for the code; 500 for codes that have none.
int httpStatusOf(ErrorCode code);
// The code for an HTTP status that carries no Kubernetes reason.
ErrorCode codeOfHttpStatus(int status);
// The code for a Kubernetes reason; falls back on the HTTP status.
ErrorCode codeOfReason(std::string_view reason, int httpStatus);

struct Error {
  ErrorCode code = ErrorCode::Unknown;
  std::string message;
  std::chrono::milliseconds retryAfter{0};  // what a server asked for; 0 = nothing

  // "prefix: message"; used on the way up to say where and for what.
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

// Errno with its text: "open /sys/fs/cgroup/cpu: No such file or directory". ENOENT becomes
// NotFound, EACCES and EPERM Forbidden, anything else Io.
Error errnoError(std::string_view what, int errnum);

}  // namespace koord
