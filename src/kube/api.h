#pragma once

// The only interface between our programs and Kubernetes: REST verbs on resources. Bodies are
// texts, so that only the component that needs an object decodes it, once. Implementations: HttpApi
// (http_api.h) for a real API server, LocalApi (apiserver/local_api.h) directly into an embedded
// server. client.h has the typed calls.
//
// A text is JSON or, for kinds that Kubernetes itself has, protobuf: its first bytes say which
// (api/protobuf/envelope.h), and kube/received.h reads both. Protobuf is sent only to callers that
// request it and to servers that accept it, so a component that handles JSON only can ignore it.
//
// An Api belongs to one executor: callers call it there, and replies and watch events arrive there.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/meta.h"
#include "base/result.h"
#include "base/task.h"

namespace koord::kube {

enum class Verb { Get, List, Watch, Create, Update, Patch, Delete, DeleteCollection };
enum class PatchType { Json, Merge, Strategic, Apply };

std::string_view contentTypeOf(PatchType type);

struct Request {
  Verb verb = Verb::Get;
  std::string group;  // "" = core
  std::string version;
  std::string resource;    // plural, as in URLs
  std::string namespace_;  // "" for cluster-scoped resources and for lists over all namespaces
  std::string name;
  std::string subresource;  // "", status, binding, eviction, scale, ...
  // Query parameters under their API names: labelSelector, fieldSelector, limit, continue,
  // resourceVersion, resourceVersionMatch, timeoutSeconds, allowWatchBookmarks, sendInitialEvents,
  // fieldManager, fieldValidation, force, dryRun.
  api::StringMap query;
  PatchType patchType = PatchType::Merge;
  // JSON, or protobuf if the Api accepts it; the DeleteOptions of a delete, which may be empty.
  std::string body;
  bool protobuf = false;  // the caller can read the answer, or the events, in protobuf
};

Request makeRequest(Verb verb, const api::ResourceType& type, const api::ObjectKey& key = {});

// A running watch. Destroying it ends the watch; no callback follows.
class Watch {
 public:
  virtual ~Watch() = default;
};

struct WatchSink {
  // One event: {"type":"ADDED","object":{...}}, or a protobuf message, which cannot begin with a
  // brace. The text is valid during the call only.
  std::function<void(std::string_view event)> onEvent;
  // The stream ended. The code is Unknown and the message empty if the server closed it normally.
  // This is the last call; it may destroy the Watch.
  std::function<void(Error error)> onClosed;
};

class Api {
 public:
  virtual ~Api() = default;

  // The body of a reply with a 2xx status. A failure carries the code and message of the server's
  // Status object; Unavailable means that no answer arrived and the server may or may not have
  // executed the request.
  virtual Task<Result<std::string>> call(Request request) = 0;
  virtual std::unique_ptr<Watch> watch(Request request, WatchSink sink) = 0;
  // Returns true if the bodies of requests may be protobuf.
  virtual bool takesProtobuf() const { return false; }
};

}  // namespace koord::kube
