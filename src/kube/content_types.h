#pragma once

// The content types that a client is configured to use for kinds with protobuf messages. Custom
// resources are always JSON.

#include <string>

#include "api/protobuf/envelope.h"

namespace koord::kube {

struct ContentTypes {
  std::string sent{api::kProtobufType};  // contentType
  std::string accepted;                  // acceptContentTypes; "" = `sent`, and JSON
};

}  // namespace koord::kube
