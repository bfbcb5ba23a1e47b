#include "cluster/join/invitation.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/time.h"
#include "cluster/up/credentials.h"
#include "cluster/up/data_dir.h"

namespace koord::cluster {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class InvitationTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Credentials::open(data.path(), now)); }

  Result<Invitation> make(const std::string& node,
                          const std::string& server = "https://192.0.2.1:6443") {
    return makeInvitation(data.path(), node, server, now);
  }

  WallTime now = parseTime("2026-01-01T00:00:00Z").value();
  DataDir data = DataDir::temporary().value();
};

TEST_F(InvitationTest, itsCertificatesAreThoseOfTheNode) {
  const auto made = make("laptop.home");
  ASSERT_TRUE(made) << made.error().message;
  const auto invitation = parseInvitation(toYaml(*made));
  ASSERT_TRUE(invitation) << invitation.error().message;
  EXPECT_EQ(invitation->node, "laptop.home");
  EXPECT_EQ(invitation->server, "https://192.0.2.1:6443");
  const auto kubelet = net::readCertificate(invitation->kubelet.certPem).value();
  EXPECT_EQ(kubelet.commonName, "system:node:laptop.home");
  EXPECT_THAT(kubelet.organizations, ElementsAre("system:nodes"));
  const auto koordlet = net::readCertificate(invitation->koordlet.certPem).value();
  EXPECT_EQ(koordlet.commonName, "system:serviceaccount:koordinator-system:koordlet");
  const auto serving = net::readCertificate(invitation->serving.certPem).value();
  EXPECT_THAT(serving.hosts, Contains("laptop.home"));
  EXPECT_TRUE(
      net::checkTrust(invitation->serving.certPem, invitation->authority, "laptop.home", now));
}

TEST_F(InvitationTest, onlyNodesOfTheClusterAreInvited) {
  for (const char* name : {"", "Laptop", "a b", "../x", "-a", "a..b"})
    EXPECT_FALSE(make(name)) << name;
  EXPECT_THAT(make("a", "http://192.0.2.1").error().message, HasSubstr("must begin with https://"));
  std::filesystem::remove(data.file("pki/ca.key"));
  EXPECT_THAT(make("a").error().message, HasSubstr("pki/ca.key cannot be read"));
  EXPECT_FALSE(std::filesystem::exists(data.file("pki/ca.key"))) << "no new authority is made";
}

TEST_F(InvitationTest, aBrokenInvitationNamesWhatIsWrong) {
  const std::string good = toYaml(*make("laptop"));
  const auto without = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    text.replace(at, what.size(), by);
    const auto parsed = parseInvitation(text);
    return parsed ? std::string("accepted") : parsed.error().message;
  };
  EXPECT_THAT(without("kind: Invitation", "kind: Config"), HasSubstr("koordctl invite"));
  EXPECT_THAT(without("node: laptop", "node: Laptop"), HasSubstr("node: "));
  EXPECT_THAT(without("node: laptop", "other: laptop"), HasSubstr("node: is missing"));
  EXPECT_THAT(without("https://", "http://"), HasSubstr("server: must begin with https://"));
  EXPECT_THAT(without("koordlet:", "koordlets:"), HasSubstr("koordlet"));
  EXPECT_FALSE(parseInvitation(""));
  EXPECT_FALSE(parseInvitation("[1, 2"));
  EXPECT_FALSE(parseInvitation(good.substr(0, good.size() / 2)));
}

}  // namespace
}  // namespace koord::cluster
