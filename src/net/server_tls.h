#pragma once

// Makes an OpenSSL context from the server's certificates, and the client's identity from a
// connection.

#include <memory>
#include <string>

#include "base/result.h"
#include "net/asio.h"
#include "net/http_server.h"

namespace koord::net {

using TlsContext = std::shared_ptr<asio::ssl::context>;

Result<TlsContext> makeTlsContext(const ServerTls& tls);

// The client's certificate: `identity` if it is valid, else `problem` says why. Both are empty
// without a certificate.
struct PeerCertificate {
  std::shared_ptr<const PeerIdentity> identity;
  std::string problem;
};

// After the handshake, which has verified the client's certificate if there was one.
PeerCertificate peerCertificateOf(SSL* ssl);

}  // namespace koord::net
