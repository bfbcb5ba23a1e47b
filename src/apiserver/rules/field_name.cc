#include "apiserver/rules/field_name.h"

#include <algorithm>
#include <iterator>

#include "base/ascii.h"

namespace koord::apiserver {

namespace {

constexpr std::string_view kReserved[] = {
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while"};

}  // namespace

std::optional<std::string> celFieldName(std::string_view name) {
  if (name.empty() || isDigit(name.front())) return std::nullopt;
  if (std::ranges::find(kReserved, name) != std::end(kReserved))
    return "__" + std::string(name) + "__";
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '_' && i + 1 < name.size() && name[i + 1] == '_') {
      out += "__underscores__";
      ++i;
    } else if (c == '.') {
      out += "__dot__";
    } else if (c == '-') {
      out += "__dash__";
    } else if (c == '/') {
      out += "__slash__";
    } else if (c == '_' || isDigit(c) || isLower(c) || isUpper(c)) {
      out += c;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace koord::apiserver
