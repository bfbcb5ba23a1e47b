#pragma once

// Writes that end well in spite of conflicts, refusals and lost answers, and are never applied
// twice. Each says what shall hold rather than what to do: after an answer that did not come, the
// object is read again and only what is still missing is written.
//
// They go on until `policy.limit` has passed; the last error is returned then. Errors that a repeat
// cannot cure (NotFound, Invalid, Forbidden, ...) are returned at once.

#include <functional>
#include <optional>

#include "base/random.h"
#include "kube/api.h"

namespace koord::kube {

struct RetryPolicy {
  Duration first = std::chrono::milliseconds(10);  // doubles, each up to twice as long by chance
  Duration longest = std::chrono::seconds(5);
  Duration limit = std::chrono::minutes(2);
};

// Whether the request may have been carried out although it failed.
bool mayHaveBeenDone(const Error& error);
// Whether the same request may succeed later: the above, 429 and 503.
bool worthRepeating(const Error& error);

// The merge patch that brings `current` to what is wanted; nothing when it is there already. Asked
// again for every state that is read. The patch is sent on the condition that the object has not
// changed since.
using Change = std::function<std::optional<json::value>(const json::value& current)>;

// Returns the object as it is afterwards.
Task<Result<json::value>> changeObject(Api& api, Executor& executor, Random random,
                                       const api::ResourceType& type, api::ObjectKey key,
                                       Change change, std::string subresource = "",
                                       RetryPolicy policy = {});

// An object with a metadata.generateName gets its name here, so that a repeat cannot make a second
// one. With a name of its own, AlreadyExists after an answer that did not come means that somebody
// made it, perhaps this call; the caller decides whether it is what was wanted.
Task<Result<json::value>> createOnce(Api& api, Executor& executor, Random random,
                                     const api::ResourceType& type, json::value object,
                                     RetryPolicy policy = {});

// Deletes this incarnation; success when it is gone, whoever did it.
Task<Result<>> deleteOnce(Api& api, Executor& executor, Random random,
                          const api::ResourceType& type, api::ObjectKey key, std::string uid,
                          RetryPolicy policy = {});

}  // namespace koord::kube
