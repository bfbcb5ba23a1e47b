#include <fmt/format.h>

#include <algorithm>

#include "api/selector.h"

namespace koord::api {
namespace {

// Splits at commas that no backslash precedes.
std::vector<std::string_view> splitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  bool escaped = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (escaped) {
      escaped = false;
    } else if (text[i] == '\\') {
      escaped = true;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  terms.push_back(text.substr(start));
  return terms;
}

Result<std::string> unescape(std::string_view text) {
  std::string out;
  bool escaped = false;
  for (const char c : text) {
    const bool special = c == '\\' || c == ',' || c == '=';
    if (escaped) {
      if (!special)
        return fail(ErrorCode::BadRequest,
                    fmt::format("invalid field selector: invalid escape sequence: \\{}", c));
      out += c;
      escaped = false;
    } else if (c == '\\') {
      escaped = true;
    } else if (special) {
      return fail(ErrorCode::BadRequest,
                  fmt::format("invalid field selector: unescaped character in value: {}", c));
    } else {
      out += c;
    }
  }
  if (escaped)
    return fail(ErrorCode::BadRequest, "invalid field selector: invalid escape sequence: \\");
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == ',' || c == '=') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  FieldSelector selector;
  auto terms = splitTerms(text);
  std::ranges::sort(terms);
  for (const auto term : terms) {
    if (term.empty()) continue;
    std::size_t at = 0;
    std::size_t width = 0;
    for (; at < term.size() && width == 0; at += width == 0) {
      const auto rest = term.substr(at);
      width = rest.starts_with("!=") || rest.starts_with("==") ? 2 : rest.starts_with('=') ? 1 : 0;
    }
    if (width == 0)
      return fail(ErrorCode::BadRequest,
                  fmt::format("invalid selector: '{}'; can't understand '{}'", text, term));
    auto value = unescape(term.substr(at + width));
    if (!value) return fail(std::move(value.error()));
    if (at == 0 && value->empty()) continue;  // "=" demands nothing
    selector.requirements_.push_back(
        {std::string(term.substr(0, at)), term[at] != '!', *std::move(value)});
  }
  return selector;
}

std::string FieldSelector::toString() const {
  std::string out;
  for (const auto& requirement : requirements_) {
    if (!out.empty()) out += ',';
    out += requirement.field + (requirement.equal ? "=" : "!=") + escape(requirement.value);
  }
  return out;
}

}  // namespace koord::api
