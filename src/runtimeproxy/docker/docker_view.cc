#include "runtimeproxy/docker/docker_view.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "runtimeproxy/docker/docker_api.h"
#include "runtimeproxy/docker/http_reader.h"
#include "runtimeproxy/docker/socket_end.h"

namespace koord::runtimeproxy {
namespace {

constexpr Duration kDockerPatience = std::chrono::seconds(30);

struct DockerReply {
  int status = 0;
  std::string body;
};

// One request and its answer. The waiting task owns it.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(net::IoLoop& loop, Completer<Result<DockerReply>> done)
      : loop_(loop), done_(std::move(done)) {}
  ~Exchange() {
    if (end_) end_->close();
    if (timer_ != 0) loop_.cancel(timer_);
  }

  void start(Fd socket, const std::string& path) {
    const auto self = [weak = weak_from_this()] { return weak.lock(); };
    end_ = SocketEnd::start(loop_, std::move(socket),
                            {.onBytes =
                                 [self](std::string_view bytes) {
                                   if (const auto exchange = self()) exchange->take(bytes);
                                 },
                             .onEnd =
                                 [self] {
                                   if (const auto exchange = self()) exchange->ended();
                                 },
                             .onLost =
                                 [self] {
                                   if (const auto exchange = self()) exchange->ended();
                                 },
                             .onEmpty = nullptr});
    timer_ = loop_.runAfter(kDockerPatience, [this] {
      timer_ = 0;
      finish(fail(ErrorCode::Timeout, "no response in time"));
    });
    end_->write(fmt::format(
        "GET {} HTTP/1.1\r\nHost: docker\r\nUser-Agent: koordinator\r\nConnection: close\r\n\r\n",
        path));
  }

 private:
  void take(std::string_view bytes) {
    reader_.add(bytes);
    while (end_) {
      auto piece = reader_.next();
      if (!piece) return finish(fail(std::move(piece.error())));
      if (!*piece) return;
      if ((*piece)->kind == HttpReader::Piece::Kind::Head)
        reply_.status = (*piece)->head.status;
      else if ((*piece)->kind == HttpReader::Piece::Kind::Body)
        reply_.body += (*piece)->content;
      else
        finish(std::move(reply_));
    }
  }
  void ended() {
    if (reader_.untilClose()) return finish(std::move(reply_));
    finish(
        fail(ErrorCode::Unavailable, "the connection was closed before the end of the response"));
  }
  void finish(Result<DockerReply> reply) {
    if (const auto end = std::exchange(end_, nullptr)) end->close();
    if (timer_ != 0) loop_.cancel(std::exchange(timer_, 0));
    if (auto done = std::exchange(done_, std::nullopt)) done->complete(std::move(reply));
  }

  net::IoLoop& loop_;
  std::optional<Completer<Result<DockerReply>>> done_;
  std::shared_ptr<SocketEnd> end_;
  HttpReader reader_{HttpReader::Role::Response};
  DockerReply reply_;
  TimerId timer_ = 0;
};

}  // namespace

Task<Result<json::value>> DockerView::get(std::string path) {
  auto socket = net::connectUnix(socket_);
  if (!socket) co_return fail(std::move(socket.error()));
  auto [future, completer] = Future<Result<DockerReply>>::make(loop_);
  const auto exchange = std::make_shared<Exchange>(loop_, completer);
  exchange->start(*std::move(socket), path);
  auto reply = co_await future;
  if (!reply)
    co_return fail(reply.error().code, fmt::format("GET {}: {}", path, reply.error().message));
  if (reply->status == 404) co_return fail(ErrorCode::NotFound, fmt::format("GET {}: 404", path));
  if (reply->status != 200)
    co_return fail(ErrorCode::Unavailable,
                   fmt::format("GET {}: {} {}", path, reply->status, shortened(reply->body, 200)));
  auto document = parseJson(reply->body);
  if (!document)
    co_return fail(ErrorCode::Invalid, fmt::format("GET {}: {}", path, document.error().message));
  co_return *std::move(document);
}

Task<Result<std::string>> DockerView::rebuild(Store& store) {
  auto askingInfo = get("/info");
  const auto info = co_await askingInfo;
  if (!info) co_return fail(info.error());
  systemd_ = textAt(*info, "CgroupDriver") == "systemd";
  auto askingList = get("/containers/json?all=1");
  const auto list = co_await askingList;
  if (!list) co_return fail(list.error());
  if (!list->is_array())
    co_return fail(ErrorCode::Invalid, "GET /containers/json: the response is not a list");
  // Sandboxes first: records of containers refer to them.
  std::vector<std::string> sandboxes, containers;
  for (const auto& item : list->get_array()) {
    const auto* labels = find(item, "Labels");
    const bool sandbox = labels && isSandbox(*labels);
    (sandbox ? sandboxes : containers).emplace_back(textAt(item, "Id"));
  }
  sandboxes.insert(sandboxes.end(), containers.begin(), containers.end());
  for (const auto& id : sandboxes) {
    auto learning = learn(id, store);
    const auto learnt = co_await learning;
    // A container that has been removed meanwhile, or is not kubelet's, is skipped.
    if (!learnt && learnt.error().code == ErrorCode::Unavailable) co_return fail(learnt.error());
  }
  co_return fmt::format("docker {}", textAt(*info, "ServerVersion"));
}

Task<Result<>> DockerView::learn(std::string id, Store& store) {
  auto asking = get("/containers/" + id + "/json");
  const auto found = co_await asking;
  if (!found) co_return fail(found.error());
  const auto* config = find(*found, "Config");
  const auto* host = find(*found, "HostConfig");
  const auto name = kubernetesNameOf(textAt(*found, "Name"));
  const auto* labels = config ? find(*config, "Labels") : nullptr;
  if (!config || !host || !labels || !name)
    co_return fail(ErrorCode::Invalid, "container " + id + " does not belong to kubelet");
  if (isSandbox(*labels)) {
    auto pod = std::make_shared<PodRecord>();
    pod->info = dockerPod(*name, *config, *host, systemd_);
    store.put(id, PodPtr(std::move(pod)));
    co_return Result<>{};
  }
  auto container = std::make_shared<ContainerRecord>();
  container->podId = sandboxOf(*labels);
  container->pod = store.pod(container->podId);
  container->own = dockerContainer(*name, *config, *host);
  container->own.mutable_container_meta()->set_id(id);
  store.put(id, ContainerPtr(std::move(container)));
  co_return Result<>{};
}

Task<Result<PodPtr>> DockerView::pod(std::string id) {
  Store found;
  auto learning = learn(id, found);
  const auto learnt = co_await learning;
  if (!learnt) co_return fail(learnt.error());
  auto pod = found.pod(id);
  if (!pod) co_return fail(ErrorCode::Invalid, "container " + id + " is not a sandbox");
  co_return std::move(pod);
}

}  // namespace koord::runtimeproxy
