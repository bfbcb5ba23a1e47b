#pragma once

// Parses the values of flags: the spellings that Go's strconv, time and pflag accept, with their
// error messages. Command lines are written for programs in Go.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/result.h"

namespace koord::flags {

// strconv.ParseBool: 1 t T TRUE true True, 0 f F FALSE false False.
Result<bool> parseBool(std::string_view text);
// strconv.ParseInt with base 0: "-5", "0x1f", "0o17" or "017", "0b11", "1_000".
Result<std::int64_t> parseInteger(std::string_view text, std::int64_t least, std::int64_t greatest);
// strconv.ParseFloat for common spellings: "0.5", "1e3", "inf".
Result<double> parseReal(std::string_view text);
// time.ParseDuration
Result<Duration> parseTimeSpan(std::string_view text);
// One line of comma-separated values: fields may be quoted, and a quote in them is doubled. The
// empty text is an empty list.
Result<std::vector<std::string>> parseList(std::string_view text);
// "a=1,b=2"; ignores blanks around keys and values.
Result<std::map<std::string, std::string>> parseMap(std::string_view text);

// The text as Go prints it with %q, for printable text.
std::string quoted(std::string_view text);

}  // namespace koord::flags
