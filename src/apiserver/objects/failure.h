#pragma once

// Why a request failed: an Error and, for invalid objects, the invalid fields.

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace koord::apiserver {

struct Cause {
  std::string reason;  // FieldValueRequired, FieldValueInvalid, ...
  std::string message;
  std::string field;
};

// The object that the details of a Status name.
struct Subject {
  std::string group;
  std::string kind;  // the kind if invalid, else the plural resource
  std::string name;
};

struct Failure {
  Error error;
  std::vector<Cause> causes;
  std::optional<Subject> subject;  // nullopt: the object that the request names
  // Set if the error's code has no HTTP status and reason of its own.
  int status = 0;
  std::string_view reason = {};

  Failure(Error e) : error(std::move(e)) {}  // NOLINT: an Error is a Failure without causes
  Failure(ErrorCode code, std::string message) : error{code, std::move(message), {}} {}
};

template <class T = void>
using Outcome = std::expected<T, Failure>;

// The failure for an unexpected exception, which it logs. Call only in a catch block.
Failure thrownFailure(std::string_view what);

inline std::unexpected<Failure> refuse(ErrorCode code, std::string message) {
  return std::unexpected(Failure(code, std::move(message)));
}
inline std::unexpected<Failure> refuse(Failure failure) {
  return std::unexpected(std::move(failure));
}

// A number as Go prints a float64: 2.5, 1e+06.
std::string floatText(double number);

// The text, cut to `bytes` bytes plus "..." if it is longer.
std::string cutText(std::string_view text, std::size_t bytes);

// An invalid value in the form that messages print.
struct ShownValue {
  std::string text;

  ShownValue(const json::value& value);  // NOLINT: converts at calls
  ShownValue(std::string_view value) : text(toJson(json::string(value))) {}   // NOLINT
  ShownValue(json::string_view value) : text(toJson(json::string(value))) {}  // NOLINT
  ShownValue(const char* value) : text(toJson(json::string(value))) {}        // NOLINT
  ShownValue(std::int64_t value) : text(std::to_string(value)) {}             // NOLINT
  ShownValue(std::nullptr_t) : text("null") {}                                // NOLINT
};

// Collects the errors of an object, with the messages of the Kubernetes API. A large object with an
// error in every element must not produce gigabytes of messages: a long message is cut, and errors
// beyond kMaxErrorBytes are only counted.
class FieldErrors {
 public:
  FieldErrors& required(std::string field, std::string detail = "");
  FieldErrors& invalid(std::string field, ShownValue value, std::string detail);
  FieldErrors& unsupported(std::string field, ShownValue value,
                           const std::vector<std::string>& supported);
  FieldErrors& forbidden(std::string field, std::string detail);
  FieldErrors& duplicate(std::string field, ShownValue value);
  FieldErrors& notFound(std::string field, ShownValue value);
  FieldErrors& tooLong(std::string field, std::size_t limit);
  FieldErrors& tooMany(std::string field, std::size_t actual, std::size_t limit);
  // For schemas of custom resources: `value` is the name of the actual type, or the value that does
  // not match the format.
  FieldErrors& typeInvalid(std::string field, ShownValue value, std::string detail);
  // Adds an error from a text that begins with the field: "spec.scope: Required value".
  FieldErrors& addText(std::string_view text);
  void append(FieldErrors other);

  static constexpr std::size_t kMaxMessageBytes = 16 << 10;
  static constexpr std::size_t kMaxErrorBytes = 256 << 10;

  bool empty() const { return causes_.empty(); }
  const std::vector<Cause>& causes() const { return causes_; }
  // `Pod "web" is invalid: spec.containers[0].image: Required value`; kind is "Deployment.apps"
  // outside core. There must be an error.
  Failure failure(std::string_view kind, std::string_view name) const;
  // Returns the failure if there are errors.
  Outcome<> verdict(std::string_view kind, std::string_view name) const;

 private:
  FieldErrors& add(std::string field, std::string reason, std::string message);
  std::vector<Cause> causes_;
  std::size_t bytes_ = 0;    // of causes_
  std::size_t omitted_ = 0;  // errors that are only counted
};

}  // namespace koord::apiserver
