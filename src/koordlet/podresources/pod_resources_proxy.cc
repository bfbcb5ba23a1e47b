#include "koordlet/podresources/pod_resources_proxy.h"

#include "base/file.h"
#include "base/log.h"
#include "koordlet/podresources/allocated_devices.h"
#include "koordlet/system/host_dirs.h"

// A separate thread does the network I/O; pods are looked up on koordlet's executor. If kubelet's
// call fails, the client gets kubelet's error. If kubelet's answer cannot be decoded, the client
// gets it unchanged.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr Duration kListenRetry = 10s;
constexpr Duration kPatience = 10s;

bool answersAboutPods(std::string_view method) {
  return method.ends_with("/List") || method.ends_with("/Get");
}

std::string completed(std::string reply, const States& states) {
  auto result =
      withAllocatedDevices(reply, [&](std::string_view podNamespace, std::string_view name) {
        for (const auto& pod : states.pods())
          if (pod.pod->metadata.name == name && pod.pod->metadata.namespace_ == podNamespace)
            return devicesAllocatedTo(pod);
        return std::vector<ResourceDevices>();
      });
  if (result) return *std::move(result);
  log::v(4, "resources of pods are reported without koordlet's devices: {}",
         result.error().message);
  return reply;
}

}  // namespace

PodResourcesProxy::PodResourcesProxy(Executor& executor, const States& states, Options options)
    : executor_(executor), states_(states), options_(std::move(options)) {}

PodResourcesProxy::~PodResourcesProxy() {
  if (thread_)
    thread_->runSync([this] {
      server_.reset();
      calls_.reset();
      kubelet_.reset();
    });
}

void PodResourcesProxy::start() {
  tasks_.spawn(serve());
}

Task<void> PodResourcesProxy::serve() {
  for (std::string last;;) {
    const auto listening = listen();
    if (listening) co_return;
    if (listening.error().message != last)
      log::warn("the pod resources proxy cannot listen: {}", last = listening.error().message);
    auto pause = sleepFor(executor_, kListenRetry);
    co_await pause;
  }
}

Result<> PodResourcesProxy::listen() {
  if (auto made = makeDirs(options_.folder, 0755); !made) return made;
  if (!thread_) thread_ = std::make_unique<net::IoThread>("podresources");
  const std::string socket = withSlash(options_.folder) + "kubelet.sock";
  Result<std::unique_ptr<net::GrpcServer>> started;
  thread_->runSync([&] {
    if (!calls_) calls_ = std::make_unique<TaskGroup>();
    if (!kubelet_)
      kubelet_ = std::make_unique<net::GrpcChannel>(thread_->loop(), options_.kubeletSocket);
    started = net::GrpcServer::start(thread_->loop(), socket,
                                     [this](net::GrpcRequest request, net::GrpcAnswer answer) {
                                       ask(std::move(request), std::move(answer));
                                     });
    if (started) server_ = *std::move(started);
  });
  if (!started) return fail(std::move(started.error()));
  log::info("serving kubelet's pod resources with allocated devices on {}", socket);
  return {};
}

void PodResourcesProxy::ask(net::GrpcRequest request, net::GrpcAnswer answer) {
  calls_->spawn(forward(std::move(request), std::move(answer)));
}

Task<void> PodResourcesProxy::forward(net::GrpcRequest request, net::GrpcAnswer answer) {
  auto calling =
      kubelet_->call(request.method, request.message, request.timeout.value_or(kPatience));
  net::GrpcReply reply = co_await calling;
  if (!reply || !answersAboutPods(request.method)) {
    answer(std::move(reply));
    co_return;
  }
  executor_.post([states = &states_, alive = std::weak_ptr(alive_), text = *std::move(reply),
                  answer = std::move(answer)]() mutable {
    if (!alive.expired()) answer(completed(std::move(text), *states));
  });
}

}  // namespace koord::koordlet
