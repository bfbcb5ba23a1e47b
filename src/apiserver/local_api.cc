#include "apiserver/local_api.h"

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
struct ServerHalf {
  std::unique_ptr<WatchStream> stream;
  bool ended = false;
};

struct ClientHalf {
  kube::WatchSink sink;
  bool open = true;
};

class LocalWatch final : public kube::Watch {
 public:
  LocalWatch(Server& server, std::shared_ptr<ServerHalf> serverHalf,
             std::shared_ptr<ClientHalf> clientHalf)
      : server_(server), serverHalf_(std::move(serverHalf)), clientHalf_(std::move(clientHalf)) {}
  ~LocalWatch() override {
    clientHalf_->open = false;
    server_.executor().post([half = std::move(serverHalf_)] {
      half->ended = true;
      half->stream.reset();
    });
  }

 private:
  Server& server_;
  std::shared_ptr<ServerHalf> serverHalf_;
  std::shared_ptr<ClientHalf> clientHalf_;
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
  auto clientHalf = std::make_shared<ClientHalf>(ClientHalf{std::move(sink)});
  auto serverHalf = std::make_shared<ServerHalf>();
  const auto close = [executor = &executor_, clientHalf](Error error) {
    executor->post([clientHalf, error = std::move(error)]() mutable {
      if (!clientHalf->open) return;
      clientHalf->open = false;
      auto onClosed = std::move(clientHalf->sink.onClosed);
      if (onClosed) onClosed(std::move(error));
    });
  };
  server_.executor().post([server = &server_, executor = &executor_,
                           call = Call{std::move(request), user_}, serverHalf, clientHalf,
                           close]() mutable {
    if (serverHalf->ended) return;
    LineSink lines;
    lines.onLine = [executor, clientHalf](const Bytes& line) {
      executor->post([clientHalf, line] {
        if (!clientHalf->open) return;
        const auto onEvent = clientHalf->sink.onEvent;  // may end the watch
        if (onEvent) onEvent(std::string_view(*line).substr(0, line->size() - 1));
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
  return std::make_unique<LocalWatch>(server_, std::move(serverHalf), std::move(clientHalf));
}

}  // namespace koord::apiserver
