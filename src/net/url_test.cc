#include "net/url.h"

#include <gtest/gtest.h>

#include "net/public_url.h"

namespace koord::net {
namespace {

TEST(UrlTest, TargetsAreSplitAndDecoded) {
  const auto target =
      parseTarget("/api/v1/pods?watch=1&labelSelector=a%3Db%2Cc&fieldSelector=a+b&x");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/api/v1/pods");
  EXPECT_EQ(target->param("watch"), "1");
  EXPECT_EQ(target->param("labelSelector"), "a=b,c");
  EXPECT_EQ(target->param("fieldSelector"), "a b");
  EXPECT_TRUE(target->has("x"));
  EXPECT_EQ(target->param("x"), "");
  EXPECT_FALSE(target->has("y"));
}

TEST(UrlTest, TargetsInAbsoluteFormLoseTheirHost) {
  EXPECT_EQ(parseTarget("http://host:1/a/b?c=d")->path, "/a/b");
  EXPECT_EQ(parseTarget("http://host:1")->path, "/");
  EXPECT_EQ(parseTarget("/proxy/http://host/x")->path, "/proxy/http://host/x");
}

TEST(UrlTest, BrokenTargetsAreErrors) {
  EXPECT_FALSE(parseTarget("pods"));
  EXPECT_FALSE(parseTarget(""));
  EXPECT_FALSE(parseTarget("*"));
  EXPECT_FALSE(parseTarget("/a%2"));
  EXPECT_FALSE(parseTarget("/a?b=%zz"));
}

TEST(UrlTest, EveryByteSurvivesEncoding) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(percentDecode(percentEncode(all)).value(), all);
  EXPECT_EQ(percentEncode("a/b c+d~"), "a%2Fb%20c%2Bd~");
  EXPECT_EQ(encodeQuery({{"a", "b c"}, {"d", ""}}), "a=b%20c&d=");
}

TEST(UrlTest, UrlsAreTakenApart) {
  const auto url = parseUrl("HTTPS://example.test/base?x=1#part");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "example.test");
  EXPECT_EQ(url->port, 443);
  EXPECT_EQ(url->target, "/base?x=1");
  EXPECT_EQ(url->origin(), "https://example.test:443");
  EXPECT_EQ(parseUrl("http://[::1]:8080")->origin(), "http://[::1]:8080");
  EXPECT_EQ(parseUrl("http://[::1]:8080")->target, "/");
  EXPECT_EQ(parseUrl("http://h?q=1")->target, "/?q=1");
  EXPECT_EQ(parseUrl("http://my_host.:1/a b?{c}|\u00e4")->target, "/a b?{c}|\u00e4");
  EXPECT_EQ(parseUrl("http://h:/")->port, 80);
}

TEST(UrlTest, CredentialsAreTakenOutOfAnyText) {
  EXPECT_EQ(withoutCredentials("https://user:p/w@h"), "https://h");
  EXPECT_EQ(withoutCredentials("https://user:pw@h:1/p?token=t#f"), "https://h:1/p");
  EXPECT_EQ(withoutCredentials("https://a@b@h/x"), "https://h/x");
  EXPECT_EQ(withoutCredentials("user@h"), "h");
  EXPECT_EQ(withoutCredentials(""), "");
}

TEST(UrlTest, BrokenUrlsSayWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"localhost:6443", "no scheme"},
      {"ftp://x", "must be http or https"},
      {"https://", "no host"},
      {"https://h:0", "1 to 65535"},
      {"https://h:70000", "1 to 65535"},
      {"https://h:12x", "\"h:12x\" is not a host"},
      {"https://[::1", "\"[::1\" is not a host"},
      {"https://u:p@h", "user name"},
      {"https://[::1]443", "\"[::1]443\" is not a host"},
      {"https://[::g]", "\"[::g]\" is not a host"},
      {"https://a b/", "\"a b\" is not a host"},
      {"https://h%zz/", "\"h%zz\" is not a host"},
  };
  for (const auto& [text, why] : cases) {
    const auto url = parseUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().message.find(why), std::string::npos) << url.error().message;
    EXPECT_EQ(url.error().code, ErrorCode::BadRequest);
  }
}

TEST(TargetTest, ControlCharactersAndBrokenTextAreRefused) {
  for (const char* target : {"/api/v1/namespaces/%00/pods", "/healthz%00", "/a%0a", "/a%0D%0AX:y",
                             "/%1f", "/%7f", "/%", "/%4", "/%zz", "/%c3%28", "/%ff", "/a?b=%00",
                             "/a?%01=b", "/a?b=%7F", "/a?b=%e", "/a?b=%ff", "http://host/%00"}) {
    const auto parsed = parseTarget(target);
    ASSERT_FALSE(parsed) << target;
    EXPECT_EQ(parsed.error().code, ErrorCode::BadRequest) << target;
  }
  EXPECT_EQ(parseTarget("/healthz%00").error().message,
            "the path of the request has the control character %00");
  EXPECT_EQ(parseTarget("/a%20%C3%A4?b=c%0Ad%09")->param("b"), "c\nd\t");
}

}  // namespace
}  // namespace koord::net
