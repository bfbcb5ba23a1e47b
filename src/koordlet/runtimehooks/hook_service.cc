#include "koordlet/runtimehooks/hook_service.h"

#include <fmt/format.h>

#include <filesystem>

#include "api/runtime/hook_descriptors.h"
#include "base/caught.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "net/rpc/reflection/reflection.h"
#include "runtime_hook.pb.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kServicePath = "/runtime.v1alpha1.RuntimeHookService/";
// The stages for which there are hooks.
constexpr const char* kStages[] = {"PreRunPodSandbox", "PreCreateContainer",
                                   "PreUpdateContainerResources"};
constexpr Duration kListenRetry = 10s;

template <class Map>
std::map<std::string, std::string> copied(const Map& map) {
  return {map.begin(), map.end()};
}

net::GrpcReply refusal(net::GrpcCode code, std::string message) {
  return std::unexpected(net::GrpcStatus{code, std::move(message)});
}

HookedPod podIn(const runtimehook::PodSandboxHookRequest& request) {
  const auto& meta = request.pod_meta();
  return {meta.name(),
          meta.namespace_(),
          meta.uid(),
          copied(request.labels()),
          copied(request.annotations()),
          request.cgroup_parent()};
}

HookedPod podIn(const runtimehook::ContainerResourceHookRequest& request) {
  const auto& meta = request.pod_meta();
  return {meta.name(),
          meta.namespace_(),
          meta.uid(),
          copied(request.pod_labels()),
          copied(request.pod_annotations()),
          request.pod_cgroup_parent()};
}

net::GrpcReply answerPod(HookRunner& runner, bool runs, const std::string& message) {
  runtimehook::PodSandboxHookRequest request;
  if (!request.ParseFromString(message))
    return refusal(net::GrpcCode::InvalidArgument, "no PodSandboxHookRequest");
  if (runs)
    if (auto done = runner.runPod(podIn(request)); !done)
      return refusal(net::GrpcCode::Unknown, std::move(done.error().message));
  runtimehook::PodSandboxHookResponse response;
  *response.mutable_labels() = request.labels();
  *response.mutable_annotations() = request.annotations();
  response.set_cgroup_parent(request.cgroup_parent());
  if (request.has_resources()) *response.mutable_resources() = request.resources();
  return response.SerializeAsString();
}

void put(const ContainerValues& values, runtimehook::ContainerResourceHookResponse& response) {
  if (values.shares || values.quota || values.memory || values.cpuset) {
    auto& resources = *response.mutable_container_resources();
    if (values.shares) resources.set_cpu_shares(*values.shares);
    if (values.quota) resources.set_cpu_quota(*values.quota);
    if (values.memory) resources.set_memory_limit_in_bytes(*values.memory);
    if (values.cpuset) resources.set_cpuset_cpus(*values.cpuset);
  }
  for (const auto& [name, value] : values.start.env)
    (*response.mutable_container_envs())[name] = value;
}

net::GrpcReply answerContainer(HookRunner& runner, std::string_view stage,
                               const std::string& message) {
  runtimehook::ContainerResourceHookRequest request;
  if (!request.ParseFromString(message))
    return refusal(net::GrpcCode::InvalidArgument, "no ContainerResourceHookRequest");
  runtimehook::ContainerResourceHookResponse response;
  *response.mutable_container_annotations() = request.container_annotations();
  if (request.has_container_resources())
    *response.mutable_container_resources() = request.container_resources();
  response.set_pod_cgroup_parent(request.pod_cgroup_parent());
  *response.mutable_container_envs() = request.container_envs();
  const HookedContainer container{request.container_meta().name(), request.container_meta().id(),
                                  request.container_resources().cpu_period()};
  Result<ContainerValues> values;
  if (stage == "PreCreateContainerHook")
    values = runner.createContainer(podIn(request), container);
  else if (stage == "PreUpdateContainerResourcesHook")
    values = runner.updateContainer(podIn(request), container);
  if (!values) return refusal(net::GrpcCode::Unknown, std::move(values.error().message));
  put(*values, response);
  return response.SerializeAsString();
}

}  // namespace

net::GrpcReply answerHook(HookRunner& runner, std::string_view method, const std::string& message) {
  if (method == "PreRunPodSandboxHook" || method == "PostStopPodSandboxHook")
    return answerPod(runner, method.starts_with("Pre"), message);
  if (method == "PreCreateContainerHook" || method == "PreStartContainerHook" ||
      method == "PostStartContainerHook" || method == "PostStopContainerHook" ||
      method == "PreUpdateContainerResourcesHook")
    return answerContainer(runner, method, message);
  return refusal(net::GrpcCode::Unimplemented, fmt::format("unknown method {}", method));
}

std::string hookServerConfig(const HookServiceOptions& options) {
  std::string hooks;
  for (const char* stage : kStages)
    if (!options.disabledStages.contains(stage))
      hooks += fmt::format("{}\n\t\t{}", hooks.empty() ? "" : ",", toJson(json::value(stage)));
  return fmt::format(
      "{{\n\t\"remote-endpoint\": {},\n\t\"failure-policy\": {},\n\t\"runtime-hooks\": [{}]\n}}\n",
      toJson(json::value(options.hostEndpoint)), toJson(json::value(options.failurePolicy)),
      hooks.empty() ? "" : hooks + "\n\t");
}

HookService::HookService(Executor& executor, HookRunner& runner, HookServiceOptions options)
    : executor_(executor), runner_(runner), options_(std::move(options)) {}

HookService::~HookService() {
  if (thread_) thread_->runSync([this] { server_.reset(); });
}

void HookService::start() {
  if (!options_.socket.empty()) tasks_.spawn(serve());
}

Task<void> HookService::serve() {
  for (std::string last;;) {
    const auto listening = listen();
    if (listening) co_return;
    if (listening.error().message != last)
      log::warn("containers get their values only after they have started: {}",
                last = listening.error().message);
    auto pause = sleepFor(executor_, kListenRetry);
    co_await pause;
  }
}

Result<> HookService::listen() {
  if (!server_) {
    const auto folder = std::filesystem::path(options_.socket).parent_path().string();
    if (auto made = makeDirs(folder, 0755); !made) return made;
    if (!thread_) thread_ = std::make_unique<net::IoThread>("runtimehooks");
    const auto handler = [executor = &executor_, runner = &runner_, alive = std::weak_ptr(alive_)](
                             net::GrpcRequest request, net::GrpcAnswer answer) {
      executor->post(
          [runner, alive, request = std::move(request), answer = std::move(answer)]() mutable {
            if (alive.expired()) return;
            std::string_view method = request.method;
            if (method.starts_with(kServicePath)) method.remove_prefix(kServicePath.size());
            try {
              answer(answerHook(*runner, method, request.message));
            } catch (...) {  // no reply is sent; the caller gets Internal
              log::error("{}: unexpected exception: {}", request.method, thrownText());
            }
          });
    };
    Result<std::unique_ptr<net::GrpcServer>> started;
    thread_->runSync([&] {
      started = net::GrpcServer::start(thread_->loop(), options_.socket, handler,
                                       net::reflection(runtimehook::kDescriptors));
    });
    if (!started) return fail(std::move(started.error()));
    server_ = *std::move(started);
    log::info("serving runtime hooks on {}", options_.socket);
  }
  if (options_.configFolder.empty()) return {};
  if (auto made = makeDirs(options_.configFolder, 0755); !made) return made;
  return writeFileAtomic(withSlash(options_.configFolder) + "koordlet.json",
                         hookServerConfig(options_), 0644);
}

}  // namespace koord::koordlet
