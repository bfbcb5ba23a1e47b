#include "api/quantity_json.h"

#include <array>
#include <charconv>

#include "base/split.h"

namespace koord::api {

// As strings.TrimSpace of Go, for ASCII.
constexpr std::string_view kSpaces = " \t\n\v\f\r";

Result<Quantity> readQuantity(const json::value& value) {
  if (value.is_string()) {
    const json::string& text = value.get_string();
    return Quantity::parse(trim({text.data(), text.size()}, kSpaces));
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
