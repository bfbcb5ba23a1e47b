#include "base/result.h"

#include <array>
#include <cerrno>
#include <system_error>

namespace koord {
namespace {

struct CodeRow {
  ErrorCode code;
  std::string_view reason;
  int status;
};

// Order matters where two codes share a status: the first row is what a bare status means.
constexpr std::array kCodes = {
    CodeRow{ErrorCode::BadRequest, "BadRequest", 400},
    CodeRow{ErrorCode::Unauthorized, "Unauthorized", 401},
    CodeRow{ErrorCode::Forbidden, "Forbidden", 403},
    CodeRow{ErrorCode::NotFound, "NotFound", 404},
    CodeRow{ErrorCode::MethodNotAllowed, "MethodNotAllowed", 405},
    CodeRow{ErrorCode::NotAcceptable, "NotAcceptable", 406},
    CodeRow{ErrorCode::Conflict, "Conflict", 409},
    CodeRow{ErrorCode::AlreadyExists, "AlreadyExists", 409},
    CodeRow{ErrorCode::Gone, "Expired", 410},
    CodeRow{ErrorCode::Gone, "Gone", 410},
    CodeRow{ErrorCode::RequestEntityTooLarge, "RequestEntityTooLarge", 413},
    CodeRow{ErrorCode::UnsupportedMediaType, "UnsupportedMediaType", 415},
    CodeRow{ErrorCode::Invalid, "Invalid", 422},
    CodeRow{ErrorCode::TooManyRequests, "TooManyRequests", 429},
    CodeRow{ErrorCode::Internal, "InternalError", 500},
    CodeRow{ErrorCode::Unavailable, "ServiceUnavailable", 503},
    CodeRow{ErrorCode::Timeout, "Timeout", 504},
    CodeRow{ErrorCode::Cancelled, "Cancelled", 500},
    CodeRow{ErrorCode::Io, "IOError", 500},
    CodeRow{ErrorCode::Unknown, "Unknown", 500},
};

}  // namespace

std::string_view reasonOf(ErrorCode code) {
  for (const auto& row : kCodes)
    if (row.code == code) return row.reason;
  return "Unknown";
}

int httpStatusOf(ErrorCode code) {
  for (const auto& row : kCodes)
    if (row.code == code) return row.status;
  return 500;
}

ErrorCode codeOfHttpStatus(int status) {
  for (const auto& row : kCodes)
    if (row.status == status) return row.code;
  return status >= 500 ? ErrorCode::Internal : ErrorCode::Unknown;
}

ErrorCode codeOfReason(std::string_view reason, int httpStatus) {
  for (const auto& row : kCodes)
    if (row.reason == reason) return row.code;
  return codeOfHttpStatus(httpStatus);
}

Error Error::within(std::string_view prefix) && {
  message.insert(0, ": ").insert(0, prefix);
  return std::move(*this);
}

Error errnoError(std::string_view what, int errnum) {
  ErrorCode code = ErrorCode::Io;
  if (errnum == ENOENT) code = ErrorCode::NotFound;
  if (errnum == EACCES || errnum == EPERM) code = ErrorCode::Forbidden;
  return Error{code, std::string(what) + ": " + std::generic_category().message(errnum), {}};
}

}  // namespace koord
