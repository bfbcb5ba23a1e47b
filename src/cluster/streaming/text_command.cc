#include "cluster/streaming/text_command.h"

#include "cluster/streaming/remote_command.h"

namespace koord::cluster {

Task<void> answerExecWithText(Executor* executor, net::ServerRequest request,
                              std::shared_ptr<net::Responder> responder, std::string text,
                              int exitCode) {
  const auto target = net::parseTarget(request.target);
  auto streams = target ? commandStreamsOf(*target) : fail(target.error());
  if (!streams) {
    responder->respond(400, {{"Content-Type", "text/plain; charset=utf-8"}},
                       streams.error().message + "\n");
    co_return;
  }
  const bool terminal = streams->terminal;
  auto opening = CommandConnection::open(*executor, request, std::move(responder), *streams);
  const auto client = co_await opening;
  if (!client) co_return;
  if (terminal) {
    std::string lines;
    for (const char c : text) {
      if (c == '\n') lines += '\r';
      lines += c;
    }
    text = std::move(lines);
  }
  client->write(streams->out ? StreamChannel::Out : StreamChannel::Err, text);
  client->finish(exitStatus(exitCode));
}

}  // namespace koord::cluster
