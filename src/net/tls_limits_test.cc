#include "net/tls_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <openssl/pem.h>

#include "net/openssl.h"
#include "net/server_tls.h"
#include "net/test_net.h"

namespace koord::net {
namespace {

using ::testing::HasSubstr;

using SslPtr = std::unique_ptr<SSL, OpensslFree<SSL_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;

// The version and cipher that a client of one version, with these TLS 1.2 ciphers, negotiates.
struct Handshake {
  std::string version;  // "TLSv1.2", "" = none
  std::string cipher;
  std::shared_ptr<const PeerIdentity> peer;
};

Handshake handshake(const ServerTls& tls, int version, const char* ciphers = nullptr,
                    const CertKey* own = nullptr) {
  const auto context = makeTlsContext(tls);
  if (!context) {
    ADD_FAILURE() << context.error().message;
    return {};
  }
  const ContextPtr clientContext(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(clientContext.get(), version);
  SSL_CTX_set_max_proto_version(clientContext.get(), version);
  if (ciphers) SSL_CTX_set_cipher_list(clientContext.get(), ciphers);
  if (own) {
    const X509Ptr cert(PEM_read_bio_X509(readerOf(own->certPem).get(), nullptr, nullptr, nullptr));
    const PkeyPtr key(
        PEM_read_bio_PrivateKey(readerOf(own->keyPem).get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_certificate(clientContext.get(), cert.get());
    SSL_CTX_use_PrivateKey(clientContext.get(), key.get());
  }
  const SslPtr server(SSL_new((*context)->native_handle()));
  const SslPtr client(SSL_new(clientContext.get()));
  BIO* serverSide = nullptr;
  BIO* clientSide = nullptr;
  BIO_new_bio_pair(&serverSide, 0, &clientSide, 0);
  SSL_set_bio(server.get(), serverSide, serverSide);
  SSL_set_bio(client.get(), clientSide, clientSide);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  for (int i = 0; i < 10; ++i) {
    SSL_do_handshake(client.get());
    SSL_do_handshake(server.get());
  }
  ERR_clear_error();
  if (!SSL_is_init_finished(server.get())) return {};
  return {SSL_get_version(server.get()), SSL_get_cipher_name(server.get()),
          peerCertificateOf(server.get()).identity};
}

TEST(TlsLimitsTest, TheOldestVersionIsWhatTheOperatorSays) {
  ServerTls tls = *TestCertificates::get().serverTls();
  EXPECT_EQ(handshake(tls, TLS1_2_VERSION).version, "TLSv1.2");
  tls.limits.minVersion = "VersionTLS10";  // does not enable versions below 1.2
  EXPECT_EQ(handshake(tls, TLS1_2_VERSION).version, "TLSv1.2");
  EXPECT_EQ(handshake(tls, TLS1_1_VERSION).version, "");
  tls.limits.minVersion = "VersionTLS13";
  EXPECT_EQ(handshake(tls, TLS1_2_VERSION).version, "");
  EXPECT_EQ(handshake(tls, TLS1_3_VERSION).version, "TLSv1.3");
}

TEST(TlsLimitsTest, OnlyTheSuitesOfTheListAreSpoken) {
  ServerTls tls = *TestCertificates::get().serverTls();
  tls.limits.cipherSuites = {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256"};
  EXPECT_EQ(handshake(tls, TLS1_2_VERSION).cipher, "ECDHE-ECDSA-AES256-GCM-SHA384");
  EXPECT_EQ(handshake(tls, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256").version, "");
  EXPECT_EQ(handshake(tls, TLS1_3_VERSION).version, "TLSv1.3");
  tls.limits.cipherSuites = {"TLS_AES_128_GCM_SHA256"};  // nothing for TLS 1.2
  EXPECT_EQ(handshake(tls, TLS1_2_VERSION).version, "");
  EXPECT_EQ(handshake(tls, TLS1_3_VERSION).version, "TLSv1.3");
}

TEST(TlsLimitsTest, EverySuiteOfGoIsKnownToOpensslOrLeftOut) {
  TlsLimits limits;
  for (const char* name :
       {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_RSA_WITH_AES_128_CBC_SHA256",
        "TLS_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"}) {
    limits.cipherSuites = {name};
    const auto openssl = opensslLimits(limits);
    const ContextPtr context(SSL_CTX_new(TLS_server_method()));
    EXPECT_EQ(SSL_CTX_set_cipher_list(context.get(), openssl.ciphers.c_str()), 1) << name;
  }
  limits.cipherSuites = {"TLS_RSA_WITH_RC4_128_SHA"};
  EXPECT_TRUE(checkTlsLimits(limits));
  EXPECT_EQ(opensslLimits(limits).minVersion, TLS1_3_VERSION);
}

TEST(TlsLimitsTest, UnknownNamesAreErrors) {
  EXPECT_THAT(checkTlsLimits({.minVersion = "TLS1.2"}).error().message, HasSubstr("\"TLS1.2\""));
  EXPECT_THAT(checkTlsLimits({.cipherSuites = {"AES128-SHA"}}).error().message,
              HasSubstr("AES128-SHA"));
}

TEST(TlsLimitsTest, APeerIsToldWithTheAuthorityThatVouchesForIt) {
  const auto& first = TestCertificates::get();
  const auto second = TestCertificates::make("front-proxy-ca");
  ServerTls tls = *first.serverTls();
  tls.clientCaPem = first.authority.certPem + second.authority.certPem;
  const auto both = fingerprintsOf(tls.clientCaPem);
  ASSERT_TRUE(both);
  ASSERT_EQ(both->size(), 2u);
  EXPECT_NE(both->at(0), both->at(1));
  EXPECT_EQ(both->at(0).size(), 64u);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    EXPECT_EQ(handshake(tls, version, nullptr, &first.client).peer->authority, both->at(0));
    EXPECT_EQ(handshake(tls, version, nullptr, &second.client).peer->authority, both->at(1));
  }
  EXPECT_FALSE(fingerprintsOf("nonsense"));
  EXPECT_FALSE(fingerprintsOf(first.authority.certPem + "-----BEGIN CERTIFICATE-----\nx"));
}

}  // namespace
}  // namespace koord::net
