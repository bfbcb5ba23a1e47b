#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "koordlet/runtime/container_runtime.h"
#include "koordlet/system/small_file.h"
#include "net/rpc/grpc_channel.h"
#include "net/rpc/io_loop.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr const char* kStop = "/runtime.v1.RuntimeService/StopContainer";
constexpr const char* kList = "/runtime.v1.RuntimeService/ListContainers";
constexpr Duration kPatience = 5s;

class CriRuntime final : public ContainerRuntime {
 public:
  CriRuntime(Executor& executor, std::vector<RuntimeEndpoint> endpoints)
      : executor_(executor), io_("koordlet-cri"), tasks_(std::make_unique<TaskGroup>()) {
    io_.runSync([this, &endpoints] {
      for (auto& endpoint : endpoints)
        channels_[endpoint.scheme] =
            std::make_unique<net::GrpcChannel>(io_.loop(), std::move(endpoint.socket));
    });
    for (const auto& [scheme, channel] : channels_) schemes_.push_back(scheme);
  }
  ~CriRuntime() override {
    io_.runSync([this] {
      tasks_.reset();
      channels_.clear();
    });
  }

  Future<Result<>> stop(const std::string& containerId, Duration grace) override {
    auto [future, completer] = Future<Result<>>::make(executor_);
    const auto separator = containerId.find("://");
    const std::string scheme = containerId.substr(0, separator);
    if (separator == std::string::npos || !knows(scheme)) {
      completer.complete(
          fail(ErrorCode::NotFound, fmt::format("no socket of the runtime of {}", containerId)));
      return std::move(future);
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(grace);
    auto message = stopContainerRequest(containerId.substr(separator + 3), seconds.count());
    onLoop(Call{scheme, kStop, std::move(message), kPatience + grace},
           [completer = completer](Result<std::string> reply) {
             // A removed container has stopped, so NotFound is a success.
             const bool gone = !reply && reply.error().code == ErrorCode::NotFound;
             completer.complete(reply || gone ? Result<>{} : Result<>(fail(reply.error())));
           });
    return std::move(future);
  }

  Future<Result<std::vector<RuntimeContainer>>> list() override {
    auto [future, completer] = Future<Result<std::vector<RuntimeContainer>>>::make(executor_);
    if (schemes_.empty()) {
      completer.complete(fail(ErrorCode::NotFound, "no socket of a container runtime was found"));
      return std::move(future);
    }
    // A node has one runtime. There may be more sockets (containerd below Docker, without CRI), so
    // if a socket does not answer, the next call asks the next one.
    const std::size_t asked = asked_;
    onLoop(Call{schemes_[asked], kList, {}, kPatience},
           [this, asked, completer = completer](Result<std::string> reply) {
             const std::string& scheme = schemes_[asked];
             if (!reply) asked_ = (asked + 1) % schemes_.size();
             auto containers = reply ? containersInReply(*reply)
                                     : Result<std::vector<RuntimeContainer>>(fail(reply.error()));
             if (containers)
               for (auto& container : *containers) container.scheme = scheme;
             completer.complete(std::move(containers));
           });
    return std::move(future);
  }

 private:
  struct Call {
    std::string scheme;
    const char* method;
    std::string message;
    Duration patience;
  };
  using Done = std::function<void(Result<std::string>)>;

  bool knows(const std::string& scheme) const {
    return std::ranges::find(schemes_, scheme) != schemes_.end();
  }
  void onLoop(Call call, Done done) {
    io_.loop().post([this, call = std::move(call), done = std::move(done)]() mutable {
      net::GrpcChannel* channel = channels_.at(call.scheme).get();
      tasks_->spawn(run(channel, std::move(call), std::move(done)));
    });
  }
  static Task<void> run(net::GrpcChannel* channel, Call call, Done done) {
    auto calling = channel->call(call.method, call.message, call.patience);
    auto reply = co_await calling;
    if (reply) {
      done(*std::move(reply));
    } else {
      Error error = net::errorOf(reply.error());
      done(fail(std::move(error).within(channel->path())));
    }
  }

  Executor& executor_;
  net::IoThread io_;
  // Used on io_'s thread only.
  std::map<std::string, std::unique_ptr<net::GrpcChannel>> channels_;
  std::unique_ptr<TaskGroup> tasks_;
  std::vector<std::string> schemes_;
  std::atomic<std::size_t> asked_ = 0;  // index of the scheme that list() asks
};

}  // namespace

std::vector<RuntimeEndpoint> findRuntimes(const HostDirs& dirs, const RuntimeEndpoints& given) {
  std::vector<RuntimeEndpoint> found;
  const auto add = [&](const char* scheme, const std::string& byHand,
                       std::initializer_list<const char*> names) {
    if (!byHand.empty()) {
      found.push_back({scheme, byHand.starts_with("unix://") ? byHand.substr(7) : byHand});
      return;
    }
    for (const auto* name : names)
      if (pathExists(dirs.varRunRoot + name)) {
        found.push_back({scheme, dirs.varRunRoot + name});
        return;
      }
  };
  add("containerd", given.containerd, {"containerd/containerd.sock", "containerd.sock"});
  add("cri-o", given.crio, {"crio/crio.sock", "crio.sock"});
  // Docker's containers through cri-dockerd, the adapter that kubelet needs, too.
  add("docker", given.docker, {"cri-dockerd.sock"});
  add("pouch", given.pouch, {"pouchcri.sock"});
  return found;
}

std::unique_ptr<ContainerRuntime> makeCriRuntime(Executor& executor,
                                                 std::vector<RuntimeEndpoint> endpoints) {
  return std::make_unique<CriRuntime>(executor, std::move(endpoints));
}

}  // namespace koord::koordlet
