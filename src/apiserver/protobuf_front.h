#pragma once

// Protocol buffers for a server that speaks JSON: converts request bodies to JSON, and answers to
// protobuf if the client prefers it.

#include <memory>
#include <string>

#include "apiserver/registry/registry.h"
#include "base/result.h"
#include "net/http_server.h"

namespace koord::apiserver {

bool isProtobuf(std::string_view contentType);

// The body as JSON, with apiVersion and kind. Fails for kinds without a protobuf message.
Result<std::string> jsonOfProtobuf(std::string_view body, const Registry& registry);

// An object, a list or a Status as a whole protobuf body; "" if it cannot be converted. `lossy`
// drops the parts that have no protobuf form.
std::string protobufOfJson(std::string_view text, const Registry& registry, bool lossy);

// Wraps the responder of a client with this Accept header, if it wants protobuf. Answers without a
// protobuf form stay JSON; clients that do not accept JSON get 406. The registry must outlive the
// answer.
std::shared_ptr<net::Responder> protobufResponder(std::shared_ptr<net::Responder> inner,
                                                  std::string_view accept, std::string_view path,
                                                  const Registry& registry);

}  // namespace koord::apiserver
