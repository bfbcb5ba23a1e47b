#pragma once

// What a client of Kubernetes is configured to speak, for the kinds that have protobuf messages;
// custom resources are JSON always.

#include <string>

#include "api/protobuf/envelope.h"

namespace koord::kube {

struct ContentTypes {
  std::string sent{api::kProtobufType};  // contentType
  std::string accepted;                  // acceptContentTypes; "" = `sent`, and JSON
};

}  // namespace koord::kube
