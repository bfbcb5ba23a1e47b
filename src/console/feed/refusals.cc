#include "console/feed/refusals.h"

#include <utility>

namespace koord::console {

void RefusalsApi::note(const Error& error) {
  const bool refusal = error.code == ErrorCode::Forbidden ||
                       error.code == ErrorCode::Unauthorized || error.code == ErrorCode::NotFound;
  if (!refusal) return;
  refused_ = true;
  onChange_(&error);
}

Task<Result<std::string>> RefusalsApi::call(kube::Request request) {
  auto calling = api_.call(std::move(request));
  auto reply = co_await calling;
  if (!reply) note(reply.error());
  co_return reply;
}

std::unique_ptr<kube::Watch> RefusalsApi::watch(kube::Request request, kube::WatchSink sink) {
  // A list that is answered does not show that the watch will be; bookmarks come each minute.
  auto onEvent = [this, onEvent = std::move(sink.onEvent)](std::string_view event) {
    if (std::exchange(refused_, false)) onChange_(nullptr);
    onEvent(event);
  };
  auto onClosed = [this, onClosed = std::move(sink.onClosed)](Error error) {
    note(error);
    onClosed(std::move(error));
  };
  return api_.watch(std::move(request), {std::move(onEvent), std::move(onClosed)});
}

}  // namespace koord::console
