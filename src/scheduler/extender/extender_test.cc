// One extender over a real socket: TLS, messages, and pods that it is not called for.

#include "scheduler/extender/extender.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "net/test_net.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler {
namespace {

using net::TestCertificates;
using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExtenderTest : public net::NetTest {
 protected:
  std::unique_ptr<Extender> extender(ExtenderConfig config) {
    config.path = "extenders[0]";
    errors.clear();
    return std::make_unique<Extender>(std::move(config), *client, loop.loop(), errors);
  }
  Result<wire::FilterResult> filter(Extender& extender) {
    return waitFor(spawn<Result<wire::FilterResult>>([&] {
      return extender.filter(aPod("p").build(), {aNode("a").build(), aNode("b").build()});
    }));
  }
  std::vector<std::string> errors;
};

TEST_F(ExtenderTest, TalksTlsWithWhomItTrusts) {
  auto& server =
      serve({.tls = TestCertificates::get().serverTls()},
            [](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
              EXPECT_EQ(request.method, "POST");
              EXPECT_EQ(request.target, "/v1/filter");
              EXPECT_EQ(net::headerOf(request.headers, "Content-Type"), "application/json");
              EXPECT_TRUE(request.peer);
              EXPECT_EQ(request.peer ? request.peer->commonName : "", "alice");
              responder->respond(200, {}, std::string(R"({"NodeNames": ["b"]})"));
            });
  const auto& certificates = TestCertificates::get();
  ExtenderConfig config;
  config.urlPrefix = "https://" + server.address() + "/v1";
  config.filterVerb = "filter";
  config.nodeCacheCapable = true;
  config.tls.caData = net::base64Encode(certificates.authority.certPem);
  config.tls.certData = net::base64Encode(certificates.client.certPem);
  config.tls.keyData = net::base64Encode(certificates.client.keyPem);
  const auto trusting = extender(config);
  ASSERT_THAT(errors, ElementsAre());
  const auto answer = filter(*trusting);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(answer->nodes, ElementsAre("b"));

  config.tls.caData = net::base64Encode(TestCertificates::make("other-ca").authority.certPem);
  const auto refused = filter(*extender(config));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("https://"));

  config.tls.caData.clear();  // no authority: enableHTTPS accepts any certificate
  config.enableHttps = true;
  EXPECT_TRUE(filter(*extender(config)));
}

TEST_F(ExtenderTest, SaysWhatIsWrongInItsConfiguration) {
  ExtenderConfig config;
  config.urlPrefix = "nowhere";
  config.managedResources = {
      {"cpu", false}, {"example.com/fine", true}, {"example.com/not fine", true}};
  config.tls.caData = "%";
  config.tls.certFile = "/does/not/exist";
  extender(config);
  EXPECT_THAT(errors,
              ElementsAre(HasSubstr("extenders[0].urlPrefix: Invalid value: \"nowhere\""),
                          "extenders[0].managedResources[0].name: Invalid value: \"cpu\": is an "
                          "invalid extended resource name",
                          HasSubstr("extenders[0].managedResources[2].name: Invalid value: "
                                    "\"example.com/not fine\": name part must consist of"),
                          HasSubstr("extenders[0].tlsConfig.caData: "),
                          HasSubstr("extenders[0].tlsConfig.certFile: ")));
}

TEST_F(ExtenderTest, MessagesAboutItsUrlHaveNoPasswordOrToken) {
  ExtenderConfig config;
  for (const char* url : {"https://user:secret@ho st/v1", "https://us er:secret@host",
                          "http://ho st/v1?token=secret"}) {
    errors.clear();
    config.urlPrefix = url;
    extender(config);
    ASSERT_EQ(errors.size(), 1U) << url;
    EXPECT_THAT(errors.front(), Not(HasSubstr("secret")));
    EXPECT_THAT(errors.front(), HasSubstr("urlPrefix"));
  }
}

TEST_F(ExtenderTest, ConcernsPodsThatAskForWhatItManages) {
  ExtenderConfig config;
  config.urlPrefix = "http://host";
  const auto pod = aPod("p").request("example.com/gpu", "1").build();
  EXPECT_TRUE(extender(config)->interestedIn(*aPod("q").build()));
  config.managedResources = {{"example.com/gpu", false}};
  EXPECT_FALSE(extender(config)->interestedIn(*aPod("q").build()));
  EXPECT_TRUE(extender(config)->interestedIn(*pod));
  auto limited = aPod("limited");
  limited.object().spec.initContainers.emplace_back().resources.limits["example.com/gpu"] =
      Quantity::of(1, Quantity::Format::DecimalSI);
  EXPECT_TRUE(extender(config)->interestedIn(*limited.build()));
}

TEST(ExtenderAnswers, ThatHaveAWrongTypeSomewhereAreErrorsThatNameIt) {
  const auto said = [](const auto& read) {
    return read ? std::string("read") : read.error().message;
  };
  constexpr std::string_view kHead = "response of the extender: ";
  for (const char* score : {"7.5", "7.0", "1e3", "9223372036854775808", "\"7\"", "[]", "true"})
    EXPECT_EQ(said(wire::readPriorities(fmt::format(R"([{{"Host": "n1", "Score": {}}}])", score))),
              fmt::format("{}Score: expected an integer of 64 bits", kHead))
        << score;
  EXPECT_EQ(said(wire::readPriorities(R"([{"Host": "a", "Score": -3}, null, {"Host": null}])")),
            "read");
  EXPECT_EQ(said(wire::readPriorities("[5]")),
            fmt::format("{}the list: expected an object", kHead));
  EXPECT_EQ(said(wire::readFilterResult(R"({"NodeNames": "a"})", true)),
            fmt::format("{}NodeNames: expected a list", kHead));
  EXPECT_EQ(said(wire::readFilterResult(R"({"NodeNames": [1]})", true)),
            fmt::format("{}NodeNames: expected a text", kHead));
  EXPECT_EQ(said(wire::readFilterResult(R"({"FailedNodes": {"a": 5}})", true)),
            fmt::format("{}FailedNodes: expected a text", kHead));
  EXPECT_EQ(said(wire::readFilterResult("5", true)),
            fmt::format("{}the answer: expected an object", kHead));
  EXPECT_EQ(said(wire::readBindingResult(R"({"Error": 5})")),
            fmt::format("{}Error: expected a text", kHead));
  EXPECT_EQ(said(wire::readPreemptionResult(
                R"({"NodeNameToMetaVictims": {"a": {"NumPDBViolations": 0.5}}})")),
            fmt::format("{}NumPDBViolations: expected an integer of 64 bits", kHead));
  EXPECT_EQ(said(wire::readPreemptionResult(R"({"NodeNameToMetaVictims": []})")),
            fmt::format("{}NodeNameToMetaVictims: expected an object", kHead));
  EXPECT_EQ(said(wire::readPreemptionResult(R"({"nodenametometavictims": {"a": null}})")), "read");
}

}  // namespace
}  // namespace koord::scheduler
