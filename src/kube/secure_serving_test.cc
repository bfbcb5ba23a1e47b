#include "kube/secure_serving.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "net/test_net.h"

namespace koord::kube {
namespace {

using ::testing::HasSubstr;

// A component of nothing but its executor.
class Bare final : public Component {
 public:
  explicit Bare(Executor& executor) : executor_(executor) {}
  Executor& executor() override { return executor_; }
  Api& api() override { throw std::logic_error("no API server server"); }
  net::HttpClient& http() override { return http_; }
  const ClientConfig& config() override { return config_; }
  ClientConfig config_;
  Random& random() override { return random_; }
  const std::shared_ptr<Metrics>& metrics() override { return metrics_; }
  void exit(int) override {}

 private:
  Executor& executor_;
  net::HttpClient http_{net::HttpClient::Options{}};
  Random random_{1};
  std::shared_ptr<Metrics> metrics_;
};

class SecureServingTest : public net::NetTest {
 protected:
  SecureServingTest() {
    ::unsetenv("KUBERNETES_SERVICE_HOST");  // not in a pod, whatever earlier tests set
    folder_ = ::testing::TempDir() + "secure-serving-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  ~SecureServingTest() override {
    loop.runSync([this] { serving_.reset(); });
    std::filesystem::remove_all(folder_);
  }
  void write(const net::CertKey& pair, const std::string& authorityPem) {
    ASSERT_TRUE(writeFileAtomic(folder_ + "/tls.crt", pair.certPem));
    ASSERT_TRUE(writeFileAtomic(folder_ + "/tls.key", pair.keyPem));
    ASSERT_TRUE(writeFileAtomic(folder_ + "/ca.crt", authorityPem));
  }
  void start() {
    SecureServingOptions options;
    options.tlsCertFile = folder_ + "/tls.crt";
    options.tlsKeyFile = folder_ + "/tls.key";
    options.clientCaFile = folder_ + "/ca.crt";
    start(std::move(options));
  }
  void start(SecureServingOptions options) {
    options.program = "test";
    options.bindAddress = "127.0.0.1";
    options.guard.alwaysAllowPaths = {"/healthz"};
    loop.runSync([&] {
      auto started = SecureServing::start(bare_, options, [](auto, auto responder) {
        responder->respond(200, {}, std::string("ok"));
      });
      if (!started) throw std::runtime_error(started.error().message);
      serving_ = *std::move(started);
    });
  }
  Result<> readAgain() {
    Result<> read;
    loop.runSync([&] { read = serving_->readFilesAgain(); });
    return read;
  }
  // The status for a client that trusts them and comes with their certificate.
  int ask(const net::TestCertificates& world) {
    net::HttpRequest request;
    request.url = "https://" + serving_->address() + "/healthz";
    request.tls = world.clientTls(true);
    const auto reply = fetch(std::move(request));
    return reply ? reply->status : 0;
  }

  std::string folder_;
  Bare bare_{loop.loop()};
  std::unique_ptr<SecureServing> serving_;
};

TEST_F(SecureServingTest, CertificatesAndAuthoritiesThatAreRenewedAreTaken) {
  const auto& first = net::TestCertificates::get();
  const auto second = net::TestCertificates::make("other-ca");
  write(first.server, first.authority.certPem);
  start();
  EXPECT_EQ(ask(first), 200);
  EXPECT_EQ(ask(second), 0);
  EXPECT_TRUE(readAgain());
  EXPECT_EQ(ask(first), 200);

  write(second.server, second.authority.certPem);
  EXPECT_TRUE(readAgain());
  EXPECT_EQ(ask(second), 200);
  // Neither a new connection nor the one from before.
  EXPECT_NE(ask(first), 200);
  EXPECT_EQ(serving_->certificate(), second.server.certPem);
}

TEST_F(SecureServingTest, WhatCannotBeUsedLeavesWhatWasGood) {
  const auto& good = net::TestCertificates::get();
  const auto other = net::TestCertificates::make("other-ca");
  write(good.server, good.authority.certPem);
  start();
  // In the middle of a renewal: the certificate is new, and the key is not.
  ASSERT_TRUE(writeFileAtomic(folder_ + "/tls.crt", other.server.certPem));
  EXPECT_FALSE(readAgain());
  EXPECT_EQ(ask(good), 200);
  EXPECT_EQ(serving_->certificate(), good.server.certPem);

  write(good.server, "no certificate");
  const auto authority = readAgain();
  ASSERT_FALSE(authority);
  EXPECT_THAT(authority.error().message, HasSubstr("--client-ca-file"));
  EXPECT_EQ(ask(good), 200);

  std::filesystem::remove(folder_ + "/tls.key");
  EXPECT_FALSE(readAgain());
  EXPECT_EQ(ask(good), 200);
}

TEST_F(SecureServingTest, AnUnusableAuthorityDoesNotStopTheRenewalOfTheCertificate) {
  const auto& first = net::TestCertificates::get();
  const auto second = net::TestCertificates::make("other-ca");
  write(first.server, first.authority.certPem);
  start();
  write(second.server, "no certificate");
  const auto read = readAgain();
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("--client-ca-file"));
  EXPECT_EQ(serving_->certificate(), second.server.certPem);
}

TEST_F(SecureServingTest, AnUnusableCertificateDoesNotStopTheRenewalOfAnAuthority) {
  const auto& first = net::TestCertificates::get();
  const auto second = net::TestCertificates::make("other-ca");
  write(first.server, first.authority.certPem);
  start();
  EXPECT_EQ(ask(first), 200);
  write({"no certificate", first.server.keyPem}, second.authority.certPem);
  EXPECT_FALSE(readAgain());
  EXPECT_EQ(serving_->certificate(), first.server.certPem);
  EXPECT_EQ(ask(first), 401) << "its certificate has another authority";
}

TEST_F(SecureServingTest, TheApiServerOfTheComponentReviewsTokensWhateverAKubeconfigSays) {
  const auto& world = net::TestCertificates::get();
  write(world.server, world.authority.certPem);
  std::unique_ptr<net::HttpServer> reviewer;
  loop.runSync([&] {
    auto started =
        net::HttpServer::start(loop.loop(), {.listen = "127.0.0.1:0"}, [](auto, auto responder) {
          responder->respond(201, {{"Content-Type", "application/json"}},
                             std::string(R"({"status":{"authenticated":true,
                               "user":{"username":"ann","groups":[]}}})"));
        });
    if (!started) throw std::runtime_error(started.error().message);
    reviewer = *std::move(started);
    bare_.config_.server = "http://" + reviewer->address();
  });
  SecureServingOptions options;
  options.tlsCertFile = folder_ + "/tls.crt";
  options.tlsKeyFile = folder_ + "/tls.key";
  options.authenticationKubeconfig = folder_ + "/of-another-cluster";
  options.authorizationKubeconfig = options.authenticationKubeconfig;
  options.authenticationSkipLookup = true;
  options.reviewsOfComponent = true;
  start(std::move(options));
  net::HttpRequest request;
  request.url = "https://" + serving_->address() + "/healthz";
  request.headers = {{"Authorization", "Bearer t"}};
  request.tls = world.clientTls(false);
  const auto reply = fetch(std::move(request));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  loop.runSync([&] {
    serving_.reset();
    reviewer.reset();
  });
}

TEST_F(SecureServingTest, ABodyOverTheLimitIsRefused) {
  const auto& world = net::TestCertificates::get();
  write(world.server, world.authority.certPem);
  SecureServingOptions options;
  options.tlsCertFile = folder_ + "/tls.crt";
  options.tlsKeyFile = folder_ + "/tls.key";
  options.maxBodyBytes = 1000;
  start(std::move(options));
  for (const auto& [bytes, status] : {std::pair(1000, 200), {1001, 413}}) {
    net::HttpRequest request;
    request.method = "POST";
    request.url = "https://" + serving_->address() + "/healthz";
    request.body = std::string(static_cast<std::size_t>(bytes), 'x');
    request.tls = world.clientTls(false);
    const auto reply = fetch(std::move(request));
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->status, status) << bytes;
  }
}

TEST_F(SecureServingTest, OnlyTheStartMakesACertificate) {
  SecureServingOptions options;
  options.certDir = folder_ + "/certs";
  options.certificate = "test";
  start(options);
  const std::string made = serving_->certificate();
  const std::string cert = options.certDir + "/test.crt", key = options.certDir + "/test.key";
  EXPECT_EQ(readFile(cert), made);
  EXPECT_TRUE(readAgain());

  // In the middle of a renewal: neither of the new files is there yet.
  std::filesystem::remove(cert);
  std::filesystem::remove(key);
  EXPECT_FALSE(readAgain());
  EXPECT_EQ(serving_->certificate(), made);
  EXPECT_FALSE(std::filesystem::exists(cert));

  const auto& renewed = net::TestCertificates::get();
  ASSERT_TRUE(writeFileAtomic(cert, renewed.server.certPem));
  ASSERT_TRUE(writeFileAtomic(key, renewed.server.keyPem));
  EXPECT_TRUE(readAgain());
  EXPECT_EQ(ask(renewed), 200);
}

}  // namespace
}  // namespace koord::kube
