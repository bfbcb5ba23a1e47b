#include "net/server_tls.h"

#include <fmt/format.h>
#include <openssl/pem.h>

#include <string_view>

#include "net/openssl.h"
#include "net/tls.h"

namespace koord::net {
namespace {

// The server speaks only HTTP/1.1. A client that insists on another protocol fails by itself.
int selectProtocol(SSL*, const unsigned char** out, unsigned char* outSize, const unsigned char* in,
                   unsigned int inSize, void*) {
  constexpr std::string_view kHttp11 = "\x08http/1.1";
  unsigned char* selected = nullptr;
  const int found = SSL_select_next_proto(&selected, outSize,
                                          reinterpret_cast<const unsigned char*>(kHttp11.data()),
                                          kHttp11.size(), in, inSize);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = selected;
  return SSL_TLSEXT_ERR_OK;
}

// Verifies as usual and continues with any result, which the connection keeps. An untrusted client
// gets the reason in the answer to its request, not as a TLS alert without a reason.
int verifyLater(X509_STORE_CTX* context, void*) {
  if (X509_verify_cert(context) != 1 && X509_STORE_CTX_get_error(context) == X509_V_OK)
    X509_STORE_CTX_set_error(context, X509_V_ERR_UNSPECIFIED);
  ERR_clear_error();
  return 1;
}

Result<> trustClients(SSL_CTX* context, std::string_view pem) {
  const auto bio = readerOf(pem);
  int count = 0;
  while (const X509Ptr cert{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), cert.get());
    SSL_CTX_add_client_CA(context, cert.get());
    ++count;
  }
  // OpenSSL also reports the end of the text as an error.
  const bool atEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const auto reason = opensslReason();
  if (count == 0 || !atEnd) {
    return fail(ErrorCode::Invalid,
                fmt::format("client CA: certificate {} cannot be read: {}", count + 1, reason));
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, verifyLater, nullptr);
  return {};
}

// The last certificate of the chain is the trusted authority.
std::string authorityOf(SSL* ssl) {
  const STACK_OF(X509)* chain = SSL_get0_verified_chain(ssl);
  const int size = chain ? sk_X509_num(chain) : 0;
  return size > 0 ? fingerprintOf(sk_X509_value(chain, size - 1)) : std::string();
}

}  // namespace

Result<TlsContext> makeTlsContext(const ServerTls& tls) {
  if (auto matching = checkCertKey({tls.certPem, tls.keyPem}); !matching) {
    return fail(std::move(matching.error()).within("TLS"));
  }
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  const OpensslLimits limits = opensslLimits(tls.limits);
  SSL_CTX_set_min_proto_version(native, limits.minVersion);
  if (!limits.ciphers.empty() && SSL_CTX_set_cipher_list(native, limits.ciphers.c_str()) != 1)
    return fail(ErrorCode::Invalid,
                fmt::format("TLS: cipher suites {}: {}", limits.ciphers, opensslReason()));
  // No resumption: each connection verifies the client again, with the current certificates.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(native, 0);
  // Only the configured chain is sent, not the client authorities.
  SSL_CTX_set_mode(native, SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_alpn_select_cb(native, selectProtocol, nullptr);

  error_code ec;
  context->use_certificate_chain(asio::buffer(tls.certPem), ec);
  if (ec) return fail(ErrorCode::Invalid, "TLS: certificate: " + ec.message());
  context->use_private_key(asio::buffer(tls.keyPem), asio::ssl::context::pem, ec);
  if (ec) return fail(ErrorCode::Invalid, "TLS: private key: " + ec.message());
  if (!tls.clientCaPem.empty()) {
    if (auto trusted = trustClients(native, tls.clientCaPem); !trusted) {
      return fail(std::move(trusted.error()).within("TLS"));
    }
  }
  return context;
}

PeerCertificate peerCertificateOf(SSL* ssl) {
  const X509Ptr cert(SSL_get1_peer_certificate(ssl));
  if (!cert) return {};
  if (const long result = SSL_get_verify_result(ssl); result != X509_V_OK)
    return {nullptr, X509_verify_cert_error_string(result)};
  auto info = certInfoOf(cert.get());
  return {std::make_shared<const PeerIdentity>(PeerIdentity{std::move(info.commonName),
                                                            std::move(info.organizations),
                                                            authorityOf(ssl), info.validity.to}),
          ""};
}

}  // namespace koord::net
