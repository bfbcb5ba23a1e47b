#pragma once

// Writes that succeed in spite of conflicts, refusals and lost answers, and are never applied
// twice. Each describes the wanted state, not the change: after a lost answer it reads the object
// again and writes only what is missing.
//
// They retry until `policy.limit` has passed and then return the last error. They return errors
// that a retry cannot cure (NotFound, Invalid, Forbidden, ...) at once.

#include <functional>
#include <optional>

#include "base/random.h"
#include "kube/api.h"

namespace koord::kube {

struct RetryPolicy {
  // Doubles; each pause is up to twice as long at random.
  Duration first = std::chrono::milliseconds(10);
  Duration longest = std::chrono::seconds(5);
  Duration limit = std::chrono::minutes(2);
};

// True if the server may have executed the request although it failed.
bool mayHaveSucceeded(const Error& error);
// True if the same request may succeed later: mayHaveSucceeded(), 429 and 503.
bool isRetriable(const Error& error);

// Returns the merge patch from `current` to the wanted state; nullopt if there is nothing to
// change. Called for every state that is read. The patch is sent on the condition that the object
// has not changed since.
using Change = std::function<std::optional<json::value>(const json::value& current)>;

// Returns the object after the change.
Task<Result<json::value>> changeObject(Api& api, Executor& executor, Random random,
                                       const api::ResourceType& type, api::ObjectKey key,
                                       Change change, std::string subresource = "",
                                       RetryPolicy policy = {});

// An object with a metadata.generateName gets its name here, so that a retry cannot create a second
// object. For an object with a name, AlreadyExists after a lost answer may mean that this call
// created it; the caller decides whether the existing object is the wanted one.
Task<Result<json::value>> createOnce(Api& api, Executor& executor, Random random,
                                     const api::ResourceType& type, json::value object,
                                     RetryPolicy policy = {});

// Deletes the object with this uid. Succeeds if the object is gone, no matter which client deleted
// it.
Task<Result<>> deleteOnce(Api& api, Executor& executor, Random random,
                          const api::ResourceType& type, api::ObjectKey key, std::string uid,
                          RetryPolicy policy = {});

}  // namespace koord::kube
