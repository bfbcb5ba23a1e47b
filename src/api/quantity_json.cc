#include "api/quantity_json.h"

#include <array>
#include <charconv>

namespace koord::api {
namespace {

constexpr std::string_view kSpaces = " \t\n\v\f\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

}  // namespace

Result<Quantity> readQuantity(const json::value& value) {
  if (value.is_string()) {
    const json::string& text = value.get_string();
    return Quantity::parse(trimmed({text.data(), text.size()}));
  }
  if (value.is_int64()) return Quantity::of(value.get_int64());
  if (!value.is_number())
    return fail(ErrorCode::Invalid,
                "expected a quantity such as 500m or 2Gi, not " + toJson(value));
  // The number as a person writes it: 0.5 and not 5E-1, which is a quantity of another format.
  std::array<char, 512> digits;
  char* const begin = digits.data();
  char* const limit = begin + digits.size();
  const auto written =
      value.is_uint64() ? std::to_chars(begin, limit, value.get_uint64())
                        : std::to_chars(begin, limit, value.get_double(), std::chars_format::fixed);
  return Quantity::parse({begin, static_cast<std::size_t>(written.ptr - begin)});
}

}  // namespace koord::api
