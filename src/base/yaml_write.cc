#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/yaml.h"
#include "base/yaml_scalar.h"

namespace koord {
namespace {

// Longer keys need a "?": a parser looks only 1,024 characters ahead for the colon.
constexpr std::size_t kMaxPlainKey = 1000;

bool isSafeFirst(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
         c == '_' || c == '.' || c == '(' || c == '$';
}

// Text that can stand without quotes and comes back as the same text.
bool isPlain(const std::string& text) {
  if (text.empty() || !isSafeFirst(text[0]) || text.back() == ' ' || text.back() == ':')
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return false;
    if (c == ':' && text[i + 1] == ' ') return false;
    if (c == '#' && text[i - 1] == ' ') return false;
  }
  if (text.starts_with("---") || text.starts_with("...")) return false;
  const auto value = plainScalar(text);
  return value && value->is_string();
}

bool isBlockText(const std::string& text) {
  if (text.find('\n') == std::string::npos || text[0] == ' ' || text[0] == '\n') return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') return false;
  }
  return true;
}

std::string doubleQuoted(std::string_view text) {
  return json::serialize(json::value(text));
}
std::string scalarText(const std::string& text) {
  return isPlain(text) ? text : doubleQuoted(text);
}

void writeBlockText(std::string& out, const std::string& text, std::size_t indent) {
  const bool ends = text.back() == '\n';
  const bool endsTwice = ends && text.size() > 1 && text[text.size() - 2] == '\n';
  out += endsTwice ? "|+\n" : ends ? "|\n" : "|-\n";
  std::size_t from = 0;
  while (from < text.size()) {
    const auto newline = std::min(text.find('\n', from), text.size());
    if (newline > from) out += std::string(indent, ' ');
    out.append(text, from, newline - from);
    out += '\n';
    from = newline + 1;
  }
}

// Writes the value where a line has been begun; indent is that of its members when they need lines.
void write(std::string& out, const json::value& value, std::size_t indent, bool lineBegun) {
  if (const auto* object = value.if_object(); object && !object->empty()) {
    bool first = lineBegun;
    for (const auto& member : *object) {
      if (!first) out += std::string(indent, ' ');
      first = false;
      const auto key = scalarText(member.key());
      const bool longKey = key.size() > kMaxPlainKey;
      if (longKey) out.append("? ").append(key).append("\n").append(indent, ' ').append(":");
      if (!longKey) out.append(key).append(":");
      const auto& inner = member.value();
      const bool block = (inner.is_object() && !inner.get_object().empty()) ||
                         (inner.is_array() && !inner.get_array().empty());
      out += block ? "\n" : " ";
      write(out, inner, inner.is_array() && !longKey ? indent : indent + 2, false);
    }
  } else if (const auto* array = value.if_array(); array && !array->empty()) {
    bool first = lineBegun;
    for (const auto& item : *array) {
      if (!first) out += std::string(indent, ' ');
      first = false;
      out += "- ";
      write(out, item, indent + 2, true);
    }
  } else if (const auto* string = value.if_string()) {
    const std::string text(string->data(), string->size());
    if (isBlockText(text)) {
      writeBlockText(out, text, std::max<std::size_t>(indent, 2));
    } else {
      out += scalarText(text) + "\n";
    }
  } else if (const auto* number = value.if_double()) {
    out += fmt::format("{}\n", *number);  // 10, where JSON has 1E1
  } else {
    out += json::serialize(value) + "\n";
  }
}

}  // namespace

std::string toYaml(const json::value& value) {
  std::string out;
  write(out, value, 0, false);
  return out;
}

}  // namespace koord
