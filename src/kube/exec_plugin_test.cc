#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "kube/credentials.h"
#include "net/test_net.h"

namespace koord::kube {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

class ExecPluginTest : public net::NetTest {
 protected:
  ExecPluginTest() : folder(testing::TempDir() + "koord-exec-" + net::randomToken(8)) {
    std::filesystem::create_directories(folder);
  }
  ~ExecPluginTest() override {
    loop.runSync([this] { source.reset(); });
    std::filesystem::remove_all(folder);
  }

  // A program that does this, and counts its runs.
  std::string program(const std::string& script) {
    const auto path = folder + "/plugin";
    std::ofstream(path) << "#!/bin/sh\necho run >> " << folder << "/runs\n" << script << "\n";
    ::chmod(path.c_str(), 0700);
    return path;
  }
  std::string text(const std::string& name) {
    return readTextFile(folder + "/" + name).value_or("");
  }
  void use(ExecPlugin plugin, const net::TlsConfig& tls = {}) {
    plugin.apiVersion = kV1;
    source = credentialsFromPlugin(std::move(plugin), std::make_shared<net::TlsConfig>(tls));
  }
  std::future<Result<Credentials>> askLater() {
    return spawn<Result<Credentials>>([this] { return source->credentials(loop.loop()); });
  }
  Result<Credentials> ask() { return waitFor(askLater()); }

  static std::string answer(const std::string& status) {
    return std::string("echo '{\"kind\": \"ExecCredential\", \"apiVersion\": \"") + kV1 +
           "\", \"status\": {" + status + "}}'";
  }

  std::string folder;
  std::shared_ptr<CredentialSource> source;
};

TEST_F(ExecPluginTest, TheTokenIsKeptWhileItIsValid) {
  use({.command =
           program(answer(R"("token": "t1", "expirationTimestamp": "2200-01-01T00:00:00Z")"))});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask().value().token, "t1");
  EXPECT_EQ(text("runs"), "run\n");
  source->refused();
  EXPECT_EQ(ask().value().token, "t1");
  EXPECT_EQ(text("runs"), "run\nrun\n");
}

TEST_F(ExecPluginTest, ClientsWithTheSamePluginShareItsCredentials) {
  const ExecPlugin plugin{.command = program(answer(R"("token": "t")"))};
  use(plugin);
  EXPECT_EQ(ask().value().token, "t");
  const auto first = source;
  use(plugin);
  EXPECT_EQ(source, first);
  EXPECT_EQ(ask().value().token, "t");
  EXPECT_EQ(text("runs"), "run\n");
  ExecPlugin other = plugin;
  other.args = {"--user=other"};
  use(other);
  EXPECT_NE(source, first);
  EXPECT_EQ(ask().value().token, "t");
  EXPECT_EQ(text("runs"), "run\nrun\n");
  use(plugin, {.serverName = "other.example.test"});
  EXPECT_NE(source, first) << "credentials of one server are not for another";
}

TEST_F(ExecPluginTest, AnExpiredTokenIsFetchedAnew) {
  use({.command =
           program(answer(R"("token": "t1", "expirationTimestamp": "2020-01-01T00:00:00Z")"))});
  EXPECT_EQ(ask().value().token, "t1");
  EXPECT_EQ(ask().value().token, "t1");
  EXPECT_EQ(text("runs"), "run\nrun\n");
}

TEST_F(ExecPluginTest, WhoAsksWhileItRunsGetsTheSameAnswer) {
  std::filesystem::create_directories(folder + "/gate");
  use({.command = program("while test -d " + folder + "/gate; do sleep 0.01; done\n" +
                          answer(R"("token": "t")"))});
  std::vector<std::future<Result<Credentials>>> asked;
  for (int i = 0; i < 5; ++i) asked.push_back(askLater());
  std::filesystem::remove(folder + "/gate");
  for (auto& one : asked) EXPECT_EQ(waitFor(std::move(one)).value().token, "t");
  EXPECT_EQ(text("runs"), "run\n");
}

TEST_F(ExecPluginTest, ArgumentsAndEnvironmentArriveAsTheyAre) {
  use({.command =
           program("printf '%s\\n' \"$@\" > " + folder + "/args\n" +
                   "printf '%s' \"$KUBERNETES_EXEC_INFO\" > " + folder + "/info\n" +
                   "printf '%s' \"$EXTRA\" > " + folder + "/extra\n" + answer(R"("token": "t")")),
       .args = {"a b", "$HOME; rm -rf x", "*"},
       .env = {{"EXTRA", "e=1"}},
       .clusterInfo = R"({"server":"https://x"})"});
  ASSERT_TRUE(ask());
  EXPECT_EQ(text("args"), "a b\n$HOME; rm -rf x\n*\n");
  EXPECT_EQ(text("extra"), "e=1");
  const auto info = parseJson(text("info"));
  ASSERT_TRUE(info);
  EXPECT_EQ(textAt(*info, "kind"), "ExecCredential");
  EXPECT_EQ(textAt(*info, "apiVersion"), kV1);
  EXPECT_EQ(textAt(*info, "spec", "cluster", "server"), "https://x");
}

TEST_F(ExecPluginTest, ClientCertificatesAreTaken) {
  const auto& client = net::TestCertificates::get().client;
  const auto credential = toJson(json::object{
      {"kind", "ExecCredential"},
      {"apiVersion", kV1},
      {"status", {{"clientCertificateData", client.certPem}, {"clientKeyData", client.keyPem}}}});
  std::ofstream(folder + "/credential") << credential;
  use({.command = program("cat " + folder + "/credential")});
  const auto given = ask();
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(given->tls->certPem, client.certPem);
  EXPECT_EQ(given->token, "");
}

TEST_F(ExecPluginTest, FailuresSayWhatThePluginSaid) {
  use({.command = program("echo 'please log in' >&2; exit 3")});
  auto given = ask();
  ASSERT_FALSE(given);
  EXPECT_THAT(given.error().message,
              AllOf(HasSubstr("exec credential plugin: " + folder + "/plugin"),
                    HasSubstr("status 3"), HasSubstr("please log in")));
  use({.command = program("echo nonsense")});
  EXPECT_THAT(ask().error().message, HasSubstr("its output: not valid JSON"));
  use({.command = program("echo '{\"kind\": \"ExecCredential\", \"apiVersion\": \"x\"}'")});
  EXPECT_THAT(ask().error().message, HasSubstr("not an ExecCredential of client.authentication"));
  use({.command = program(answer(""))});
  EXPECT_THAT(ask().error().message, HasSubstr("neither a token nor a client certificate"));
  use({.command = "koord-no-such-program", .installHint = "install it from example.test"});
  EXPECT_THAT(ask().error().message, AllOf(HasSubstr("koord-no-such-program: No such file"),
                                           HasSubstr("install it from example.test")));
}

TEST_F(ExecPluginTest, DestroyingTheSourceKillsThePlugin) {
  use({.command = program("sleep 1000")});
  auto asked = askLater();
  loop.runSync([this] { source.reset(); });
  EXPECT_EQ(waitFor(std::move(asked)).error().code, ErrorCode::Cancelled);
}

}  // namespace
}  // namespace koord::kube
