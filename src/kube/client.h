#pragma once

// Typed calls on an Api, one line each: co_await get<api::Pod>(api, key). T needs a kType and a
// codec (api/codec.h). Changes are written as patches, never as whole objects.

#include "api/codec.h"
#include "kube/api.h"
#include "kube/received.h"

namespace koord::kube {

template <class T>
struct TypedList {
  std::string resourceVersion;
  std::vector<T> items;
};

// The untyped calls; each waits for the server's answer, in JSON.
Task<Result<json::value>> getObject(Api& api, const api::ResourceType& type, api::ObjectKey key);
// All pages, in one document {"metadata": {...}, "items": [...]}. The selectors may be empty.
Task<Result<json::value>> listObjects(Api& api, const api::ResourceType& type,
                                      std::string namespace_, std::string labelSelector,
                                      std::string fieldSelector);
Task<Result<json::value>> createObject(Api& api, const api::ResourceType& type, api::ObjectKey key,
                                       json::value object, std::string subresource = "");
Task<Result<json::value>> updateObject(Api& api, const api::ResourceType& type, api::ObjectKey key,
                                       json::value object, std::string subresource = "");
// A merge patch; set metadata.resourceVersion in it to make the write conditional.
Task<Result<json::value>> mergePatch(Api& api, const api::ResourceType& type, api::ObjectKey key,
                                     json::value patch, std::string subresource = "");
Task<Result<json::value>> strategicPatch(Api& api, const api::ResourceType& type,
                                         api::ObjectKey key, json::value patch,
                                         std::string subresource = "");

// A patch whose answer, the whole object, the caller does not need.
Task<Result<>> patchOnly(Api& api, const api::ResourceType& type, api::ObjectKey key,
                         PatchType patchType, json::value patch, std::string subresource = "");

struct DeleteOptions {
  std::string uid;              // delete only the object with this uid
  std::string resourceVersion;  // and only in this version
  std::optional<std::int64_t> gracePeriodSeconds;
  std::string propagationPolicy;  // Background, Foreground, Orphan; "" = the default of the kind
};
Task<Result<>> deleteObject(Api& api, const api::ResourceType& type, api::ObjectKey key,
                            DeleteOptions options = {});

// Binds a pod to a node and adds annotations to it, in one write. The uid prevents binding another
// pod of the same name.
Task<Result<>> bindPod(Api& api, api::ObjectKey pod, std::string uid, std::string nodeName,
                       api::StringMap annotations = {});
// The Eviction subresource: TooManyRequests when a PodDisruptionBudget forbids it now.
Task<Result<>> evictPod(Api& api, api::ObjectKey pod, DeleteOptions options = {});

// Reads all pages of a list and calls `visit` for each item.
Task<Result<ListHead>> listEach(Api& api, Request request,
                                std::function<void(const Received&)> visit);
Request listRequest(const api::ResourceType& type, std::string namespace_,
                    std::string labelSelector, std::string fieldSelector);

// A whole object as the body of a request: in protobuf if the Api accepts it.
template <class T>
std::string bodyOf(const Api& api, const T& object) {
  if (!api.takesProtobuf() || !api::planFor<T>()) return toJson(api::encodeObject(object));
  return api::sealEnvelope(api::apiVersionOf(T::kType), T::kType.kind, api::writeMessage(object));
}

template <class T>
Task<Result<T>> get(Api& api, api::ObjectKey key) {
  Request request = makeRequest(Verb::Get, T::kType, key);
  request.protobuf = api::planFor<T>() != nullptr;
  auto task = api.call(std::move(request));
  auto reply = co_await task;
  if (!reply) co_return fail(std::move(reply.error()));
  co_return objectIn<T>(*reply);
}

template <class T>
Task<Result<TypedList<T>>> list(Api& api, std::string namespace_ = "",
                                std::string labelSelector = "", std::string fieldSelector = "") {
  Request request = listRequest(T::kType, std::move(namespace_), std::move(labelSelector),
                                std::move(fieldSelector));
  request.protobuf = api::planFor<T>() != nullptr;
  TypedList<T> result;
  std::optional<Error> problem;
  std::function<void(const Received&)> add = [&result, &problem](const Received& item) {
    auto object = item.as<T>();
    if (object) {
      result.items.push_back(*std::move(object));
    } else if (!problem) {
      problem = std::move(object.error());
    }
  };
  auto task = listEach(api, std::move(request), std::move(add));
  auto head = co_await task;
  if (!head) co_return fail(std::move(head.error()));
  if (problem) co_return fail(*std::move(problem));
  result.resourceVersion = std::move(head->resourceVersion);
  co_return result;
}

template <class T>
Task<Result<T>> create(Api& api, const T& object) {
  Request request =
      makeRequest(Verb::Create, T::kType, api::ObjectKey{object.metadata.namespace_, {}});
  request.body = bodyOf(api, object);
  request.protobuf = api::planFor<T>() != nullptr;
  auto task = api.call(std::move(request));
  auto reply = co_await task;
  if (!reply) co_return fail(std::move(reply.error()));
  co_return objectIn<T>(*reply);
}

}  // namespace koord::kube
