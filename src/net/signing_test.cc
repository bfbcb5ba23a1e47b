#include "net/signing.h"

#include <gtest/gtest.h>

#include "net/tls.h"

namespace koord::net {
namespace {

TEST(SigningTest, aSignatureHoldsForItsTextAndItsKeyOnly) {
  const auto key = SigningKey::generate();
  const auto other = SigningKey::generate();
  ASSERT_TRUE(key && other);
  auto signature = key->sign("header.payload");
  ASSERT_TRUE(signature);
  EXPECT_EQ(signature->size(), 64u);
  EXPECT_TRUE(key->verify("header.payload", *signature));
  EXPECT_FALSE(key->verify("header.payloae", *signature));
  EXPECT_FALSE(other->verify("header.payload", *signature));
  EXPECT_FALSE(key->verify("header.payload", signature->substr(1)));
  EXPECT_FALSE(key->verify("header.payload", std::string(64, '\0')));
  (*signature)[40] = static_cast<char>((*signature)[40] ^ 1);
  EXPECT_FALSE(key->verify("header.payload", *signature));
}

TEST(SigningTest, aKeyThatWasWrittenDownIsTheSame) {
  const auto key = SigningKey::generate();
  const auto pem = key->pem();
  ASSERT_TRUE(pem);
  const auto again = SigningKey::fromPem(*pem);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->id(), key->id());
  EXPECT_EQ(again->x(), key->x());
  EXPECT_EQ(base64UrlDecode(key->y())->size(), 32u);
  EXPECT_TRUE(again->verify("text", *key->sign("text")));
  EXPECT_FALSE(SigningKey::fromPem("no key"));
}

TEST(SigningTest, base64UrlHasNoPaddingAndItsOwnAlphabet) {
  EXPECT_EQ(base64UrlEncode("\xfb\xff\xfe"), "-__-");
  EXPECT_EQ(base64UrlEncode("a"), "YQ");
  EXPECT_EQ(*base64UrlDecode("YQ"), "a");
  EXPECT_EQ(*base64UrlDecode("-__-"), "\xfb\xff\xfe");
  for (const auto* wrong : {"YQ==", "+//+", "Y Q", "Y"}) EXPECT_FALSE(base64UrlDecode(wrong));
}

}  // namespace
}  // namespace koord::net
