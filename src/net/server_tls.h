#pragma once

// From the server's certificates to an OpenSSL context, and from a connection to who the client is.

#include <memory>

#include "base/result.h"
#include "net/asio.h"
#include "net/http_server.h"

namespace koord::net {

using TlsContext = std::shared_ptr<asio::ssl::context>;

Result<TlsContext> makeTlsContext(const ServerTls& tls);

// Null when the client showed no certificate. After the handshake, which has verified it.
std::shared_ptr<const PeerIdentity> peerIdentityOf(SSL* ssl);

}  // namespace koord::net
