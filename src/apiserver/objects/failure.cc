#include "apiserver/objects/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

namespace koord::apiserver {

std::string floatText(double number) {
  char buffer[32];
  const auto write = [&](std::chars_format format) {
    const auto end = std::to_chars(std::begin(buffer), std::end(buffer), number, format).ptr;
    return std::string(buffer, end);
  };
  auto text = write(std::chars_format::scientific);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  return exponent < -4 || exponent >= 6 ? text : write(std::chars_format::fixed);
}

std::string cutText(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (text[bytes] & 0xc0) == 0x80) --bytes;  // not inside of a character
  return std::string(text.substr(0, bytes)) + "...";
}

ShownValue::ShownValue(const json::value& value)
    : text(value.is_double() ? floatText(value.get_double()) : toJson(value)) {}

void FieldErrors::add(std::string field, std::string reason, std::string message) {
  if (bytes_ > kMaxErrorBytes) {
    ++omitted_;
    return;
  }
  for (auto* text : {&message, &field})
    if (text->size() > kMaxMessageBytes) *text = cutText(*text, kMaxMessageBytes);
  bytes_ += message.size() + field.size();
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
      fmt::format("Too long: may not be more than {} {}", limit, limit == 1 ? "byte" : "bytes"));
}

void FieldErrors::tooMany(std::string field, std::size_t actual, std::size_t limit) {
  add(std::move(field), "FieldValueTooMany",
      fmt::format("Too many: {}: must have at most {} {}", actual, limit,
                  limit == 1 ? "item" : "items"));
}

void FieldErrors::typeInvalid(std::string field, ShownValue value, std::string detail) {
  add(std::move(field), "FieldValueTypeInvalid",
      fmt::format("Invalid value: {}: {}", value.text, detail));
}

void FieldErrors::append(FieldErrors other) {
  for (auto& cause : other.causes_)
    add(std::move(cause.field), std::move(cause.reason), std::move(cause.message));
  omitted_ += other.omitted_;
}

Outcome<> FieldErrors::verdict(std::string_view kind, std::string_view name) const {
  if (causes_.empty()) return {};
  std::string all;
  for (const auto& cause : causes_) {
    if (!all.empty()) all += ", ";
    all += cause.field + ": " + cause.message;
  }
  if (omitted_ > 0) all += fmt::format(", and {} more", omitted_);
  if (causes_.size() > 1) all = "[" + all + "]";
  Failure failure(ErrorCode::Invalid, fmt::format("{} \"{}\" is invalid: {}", kind, name, all));
  failure.causes = causes_;
  return refuse(std::move(failure));
}

}  // namespace koord::apiserver
