#pragma once

// The webhook server's certificates: when they are still good, how they are renewed, how a Secret
// or a folder holds them.

#include <string>

#include "api/core.h"
#include "base/result.h"
#include "net/tls.h"

namespace koord::manager {

struct WebhookCerts {
  // The key may be missing: then the authority cannot issue again. Behind its certificate may stand that of the one
  // before, which some replica still serves under when a new one comes in.
  net::CertKey authority;
  net::CertKey server;
};

// Whether clients will accept the server for six more months.
Result<> checkCerts(const WebhookCerts& certs, const std::string& host, WallTime now);

// New certificates for ten years. The old authority issues again if it lives another year, so that
// clients which know it need not learn another.
Result<WebhookCerts> renewCerts(const WebhookCerts* old, const std::string& host, WallTime now);

// File names and contents, under upstream's names (ca-cert.pem, ca-key.pem, cert.pem, key.pem,
// tls.crt, tls.key).
api::StringMap toFiles(const WebhookCerts& certs);
Result<WebhookCerts> fromFiles(const api::StringMap& files);

// The same as data of a Secret (base64).
Result<WebhookCerts> fromSecret(const api::Secret& secret);
json::value toSecretData(const WebhookCerts& certs);

// The files of a folder; NotFound when the folder has none. Written with mode 0600, one by one,
// each replaced as a whole.
Result<WebhookCerts> readFolder(const std::string& folder);
Result<> writeFolder(const std::string& folder, const WebhookCerts& certs);

}  // namespace koord::manager
