#pragma once

// A request to the API server, independent of its transport, and its answer.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/objects/failure.h"
#include "kube/api.h"

namespace koord::apiserver {

struct User {
  std::string name = "system:admin";
  std::string uid;
  std::vector<std::string> groups = {"system:masters"};
  std::map<std::string, std::vector<std::string>> extra = {};
};

// The form of objects that the client wants.
enum class Format { Object, Table, PartialMetadata };

struct Call {
  kube::Request request;
  User user;
  Format format = Format::Object;
  std::string userAgent;
  // A call of the server itself: skips webhooks and accepts versions that are not served.
  bool ofServer = false;
};

using Bytes = std::shared_ptr<const std::string>;

struct Reply {
  int status = 200;
  Bytes body;  // JSON; a Status object when error is set
  std::optional<Error> error;
  std::vector<std::string> warnings;
  std::map<std::string, std::string> auditAnnotations = {};  // of admission
};

// The kind in messages about invalid query parameters of lists and watches.
inline constexpr std::string_view kListOptions = "ListOptions.meta.k8s.io";

inline Bytes bytesOf(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

// A Status object. The details name the object of the request.
std::string statusText(const Failure& failure, const kube::Request& request);
std::string successText(const kube::Request& request, std::string_view kind, std::string_view uid);
Reply failureReply(Failure failure, const kube::Request& request);
// 507: the storage cannot be written because of this error.
Failure storageFailure(const Error& error);

}  // namespace koord::apiserver
