#include "cel/library/compiled_regex.h"

#include <fmt/format.h>

namespace koord::cel {

Result<Regex> compileRegex(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexMemory);
  auto regex = std::make_shared<const re2::RE2>(asPiece(pattern), options);
  if (!regex->ok())
    return fail(ErrorCode::BadRequest,
                fmt::format("error parsing regexp: {}: `{}`", regex->error(), pattern));
  return regex;
}

}  // namespace koord::cel
