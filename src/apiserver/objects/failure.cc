#include "apiserver/objects/failure.h"

#include <fmt/format.h>

namespace koord::apiserver {

void FieldErrors::add(std::string field, std::string reason, std::string message) {
  causes_.push_back({std::move(reason), std::move(message), std::move(field)});
}

void FieldErrors::required(std::string field, std::string detail) {
  add(std::move(field), "FieldValueRequired",
      detail.empty() ? "Required value" : "Required value: " + detail);
}

void FieldErrors::invalid(std::string field, ShownValue value, std::string detail) {
  add(std::move(field), "FieldValueInvalid",
      fmt::format("Invalid value: {}: {}", value.text, detail));
}

void FieldErrors::unsupported(std::string field, ShownValue value,
                              const std::vector<std::string>& supported) {
  std::string list;
  for (const auto& one : supported) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", one);
  add(std::move(field), "FieldValueNotSupported",
      fmt::format("Unsupported value: {}: supported values: {}", value.text, list));
}

void FieldErrors::forbidden(std::string field, std::string detail) {
  add(std::move(field), "FieldValueForbidden", "Forbidden: " + detail);
}

void FieldErrors::duplicate(std::string field, ShownValue value) {
  add(std::move(field), "FieldValueDuplicate", "Duplicate value: " + value.text);
}

void FieldErrors::notFound(std::string field, ShownValue value) {
  add(std::move(field), "FieldValueNotFound", "Not found: " + value.text);
}

void FieldErrors::tooLong(std::string field, std::size_t limit) {
  add(std::move(field), "FieldValueTooLong",
      fmt::format("Too long: may not be more than {} bytes", limit));
}

Outcome<> FieldErrors::verdict(std::string_view kind, std::string_view name) const {
  if (causes_.empty()) return {};
  std::string all;
  for (const auto& cause : causes_) {
    if (!all.empty()) all += ", ";
    all += cause.field + ": " + cause.message;
  }
  if (causes_.size() > 1) all = "[" + all + "]";
  Failure failure(ErrorCode::Invalid, fmt::format("{} \"{}\" is invalid: {}", kind, name, all));
  failure.causes = causes_;
  return refuse(std::move(failure));
}

}  // namespace koord::apiserver
