#pragma once

// Tokens of CEL.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/issues.h"

namespace koord::cel {

enum class TokenKind : std::uint8_t {
  End,
  Ident,        // text is the name
  QuotedIdent,  // `a.b/c`: text is what the quotes enclose
  Int,
  Uint,  // text without the u
  Double,
  String,  // text is the decoded content
  Bytes,
  Symbol  // text is the operator or bracket; also the words true, false, null, in
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;
  std::uint32_t position = 0;  // byte
};

// All tokens with an End after them. Adds an issue and stops at the first text that is not a token.
std::vector<Token> tokenize(std::string_view text, IssueList& issues);

// Decodes the escape sequences of a literal's content. False if one is invalid.
bool unescape(std::string_view content, bool bytes, std::string& out);

}  // namespace koord::cel
