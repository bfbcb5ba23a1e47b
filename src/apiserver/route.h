#pragma once

// From an HTTP request to an API call: path, query, headers.

#include <optional>
#include <variant>

#include "apiserver/server/call.h"
#include "net/http_server.h"
#include "net/url.h"

namespace koord::apiserver {

// What a client accepts, from its Accept header.
struct Accepts {
  Format format = Format::Object;
  bool json = true;                 // false: only types that this server cannot write
  std::string aggregatedDiscovery;  // "v2", "v2beta1"; "" = not requested
  bool openApiProto = false;
};
Accepts readAccept(std::string_view header);

// The call of a resource path (/api/v1/..., /apis/GROUP/VERSION/...); nullopt for other paths.
std::optional<Outcome<Call>> routeCall(const net::ServerRequest& request,
                                       const net::Target& target);

}  // namespace koord::apiserver
