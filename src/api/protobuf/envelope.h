#pragma once

// What Kubernetes puts around protobuf messages. A body is "k8s\0" and an envelope with apiVersion,
// kind and the message, so that it cannot be taken for JSON. A watch is a sequence of frames: the
// length in four bytes, most significant first, and an event with its type and a whole body.

#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::api {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

struct Envelope {
  std::string apiVersion;
  std::string kind;
  std::string_view message;  // a part of the body
};

// True if the body begins like a protobuf body.
bool isProtobufBody(std::string_view body);
Result<Envelope> openEnvelope(std::string_view body);
std::string sealEnvelope(std::string_view apiVersion, std::string_view kind,
                         std::string_view message);

struct WatchEvent {
  std::string_view type;    // ADDED, MODIFIED, ...
  std::string_view object;  // a whole body
};

// The event of a frame, without the length.
Result<WatchEvent> openWatchEvent(std::string_view event);
// A whole frame. `object` is a whole body.
std::string watchFrame(std::string_view type, std::string_view object);
// The length of the event whose frame begins with these kFrameHead bytes.
inline constexpr std::size_t kFrameHead = 4;
std::size_t eventLength(std::string_view head);

}  // namespace koord::api
