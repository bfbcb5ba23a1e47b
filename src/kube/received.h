#pragma once

// Answers of the API in both formats: a JSON document, or a protobuf message of a built-in kind.
// The first bytes of the text say which.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/codec.h"
#include "api/protobuf/envelope.h"
#include "api/protobuf/structs.h"

namespace koord::kube {

// An object. Its document or message must outlive it.
class Received {
 public:
  explicit Received(const json::value& document) : document_(&document) {}
  explicit Received(std::string_view message) : message_(message) {}

  // nullptr if it is a protobuf message.
  const json::value* document() const { return document_; }
  // T is the requested kind.
  template <class T>
  Result<T> as() const {
    if (document_) return api::decode<T>(*document_);
    if (!api::planFor<T>())
      return fail(ErrorCode::Internal, "the server replied in protobuf, which was not requested");
    return api::readMessage<T>(message_);
  }
  api::ObjectKey key() const;
  std::string_view uid() const;
  std::string_view resourceVersion() const;
  std::string annotation(std::string_view name) const;

 private:
  const json::value* document_ = nullptr;
  std::string_view message_;
};

// The object in the body of an answer. Unavailable if the answer is incomplete although the server
// executed the request.
Result<> openObject(std::string_view body, std::function<void(const Received&)> visit);

template <class T>
Result<T> objectIn(std::string_view body) {
  Result<T> object;
  auto opened = openObject(body, [&](const Received& received) { object = received.as<T>(); });
  if (!opened) return fail(std::move(opened.error()));
  return object;
}

struct ListHead {
  std::string resourceVersion;
  std::string next;  // the continue token of the next page; "" = the last
};

// Unavailable if the document is not a list. Otherwise the caller would take it for an empty list
// and drop all objects.
Result<> checkIsList(const json::value& document);

// The items of a list or of a page, in order.
Result<ListHead> openList(std::string_view body, std::function<void(const Received&)> visit);

// One event of a watch, as WatchSink receives it.
Result<> openEvent(std::string_view event,
                   std::function<void(std::string_view type, const Received&)> visit);

// The Status object in the body of an answer; nullopt for another body.
std::optional<api::Status> statusIn(std::string_view body);

}  // namespace koord::kube
