#pragma once

// /healthz, /livez and /readyz of the API server, as kube-apiserver answers them: "ok", or one line
// per check with ?verbose or when one fails; ?exclude=NAME; and /readyz/NAME for one check alone.
//
// A storage that cannot be written fails no endpoint: reads and watches continue, and a restart of
// the server would make it worse. The check storage-writes of /readyz reports it, in its line and,
// with the reason, at /readyz/storage-writes.

#include <optional>
#include <string>

#include "base/result.h"
#include "net/url.h"

namespace koord::apiserver {

struct HealthAnswer {
  int status = 200;
  std::string text;
};

// Returns nullopt for other paths. `failure`: why the storage cannot be written; nullopt if it can.
std::optional<HealthAnswer> answerHealth(const net::Target& target,
                                         const std::optional<Error>& failure);

}  // namespace koord::apiserver
