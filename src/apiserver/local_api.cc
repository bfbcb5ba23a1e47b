#include "apiserver/local_api.h"

#include <algorithm>

#include "api/protobuf/envelope.h"
#include "apiserver/protobuf_front.h"

namespace koord::apiserver {
namespace {

Result<std::string> resultOf(Reply reply) {
  if (reply.error) return fail(*std::move(reply.error));
  return reply.body ? *reply.body : std::string();
}

}  // namespace

// Runs the calls of one LocalApi on the server's executor.
class LocalApi::Inbox {
 public:
  explicit Inbox(Server& server) : server_(server) {}

  void start(Call call, Completer<Result<std::string>> completer) {
    tasks_.spawn(run(&server_, std::move(call), std::move(completer)));
  }

 private:
  static Task<void> run(Server* server, Call call, Completer<Result<std::string>> completer) {
    auto serving = server->serve(std::move(call));
    auto reply = co_await serving;
    completer.complete(resultOf(std::move(reply)));
  }

  Server& server_;
  TaskGroup tasks_;
};

namespace {

// A watch has one half on each executor, and they post to each other. Either half may be destroyed
// first.
struct ServerEnd {
  std::unique_ptr<WatchStream> stream;
  bool ended = false;
};

struct ClientEnd {
  kube::WatchSink sink;
  bool open = true;
};

// What a protobuf frame or a line of JSON carries.
std::string_view eventIn(std::string_view sent, bool frame) {
  return frame ? sent.substr(std::min(api::kFrameHead, sent.size()))
               : sent.substr(0, sent.size() - 1);
}

class LocalWatch final : public kube::Watch {
 public:
  LocalWatch(Server& server, std::shared_ptr<ServerEnd> serverHalf,
             std::shared_ptr<ClientEnd> clientEnd)
      : server_(server), serverEnd_(std::move(serverHalf)), clientEnd_(std::move(clientEnd)) {}
  ~LocalWatch() override {
    clientEnd_->open = false;
    server_.executor().post([half = std::move(serverEnd_)] {
      half->ended = true;
      half->stream.reset();
    });
  }

 private:
  Server& server_;
  std::shared_ptr<ServerEnd> serverEnd_;
  std::shared_ptr<ClientEnd> clientEnd_;
};

}  // namespace

LocalApi::LocalApi(Server& server, Executor& executor, User user)
    : server_(server),
      executor_(executor),
      user_(std::move(user)),
      inbox_(std::make_shared<Inbox>(server)) {}

LocalApi::~LocalApi() {
  server_.executor().post([inbox = std::move(inbox_)]() mutable { inbox.reset(); });
}

Task<Result<std::string>> LocalApi::call(kube::Request request) {
  auto [answer, completer] = Future<Result<std::string>>::make(executor_);
  Call call{std::move(request), user_};
  server_.executor().post([inbox = inbox_, call = std::move(call), completer]() mutable {
    inbox->start(std::move(call), std::move(completer));
  });
  auto result = co_await answer;
  co_return result;
}

std::unique_ptr<kube::Watch> LocalApi::watch(kube::Request request, kube::WatchSink sink) {
  auto clientEnd = std::make_shared<ClientEnd>(ClientEnd{std::move(sink)});
  auto serverHalf = std::make_shared<ServerEnd>();
  const auto close = [executor = &executor_, clientEnd](Error error) {
    executor->post([clientEnd, error = std::move(error)]() mutable {
      if (!clientEnd->open) return;
      clientEnd->open = false;
      auto onClosed = std::move(clientEnd->sink.onClosed);
      if (onClosed) onClosed(std::move(error));
    });
  };
  server_.executor().post([server = &server_, executor = &executor_,
                           call = Call{std::move(request), user_}, serverHalf, clientEnd,
                           close]() mutable {
    if (serverHalf->ended) return;
    // Watchers of other processes get the same message, so it is made once, and is read faster.
    const bool protobuf = call.request.protobuf && hasMessages(call.request, server->registry());
    LineSink lines;
    lines.onLine = [server, executor, clientEnd, protobuf](const Bytes& line) {
      Bytes sent = line;
      if (protobuf) sent = server->watchFrames()->frameOf(line, server->registry());
      executor->post([clientEnd, protobuf, sent = std::move(sent)] {
        if (!clientEnd->open) return;
        const auto onEvent = clientEnd->sink.onEvent;  // may end the watch
        if (onEvent) onEvent(eventIn(*sent, protobuf));
      });
    };
    lines.onEnd = close;
    auto stream = server->watch(std::move(call), std::move(lines));
    if (stream) {
      serverHalf->stream = *std::move(stream);
    } else {
      close(std::move(stream.error().error));
    }
  });
  return std::make_unique<LocalWatch>(server_, std::move(serverHalf), std::move(clientEnd));
}

}  // namespace koord::apiserver
