#include "apiserver/objects/failure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

#include "base/caught.h"
#include "base/log.h"

namespace koord::apiserver {

Failure thrownFailure(std::string_view what) {
  log::error("{}: unexpected exception: {}", what, thrownText());
  return {ErrorCode::Internal, "unexpected exception; the log of the API server has more"};
}

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

FieldErrors& FieldErrors::add(std::string field, std::string reason, std::string message) {
  if (bytes_ > kMaxErrorBytes) {
    ++omitted_;
    return *this;
  }
  for (auto* text : {&message, &field})
    if (text->size() > kMaxMessageBytes) *text = cutText(*text, kMaxMessageBytes);
  bytes_ += message.size() + field.size();
  causes_.push_back({std::move(reason), std::move(message), std::move(field)});
  return *this;
}

FieldErrors& FieldErrors::required(std::string field, std::string detail) {
  return add(std::move(field), "FieldValueRequired",
             detail.empty() ? "Required value" : "Required value: " + detail);
}

FieldErrors& FieldErrors::invalid(std::string field, ShownValue value, std::string detail) {
  return add(std::move(field), "FieldValueInvalid",
             fmt::format("Invalid value: {}: {}", value.text, detail));
}

FieldErrors& FieldErrors::unsupported(std::string field, ShownValue value,
                                      const std::vector<std::string>& supported) {
  std::string list;
  for (const auto& one : supported) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", one);
  return add(std::move(field), "FieldValueNotSupported",
             fmt::format("Unsupported value: {}: supported values: {}", value.text, list));
}

FieldErrors& FieldErrors::forbidden(std::string field, std::string detail) {
  return add(std::move(field), "FieldValueForbidden", "Forbidden: " + detail);
}

FieldErrors& FieldErrors::duplicate(std::string field, ShownValue value) {
  return add(std::move(field), "FieldValueDuplicate", "Duplicate value: " + value.text);
}

FieldErrors& FieldErrors::notFound(std::string field, ShownValue value) {
  return add(std::move(field), "FieldValueNotFound", "Not found: " + value.text);
}

FieldErrors& FieldErrors::tooLong(std::string field, std::size_t limit) {
  return add(
      std::move(field), "FieldValueTooLong",
      fmt::format("Too long: may not be more than {} {}", limit, limit == 1 ? "byte" : "bytes"));
}

FieldErrors& FieldErrors::tooMany(std::string field, std::size_t actual, std::size_t limit) {
  return add(std::move(field), "FieldValueTooMany",
             fmt::format("Too many: {}: must have at most {} {}", actual, limit,
                         limit == 1 ? "item" : "items"));
}

FieldErrors& FieldErrors::typeInvalid(std::string field, ShownValue value, std::string detail) {
  return add(std::move(field), "FieldValueTypeInvalid",
             fmt::format("Invalid value: {}: {}", value.text, detail));
}

FieldErrors& FieldErrors::addText(std::string_view text) {
  static constexpr std::pair<std::string_view, const char*> kReasons[] = {
      {"Required", "FieldValueRequired"},        {"Duplicate", "FieldValueDuplicate"},
      {"Unsupported", "FieldValueNotSupported"}, {"Forbidden", "FieldValueForbidden"},
      {"Not found", "FieldValueNotFound"},       {"Too long", "FieldValueTooLong"},
      {"Too many", "FieldValueTooMany"}};
  const auto colon = text.find(": ");
  const auto field = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  const auto message = colon == std::string_view::npos ? text : text.substr(colon + 2);
  const char* reason = "FieldValueInvalid";
  for (const auto& [start, known] : kReasons)
    if (message.starts_with(start)) reason = known;
  return add(std::string(field), reason, std::string(message));
}

void FieldErrors::append(FieldErrors other) {
  for (auto& cause : other.causes_)
    add(std::move(cause.field), std::move(cause.reason), std::move(cause.message));
  omitted_ += other.omitted_;
}

Failure FieldErrors::failure(std::string_view kind, std::string_view name) const {
  // A message that occurs twice is written once, although both are causes.
  std::vector<std::string> said;
  for (const auto& cause : causes_) {
    auto one = fmt::format("{}: {}", cause.field, cause.message);
    if (std::ranges::find(said, one) == said.end()) said.push_back(std::move(one));
  }
  std::string all = fmt::format("{}", fmt::join(said, ", "));
  if (omitted_ > 0) all += fmt::format(", and {} more", omitted_);
  if (said.size() > 1 || omitted_ > 0) all = "[" + all + "]";
  Failure failure(ErrorCode::Invalid, fmt::format("{} \"{}\" is invalid: {}", kind, name, all));
  failure.causes = causes_;
  const auto dot = kind.find('.');
  failure.subject = Subject{
      std::string(dot == std::string_view::npos ? std::string_view{} : kind.substr(dot + 1)),
      std::string(kind.substr(0, dot)), std::string(name)};
  return failure;
}

Outcome<> FieldErrors::verdict(std::string_view kind, std::string_view name) const {
  if (causes_.empty()) return {};
  return refuse(failure(kind, name));
}

}  // namespace koord::apiserver
