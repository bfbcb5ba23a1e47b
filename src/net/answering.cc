#include "net/answering.h"

#include "base/caught.h"
#include "base/log.h"
#include "net/router.h"

namespace koord::net {

void answerException(std::string_view what, Responder& responder) {
  log::error("{}: unexpected exception: {}", what, thrownText());
  sendText(responder, 500, "unexpected exception; the log of this program has more\n");
  // If the answer has begun, the client must see that it is incomplete.
  responder.abort();
}

Task<void> runHandler(std::string what, std::shared_ptr<Responder> responder, Task<void> handler) {
  try {
    co_await handler;
  } catch (...) {
    answerException(what, *responder);
  }
}

Task<Error> clientGone(Executor& executor, Responder& responder) {
  auto [future, completer] = Future<Error>::make(executor);
  responder.onClosed([completer = completer] {
    completer.complete(Error{ErrorCode::Cancelled, "the client has gone", {}});
  });
  Error error = co_await future;
  co_return error;
}

}  // namespace koord::net
