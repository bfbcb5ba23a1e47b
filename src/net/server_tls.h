#pragma once

// From the server's certificates to an OpenSSL context, and from a connection to who the client is.

#include <memory>
#include <string>

#include "base/result.h"
#include "net/asio.h"
#include "net/http_server.h"

namespace koord::net {

using TlsContext = std::shared_ptr<asio::ssl::context>;

Result<TlsContext> makeTlsContext(const ServerTls& tls);

// What a client showed: nothing, a certificate that is good, or one that is not, and why.
struct PeerCertificate {
  std::shared_ptr<const PeerIdentity> identity;
  std::string problem;
};

// After the handshake, which has verified the client's certificate if there was one.
PeerCertificate peerCertificateOf(SSL* ssl);

}  // namespace koord::net
