#pragma once

// Non-blocking unix stream sockets, as descriptors that close themselves.

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace koord::net {

// Errors name the path. Unavailable if the path has no listener or its backlog is full.
Result<Fd> connectUnix(const std::string& path);
// Replaces an existing socket file. Only its owner and root may connect.
Result<Fd> listenUnix(const std::string& path);
// Invalid if no connection is waiting.
Result<Fd> acceptUnix(const Fd& listener);

}  // namespace koord::net
