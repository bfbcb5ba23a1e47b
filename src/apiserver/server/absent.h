#pragma once

// What kube-apiserver has and this server does not: it is told in words, with the status 501, what
// to do instead.

#include <optional>

#include "apiserver/server/call.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

// The answer to a request for such a thing; nothing for all others.
std::optional<Reply> absentReply(const kube::Request& request, Store& store);

}  // namespace koord::apiserver
