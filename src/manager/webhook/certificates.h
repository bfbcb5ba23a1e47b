#pragma once

// The webhook server's certificates: their validity, renewal, and storage in a Secret or a folder.

#include <string>

#include "api/core.h"
#include "base/result.h"
#include "net/tls.h"

namespace koord::manager {

struct WebhookCerts {
  // Without the key the authority cannot issue again. The certificate may be followed by that of
  // the previous authority, which a replica may still use when a new one is introduced.
  net::CertKey authority;
  net::CertKey server;
};

// Fails if clients will not accept the server for six more months.
Result<> checkCerts(const WebhookCerts& certs, const std::string& host, WallTime now);

// New certificates for ten years. The old authority issues again if it is valid for another year,
// so that clients need not trust a new one.
Result<WebhookCerts> renewCerts(const WebhookCerts* old, const std::string& host, WallTime now);

// File names and contents, under upstream's names (ca-cert.pem, ca-key.pem, cert.pem, key.pem,
// tls.crt, tls.key).
api::StringMap toFiles(const WebhookCerts& certs);
Result<WebhookCerts> fromFiles(const api::StringMap& files);

// The same as data of a Secret (base64).
Result<WebhookCerts> fromSecret(const api::Secret& secret);
json::value toSecretData(const WebhookCerts& certs);

// The files of a folder; NotFound if the folder has none. Written with mode 0600, each file
// atomically.
Result<WebhookCerts> readFolder(const std::string& folder);
Result<> writeFolder(const std::string& folder, const WebhookCerts& certs);

}  // namespace koord::manager
