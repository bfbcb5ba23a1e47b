#pragma once

// Features of kube-apiserver that this server lacks. The answer has status 501 and says what to do
// instead.

#include <optional>

#include "apiserver/server/call.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

// The answer to a request for such a feature; nullopt for all other requests.
std::optional<Reply> absentReply(const kube::Request& request, Store& store);

}  // namespace koord::apiserver
