#include "apiserver/server/call.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace koord::apiserver {
namespace {

json::object detailsOf(const Subject& subject) {
  json::object details;
  if (!subject.name.empty()) details["name"] = subject.name;
  if (!subject.group.empty()) details["group"] = subject.group;
  if (!subject.kind.empty()) details["kind"] = subject.kind;
  return details;
}

Subject subjectOf(const kube::Request& request) {
  return {request.group, request.resource, request.name};
}

int statusOf(const Failure& failure) {
  return failure.status != 0 ? failure.status : httpStatusOf(failure.error.code);
}

}  // namespace

std::string statusText(const Failure& failure, const kube::Request& request) {
  const auto& error = failure.error;
  // A request that could not be read has no details.
  const bool unread = error.code == ErrorCode::BadRequest;
  json::object details =
      unread ? json::object() : detailsOf(failure.subject.value_or(subjectOf(request)));
  if (!failure.causes.empty()) {
    json::array causes;
    for (const auto& cause : failure.causes) {
      json::object one;
      if (!cause.reason.empty()) one["reason"] = cause.reason;
      if (!cause.message.empty()) one["message"] = cause.message;
      if (!cause.field.empty()) one["field"] = cause.field;
      causes.push_back(std::move(one));
    }
    details["causes"] = std::move(causes);
  }
  if (error.retryAfter.count() > 0)
    details["retryAfterSeconds"] = (error.retryAfter.count() + 999) / 1000;
  json::object status{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", json::object{}},
                      {"status", "Failure"},
                      {"message", error.message},
                      {"reason", failure.reason.empty() ? reasonOf(error.code) : failure.reason}};
  // As in the Go structs: an error without an object still has details.
  if (!details.empty() || error.code == ErrorCode::Forbidden)
    status["details"] = std::move(details);
  status["code"] = statusOf(failure);
  // Messages quote request data, cut if it is long, and answers of webhooks. Invalid UTF-8 in them
  // would make the answer unreadable.
  return asUtf8(toJson(status));
}

std::string successText(const kube::Request& request, std::string_view kind, std::string_view uid) {
  json::object details = detailsOf(subjectOf(request));
  if (!kind.empty()) details["kind"] = kind;
  if (!uid.empty()) details["uid"] = uid;
  return toJson(json::object{{"kind", "Status"},
                             {"apiVersion", "v1"},
                             {"metadata", json::object{}},
                             {"status", "Success"},
                             {"details", std::move(details)}});
}

Reply failureReply(Failure failure, const kube::Request& request) {
  Reply reply;
  reply.status = statusOf(failure);
  reply.body = bytesOf(statusText(failure, request));
  reply.error = std::move(failure.error);
  return reply;
}

Failure storageFailure(const Error& error) {
  Failure failure(ErrorCode::Io,
                  fmt::format("the storage accepts no writes: {}; reads and watches continue, and "
                              "writes are accepted again when the storage works",
                              error.message));
  failure.status = 507;
  failure.reason = "InsufficientStorage";
  return failure;
}

}  // namespace koord::apiserver
