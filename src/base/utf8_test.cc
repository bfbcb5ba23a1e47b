#include "base/utf8.h"

#include <gtest/gtest.h>

namespace koord {
namespace {

TEST(Utf8Test, EachByteThatIsNoTextBecomesOneReplacement) {
  const struct {
    std::string_view text, expected;
  } rows[] = {
      {"", ""},
      {"plain", "plain"},
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
      {"a\xff"
       "b",
       "a\xef\xbf\xbd"
       "b"},
      {"cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // half a surrogate pair
  };
  for (const auto& row : rows) {
    EXPECT_EQ(asUtf8(row.text), row.expected) << row.text;
    EXPECT_TRUE(isUtf8(asUtf8(row.text)));
  }
}

TEST(Utf8Test, ABeginningCutsNoCharacter) {
  const std::string_view text =
      "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"
      "b";  // 1 + 2 + 3 + 4 + 1 bytes
  const std::size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
  for (std::size_t most = 0; most < std::size(expected); ++most) {
    EXPECT_EQ(utf8Prefix(text, most).size(), expected[most]) << most;
    EXPECT_TRUE(isUtf8(utf8Prefix(text, most)));
  }
  // What is none anyway loses three bytes at most.
  EXPECT_EQ(utf8Prefix(std::string(100, '\x80'), 50).size(), 47u);
}

TEST(Utf8, ATextForAMessageIsValidAndSaysThatItWasCut) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "abc...");
  EXPECT_EQ(shortened("ab\u00e9", 3), "ab...");
  EXPECT_EQ(shortened("a\xff", 3), "a\uFFFD");
  EXPECT_EQ(charactersIn("a\u00e9\u20ac"), 3u);
}

TEST(Utf8Test, WhatATerminalWouldObeyIsNotSentToIt) {
  EXPECT_EQ(printable("two\nlines\tand gr\xc3\xbc\xc3\x9f"), "two\nlines\tand gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("\x1b[2J\x1b]0;t\a\r\x7f"), "?[2J?]0;t???");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m\xc2\xa0"),
            "?31m\xc2\xa0");
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\xef\xbf\xbd"
            "31m");
}

}  // namespace
}  // namespace koord
