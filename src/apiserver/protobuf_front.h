#pragma once

// Protocol buffers for a server that speaks JSON: converts request bodies to JSON, and answers to
// protobuf if the client prefers it.

#include <array>
#include <memory>
#include <string>

#include "apiserver/registry/registry.h"
#include "apiserver/server/call.h"
#include "base/result.h"
#include "kube/api.h"
#include "net/http_server.h"

namespace koord::apiserver {

bool isProtobuf(std::string_view contentType);

// The body as JSON, with apiVersion and kind. Fails for kinds without a protobuf message.
Result<std::string> jsonOfProtobuf(std::string_view body, const Registry& registry);

// Returns true if the objects of the requested resource have protobuf messages.
bool hasMessages(const kube::Request& request, const Registry& registry);

// An object, a list or a Status as a whole protobuf body; "" if it cannot be converted. `lossy`
// drops the parts that have no protobuf form.
std::string protobufOfJson(std::string_view text, const Registry& registry, bool lossy);

// The newest frames of watches (api/protobuf/envelope.h). The watchers of a change get the same
// line one after the other, so the first one's frame serves all. One for each server, on its
// executor.
class WatchFrames {
 public:
  // The frame of a line, which is identified by its address.
  Bytes frameOf(const Bytes& line, const Registry& registry);

 private:
  struct Slot {
    Bytes line;
    Bytes frame;
  };
  // Two: with selectors an event is an addition for some watchers and a change for others.
  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;
};

// Wraps the responder of a client with this Accept header, if it wants protobuf. Answers without a
// protobuf form stay JSON; clients that do not accept JSON get 406. The registry must outlive the
// answer.
std::shared_ptr<net::Responder> protobufResponder(std::shared_ptr<net::Responder> inner,
                                                  std::string_view accept, std::string_view path,
                                                  const Registry& registry,
                                                  std::shared_ptr<WatchFrames> frames);

}  // namespace koord::apiserver
