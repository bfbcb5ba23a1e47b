#pragma once

// Protocol buffers in front of a server that speaks JSON: bodies of requests become JSON, answers
// become protobuf where the client asks for it first.

#include <memory>
#include <string>

#include "apiserver/registry/registry.h"
#include "base/result.h"
#include "net/http_server.h"

namespace koord::apiserver {

bool isProtobuf(std::string_view contentType);

// The body as JSON, with apiVersion and kind; an error for kinds that only JSON can say.
Result<std::string> jsonOfProtobuf(std::string_view body, const Registry& registry);

// An object, a list or a Status as a whole protobuf body; "" when it cannot be one. `lossy` leaves
// out what has no form in protobuf.
std::string protobufOfJson(std::string_view text, const Registry& registry, bool lossy);

// Wraps the way to answer a client with this Accept header, when it wants protobuf. Answers that
// have no protobuf form stay JSON; clients that do not take JSON get 406. The registry must outlive
// the answer.
std::shared_ptr<net::Responder> protobufResponder(std::shared_ptr<net::Responder> inner,
                                                  std::string_view accept, std::string_view path,
                                                  const Registry& registry);

}  // namespace koord::apiserver
