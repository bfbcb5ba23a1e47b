#include "kube/client.h"

#include <boost/json/serialize.hpp>

#include "api/pod.h"
#include "api/protobuf/plan.h"
#include "api/protobuf/transcode.h"

namespace koord::kube {
namespace {

Task<Result<json::value>> callForObject(Api& api, Request request) {
  auto task = api.call(std::move(request));
  auto reply = co_await task;
  if (!reply) co_return fail(std::move(reply.error()));
  auto document = parseJson(*reply);
  // What was asked for has been done; only the answer has not come whole.
  if (!document)
    co_return fail(ErrorCode::Unavailable,
                   "the response is truncated or not JSON: " + document.error().message);
  co_return std::move(document);
}

// A whole object of a kind without a struct, or with more than its struct holds.
std::string bodyOf(const Api& api, const api::ResourceType& type, const json::value& object) {
  const auto* schema = api.takesProtobuf() && api::isBuiltin(type)
                           ? api::sharedBuiltinTypes().find(type.kind)
                           : nullptr;
  if (schema) {
    const auto encoded = api::encodeMessage(object, *schema);
    if (encoded.complete)
      return api::sealEnvelope(api::apiVersionOf(type), type.kind, encoded.message);
  }
  return toJson(object);
}

Task<Result<>> callWithoutResult(Api& api, Request request) {
  // Less work for the server; nothing reads it.
  request.protobuf = api::isBuiltin({request.group, request.version, {}, {}, true});
  auto task = api.call(std::move(request));
  auto reply = co_await task;
  if (!reply) co_return fail(std::move(reply.error()));
  co_return Result<>{};
}

Request patchRequest(const api::ResourceType& type, const api::ObjectKey& key, PatchType patchType,
                     const json::value& document, std::string subresource) {
  Request request = makeRequest(Verb::Patch, type, key);
  request.subresource = std::move(subresource);
  request.patchType = patchType;
  request.body = toJson(document);
  return request;
}

std::string bodyOf(const DeleteOptions& options) {
  json::object body;
  if (options.gracePeriodSeconds) body["gracePeriodSeconds"] = *options.gracePeriodSeconds;
  if (!options.propagationPolicy.empty()) body["propagationPolicy"] = options.propagationPolicy;
  json::object preconditions;
  if (!options.uid.empty()) preconditions["uid"] = options.uid;
  if (!options.resourceVersion.empty()) preconditions["resourceVersion"] = options.resourceVersion;
  if (!preconditions.empty()) body["preconditions"] = std::move(preconditions);
  if (body.empty()) return {};
  body["kind"] = "DeleteOptions";
  body["apiVersion"] = "v1";
  return json::serialize(body);
}

}  // namespace

Task<Result<json::value>> getObject(Api& api, const api::ResourceType& type, api::ObjectKey key) {
  return callForObject(api, makeRequest(Verb::Get, type, key));
}

Task<Result<json::value>> listObjects(Api& api, const api::ResourceType& type,
                                      std::string namespace_, std::string labelSelector,
                                      std::string fieldSelector) {
  Request request =
      listRequest(type, std::move(namespace_), std::move(labelSelector), std::move(fieldSelector));
  json::array items;
  for (;;) {
    auto task = callForObject(api, request);
    auto page = co_await task;
    if (!page) co_return fail(std::move(page.error()));
    if (auto checked = checkIsList(*page); !checked) co_return fail(std::move(checked.error()));
    if (auto* list = find(*page, "items"); list->is_array())
      for (auto& item : list->get_array()) items.push_back(std::move(item));
    const std::string next(textAt(*page, "metadata", "continue"));
    if (next.empty()) {
      json::object whole;
      if (auto* metadata = find(*page, "metadata")) whole["metadata"] = std::move(*metadata);
      whole["items"] = std::move(items);
      co_return json::value(std::move(whole));
    }
    request.query["continue"] = next;
  }
}

Request listRequest(const api::ResourceType& type, std::string namespace_,
                    std::string labelSelector, std::string fieldSelector) {
  Request request = makeRequest(Verb::List, type, {std::move(namespace_), {}});
  if (!labelSelector.empty()) request.query["labelSelector"] = std::move(labelSelector);
  if (!fieldSelector.empty()) request.query["fieldSelector"] = std::move(fieldSelector);
  request.query["limit"] = "500";
  return request;
}

Task<Result<ListHead>> listEach(Api& api, Request request,
                                std::function<void(const Received&)> visit) {
  for (;;) {
    auto task = api.call(request);
    auto reply = co_await task;
    if (!reply) co_return fail(std::move(reply.error()));
    auto head = openList(*reply, visit);
    if (!head)
      co_return fail(ErrorCode::Unavailable,
                     "the response is truncated or not a list: " + head.error().message);
    if (head->next.empty()) co_return std::move(*head);
    request.query["continue"] = std::move(head->next);
  }
}

Task<Result<json::value>> createObject(Api& api, const api::ResourceType& type, api::ObjectKey key,
                                       json::value object, std::string subresource) {
  // An object is posted to its collection; its name is in the body.
  if (subresource.empty()) key.name.clear();
  Request request = makeRequest(Verb::Create, type, key);
  request.body = subresource.empty() ? bodyOf(api, type, object) : toJson(object);
  request.subresource = std::move(subresource);
  return callForObject(api, std::move(request));
}

Task<Result<json::value>> updateObject(Api& api, const api::ResourceType& type, api::ObjectKey key,
                                       json::value object, std::string subresource) {
  Request request = makeRequest(Verb::Update, type, key);
  request.body = subresource.empty() ? bodyOf(api, type, object) : toJson(object);
  request.subresource = std::move(subresource);
  return callForObject(api, std::move(request));
}

Task<Result<json::value>> mergePatch(Api& api, const api::ResourceType& type, api::ObjectKey key,
                                     json::value document, std::string subresource) {
  return callForObject(api,
                       patchRequest(type, key, PatchType::Merge, document, std::move(subresource)));
}

Task<Result<json::value>> strategicPatch(Api& api, const api::ResourceType& type,
                                         api::ObjectKey key, json::value document,
                                         std::string subresource) {
  return callForObject(
      api, patchRequest(type, key, PatchType::Strategic, document, std::move(subresource)));
}

Task<Result<>> patchOnly(Api& api, const api::ResourceType& type, api::ObjectKey key,
                         PatchType patchType, json::value document, std::string subresource) {
  return callWithoutResult(api,
                           patchRequest(type, key, patchType, document, std::move(subresource)));
}

Task<Result<>> deleteObject(Api& api, const api::ResourceType& type, api::ObjectKey key,
                            DeleteOptions options) {
  Request request = makeRequest(Verb::Delete, type, key);
  request.body = bodyOf(options);
  return callWithoutResult(api, std::move(request));
}

Task<Result<>> bindPod(Api& api, api::ObjectKey pod, std::string uid, std::string nodeName,
                       api::StringMap annotations) {
  api::Binding binding;
  binding.metadata.name = pod.name;
  binding.metadata.namespace_ = pod.namespace_;
  binding.metadata.uid = std::move(uid);
  binding.metadata.annotations = std::move(annotations);
  binding.target.kind = "Node";
  binding.target.name = std::move(nodeName);
  Request request = makeRequest(Verb::Create, api::Pod::kType, pod);
  request.subresource = "binding";
  request.body = bodyOf(api, binding);
  return callWithoutResult(api, std::move(request));
}

Task<Result<>> evictPod(Api& api, api::ObjectKey pod, DeleteOptions options) {
  json::object eviction{{"apiVersion", "policy/v1"},
                        {"kind", "Eviction"},
                        {"metadata", {{"name", pod.name}, {"namespace", pod.namespace_}}}};
  if (const std::string body = bodyOf(options); !body.empty())
    if (auto parsed = parseJson(body)) eviction["deleteOptions"] = *std::move(parsed);
  Request request = makeRequest(Verb::Create, api::Pod::kType, pod);
  request.subresource = "eviction";
  request.body = json::serialize(eviction);
  return callWithoutResult(api, std::move(request));
}

}  // namespace koord::kube
