#pragma once

// Typed calls on the Api seam, one line each: co_await get<api::Pod>(api, key). T needs a kType and
// a codec (api/codec.h). Nothing that was read is ever written back whole: changes go out as
// patches.

#include "api/codec.h"
#include "kube/api.h"

namespace koord::kube {

template <class T>
struct TypedList {
  std::string resourceVersion;
  std::vector<T> items;
};

// The untyped calls; each waits for the server's answer.
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

struct DeleteOptions {
  std::string uid;              // delete only this incarnation
  std::string resourceVersion;  // and only in this version
  std::optional<std::int64_t> gracePeriodSeconds;
  std::string propagationPolicy;  // Background, Foreground, Orphan; "" = the kind's default
};
Task<Result<>> deleteObject(Api& api, const api::ResourceType& type, api::ObjectKey key,
                            DeleteOptions options = {});

// Binds a pod to a node and adds annotations to it, in one write; the uid guards against a pod that
// was replaced under the same name.
Task<Result<>> bindPod(Api& api, api::ObjectKey pod, std::string uid, std::string nodeName,
                       api::StringMap annotations = {});
// The Eviction subresource: TooManyRequests when a PodDisruptionBudget forbids it now.
Task<Result<>> evictPod(Api& api, api::ObjectKey pod, DeleteOptions options = {});

template <class T>
Task<Result<T>> get(Api& api, api::ObjectKey key) {
  auto task = getObject(api, T::kType, std::move(key));
  auto reply = co_await task;
  if (!reply) co_return fail(std::move(reply.error()));
  co_return api::decode<T>(*reply);
}

template <class T>
Task<Result<TypedList<T>>> list(Api& api, std::string namespace_ = "",
                                std::string labelSelector = "", std::string fieldSelector = "") {
  auto task = listObjects(api, T::kType, std::move(namespace_), std::move(labelSelector),
                          std::move(fieldSelector));
  auto reply = co_await task;
  if (!reply) co_return fail(std::move(reply.error()));
  TypedList<T> result;
  result.resourceVersion = textAt(*reply, "metadata", "resourceVersion");
  if (const auto* items = at(*reply, "items"); items && items->is_array()) {
    for (const auto& item : items->get_array()) {
      auto object = api::decode<T>(item);
      if (!object) co_return fail(std::move(object.error()));
      result.items.push_back(*std::move(object));
    }
  }
  co_return result;
}

template <class T>
Task<Result<T>> create(Api& api, const T& object) {
  auto task = createObject(api, T::kType, api::ObjectKey{object.metadata.namespace_, {}},
                           api::encodeObject(object));
  auto reply = co_await task;
  if (!reply) co_return fail(std::move(reply.error()));
  co_return api::decode<T>(*reply);
}

}  // namespace koord::kube
