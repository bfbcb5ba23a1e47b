#pragma once

// gRPC's server reflection (v1 and v1alpha), by which grpcurl and its like ask a server what it serves and what its
// messages look like.
//
//   GrpcServer::start(loop, path, handler, reflection(kHookDescriptors))
//
// What it tells are the services of the descriptors that koord_descriptors() embeds, and reflection itself. Descriptors
// are parsed anew for each question: nobody asks often, and nothing is kept in memory for it.

#include <string_view>

#include "net/rpc/grpc_server.h"

namespace koord::net {

// `descriptors`: a serialized FileDescriptorSet with all that its files import; outlives the server.
GrpcServer::Conversations reflection(std::string_view descriptors);

}  // namespace koord::net
