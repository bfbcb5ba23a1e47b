#pragma once

// gRPC's server reflection (v1 and v1alpha), which lets tools such as grpcurl query a server's
// services and message types.
//
//   GrpcServer::start(loop, path, handler, reflection(kHookDescriptors))
//
// It reports the services of the descriptors that koord_descriptors() embeds, and reflection
// itself. Descriptors are parsed again for each request: requests are rare, and the parsed form
// would use memory.

#include <string_view>

#include "net/rpc/grpc_server.h"

namespace koord::net {

// `descriptors`: a serialized FileDescriptorSet with all imports of its files. Must outlive the
// server.
GrpcServer::StreamHandlers reflection(std::string_view descriptors);

}  // namespace koord::net
