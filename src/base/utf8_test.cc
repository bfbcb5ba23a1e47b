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
