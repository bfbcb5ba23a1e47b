#include "net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace koord::net {
namespace {

using namespace std::chrono;
using testing::ElementsAre;
using testing::HasSubstr;

const Validity kValidity{sys_days{2026y / 1 / 1}, sys_days{2060y / 2 / 3} + 4h + 5min + 6s};

TEST(TlsTest, CertificatesCarryWhatTheyWereIssuedFor) {
  const auto ca = makeAuthority("test-ca", kValidity);
  ASSERT_TRUE(ca) << ca.error().message;
  const auto caInfo = readCertificate(ca->certPem);
  ASSERT_TRUE(caInfo);
  EXPECT_TRUE(caInfo->authority);
  EXPECT_EQ(caInfo->commonName, "test-ca");
  EXPECT_EQ(caInfo->validity.from, kValidity.from);
  EXPECT_EQ(caInfo->validity.to, kValidity.to);

  const auto server = issueServerCert(
      *ca, {"apiserver", {"127.0.0.1", "localhost", "::1", "kubernetes.default.svc"}, kValidity});
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_TRUE(checkCertKey(*server));
  const auto serverInfo = readCertificate(server->certPem);
  EXPECT_FALSE(serverInfo->authority);
  EXPECT_THAT(serverInfo->hosts,
              ElementsAre("localhost", "kubernetes.default.svc", "127.0.0.1", "::1"));

  const auto client = issueClientCert(*ca, {"jürgen", {"system:masters", "dev, ops"}, kValidity});
  ASSERT_TRUE(client) << client.error().message;
  const auto clientInfo = readCertificate(client->certPem);
  EXPECT_EQ(clientInfo->commonName, "jürgen");
  EXPECT_THAT(clientInfo->organizations, ElementsAre("system:masters", "dev, ops"));
}

TEST(TlsTest, HostsThatWouldSmuggleOtherNamesInAreRefused) {
  const auto ca = makeAuthority("ca", kValidity);
  EXPECT_FALSE(issueServerCert(*ca, {"x", {"good,DNS:evil"}, kValidity}));
  EXPECT_FALSE(issueServerCert(*ca, {"x", {""}, kValidity}));
}

TEST(TlsTest, BrokenPemTextIsAnErrorThatSaysWhichPartItIs) {
  const auto ca = makeAuthority("ca", kValidity);
  const auto other = makeAuthority("other", kValidity);
  EXPECT_THAT(readCertificate("hello").error().message, HasSubstr("not a PEM certificate"));
  EXPECT_THAT(checkCertKey({"", ca->keyPem}).error().message, HasSubstr("certificate"));
  EXPECT_THAT(checkCertKey({ca->certPem, ""}).error().message, HasSubstr("private key"));
  EXPECT_THAT(checkCertKey({ca->certPem, other->keyPem}).error().message,
              HasSubstr("does not match the certificate"));
  EXPECT_THAT(issueServerCert({"", ""}, {"x", {"x"}, kValidity}).error().message,
              HasSubstr("certificate authority"));
}

TEST(TlsTest, TokensDifferAndHaveTheAskedLength) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(randomToken());
  EXPECT_EQ(tokens.size(), 100u);
  EXPECT_EQ(tokens.begin()->size(), 64u);
  EXPECT_EQ(randomToken(3).size(), 6u);
}

TEST(TlsTest, ConstantTimeComparisonComparesAllOfIt) {
  EXPECT_TRUE(equalConstantTime("token", "token"));
  EXPECT_TRUE(equalConstantTime("", ""));
  EXPECT_FALSE(equalConstantTime("token", "tokeN"));
  EXPECT_FALSE(equalConstantTime("token", "token2"));
}

TEST(TlsTest, Base64RoundTripsAndRefusesGarbage) {
  for (const std::string text : {"", "a", "ab", "abc", "abcd"}) {
    EXPECT_EQ(base64Decode(base64Encode(text)).value(), text);
  }
  EXPECT_EQ(base64Encode("hello"), "aGVsbG8=");
  EXPECT_EQ(base64Decode("aGVs\n bG8=\n").value(), "hello");
  for (const auto* bad : {"aGVsbG8", "a$==", "=aaa", "aa=a", "===="})
    EXPECT_FALSE(base64Decode(bad)) << bad;
}

}  // namespace
}  // namespace koord::net
