#include "runtimeproxy/interceptor.h"

#include <map>

#include "base/log.h"
#include "runtime_cri.pb.h"
#include "runtimeproxy/hook_calls.h"
#include "runtimeproxy/merge.h"

namespace koord::runtimeproxy {
namespace {

bool parse(google::protobuf::MessageLite& message, std::string_view bytes) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

bool namesPod(CriMethod method) {
  return method == CriMethod::StopPodSandbox || method == CriMethod::RemovePodSandbox;
}

}  // namespace

Task<Verdict> Interceptor::before(Intercepted& call, std::string_view message,
                                  SteadyTime deadline) {
  switch (call.method) {
    case CriMethod::RunPodSandbox: {
      auto running = runPod(call, message, deadline);
      co_return co_await running;
    }
    case CriMethod::CreateContainer: {
      auto creating = createContainer(call, message, deadline);
      co_return co_await creating;
    }
    case CriMethod::UpdateContainerResources: {
      auto updating = updateContainer(call, message, deadline);
      co_return co_await updating;
    }
    default:
      break;
  }
  if (namesPod(call.method)) {
    cri::PodSandboxId request;
    if (!parse(request, message)) co_return Verdict{};
    call.id = request.pod_sandbox_id();
    if (call.method == CriMethod::RemovePodSandbox ||
        !dispatcher_.wants(HookType::PostStopPodSandbox))
      co_return Verdict{};
    auto finding = findPod(call, call.id);
    co_await finding;
    co_return Verdict{};
  }
  cri::ContainerId request;
  if (!parse(request, message)) co_return Verdict{};
  call.id = request.container_id();
  if (call.method == CriMethod::StopContainer && dispatcher_.wants(HookType::PostStopContainer)) {
    auto finding = findContainer(call);
    co_await finding;
  }
  if (call.method != CriMethod::StartContainer) co_return Verdict{};
  auto starting = startContainer(call, deadline);
  co_return co_await starting;
}

Task<Verdict> Interceptor::runPod(Intercepted& call, std::string_view message,
                                  SteadyTime deadline) {
  cri::RunPodSandboxRequest request;
  if (!parse(request, message)) co_return Verdict{};
  call.pod.info = podOf(request.config(), request.runtime_handler());
  call.known = true;
  call.hooks = !skip_.appliesTo(call.pod);
  if (!call.hooks || !dispatcher_.wants(HookType::PreRunPodSandbox)) co_return Verdict{};
  const std::string before = call.pod.info.SerializeAsString();
  auto asking = callPodHooks(dispatcher_, HookType::PreRunPodSandbox, call.pod, PodResources::Fixed,
                             deadline);
  auto refusal = co_await asking;
  if (refusal) co_return Verdict{std::move(refusal), {}};
  if (call.pod.info.SerializeAsString() == before) co_return Verdict{};
  apply(call.pod.info, request);
  co_return Verdict{{}, request.SerializeAsString()};
}

Task<Verdict> Interceptor::createContainer(Intercepted& call, std::string_view message,
                                           SteadyTime deadline) {
  cri::CreateContainerRequest request;
  if (!parse(request, message)) co_return Verdict{};
  const bool wanted = dispatcher_.wants(HookType::PreCreateContainer);
  call.container.podId = request.pod_sandbox_id();
  call.container.own = containerOf(request);
  call.container.pod = store_.pod(request.pod_sandbox_id());
  if (!call.container.pod) {
    // The request also describes the pod.
    auto pod = std::make_shared<PodRecord>();
    pod->info = podOf(request.sandbox_config(), "");
    call.container.pod = std::move(pod);
  }
  call.known = true;
  call.hooks = !skip_.appliesTo(*call.container.pod);
  if (!call.hooks || !wanted) co_return Verdict{};
  const std::string before = call.container.own.SerializeAsString();
  const std::map<std::string, std::string> variables(call.container.own.container_envs().begin(),
                                                     call.container.own.container_envs().end());
  auto asking =
      callContainerHooks(dispatcher_, HookType::PreCreateContainer, call.container, deadline);
  auto refusal = co_await asking;
  if (refusal) co_return Verdict{std::move(refusal), {}};
  if (call.container.own.SerializeAsString() == before) co_return Verdict{};
  const std::map<std::string, std::string> now(call.container.own.container_envs().begin(),
                                               call.container.own.container_envs().end());
  apply(call.container.own, now != variables, request);
  co_return Verdict{{}, request.SerializeAsString()};
}

Task<Verdict> Interceptor::updateContainer(Intercepted& call, std::string_view message,
                                           SteadyTime deadline) {
  cri::UpdateContainerResourcesRequest request;
  if (!parse(request, message)) co_return Verdict{};
  call.id = request.container_id();
  const bool wanted = dispatcher_.wants(HookType::PreUpdateContainerResources);
  if (!wanted && !store_.container(call.id)) co_return Verdict{};
  auto finding = findContainer(call);
  co_await finding;
  if (!call.known || !request.has_linux()) co_return Verdict{};
  mergeUpdate(request.linux(), *call.container.own.mutable_container_resources());
  const auto asked = call.container.own;
  bool changed = false;
  if (call.hooks && wanted) {
    const std::string before = call.container.own.SerializeAsString();
    auto asking = callContainerHooks(dispatcher_, HookType::PreUpdateContainerResources,
                                     call.container, deadline);
    auto refusal = co_await asking;
    if (refusal) co_return Verdict{std::move(refusal), {}};
    changed = call.container.own.SerializeAsString() != before;
  }
  auto sent = beginUpdate(store_, call.id, request.linux(), asked, call.container.own, changed,
                          call.update);
  if (!sent) co_return Verdict{};
  *request.mutable_linux() = *std::move(sent);
  for (const auto& [key, value] : call.container.own.container_annotations())
    (*request.mutable_annotations())[key] = value;
  co_return Verdict{{}, request.SerializeAsString()};
}

Task<Verdict> Interceptor::startContainer(Intercepted& call, SteadyTime deadline) {
  const bool before = dispatcher_.wants(HookType::PreStartContainer);
  if (!before && !dispatcher_.wants(HookType::PostStartContainer)) co_return Verdict{};
  auto finding = findContainer(call);
  co_await finding;
  if (!call.hooks || !before) co_return Verdict{};
  auto asking =
      callContainerHooks(dispatcher_, HookType::PreStartContainer, call.container, deadline);
  auto refusal = co_await asking;
  co_return Verdict{std::move(refusal), {}};
}

Task<void> Interceptor::findPod(Intercepted& call, std::string id) {
  PodPtr pod = store_.pod(id);
  if (!pod || !pod->complete) {
    auto asking = runtime_.pod(id);
    auto found = co_await asking;
    if (found) {
      // Others may have been faster.
      const PodPtr now = store_.pod(id);
      const bool gone = pod && !now;
      const bool known = now && now->complete;
      pod = known ? now : *std::move(found);
      if (!gone && !known) store_.put(id, pod);
    } else if (found.error().code != ErrorCode::NotFound) {
      log::warn("unknown pod sandbox {}, no hooks are called for it: {}", id,
                found.error().message);
    }
  }
  if (!pod) co_return;
  call.pod = *pod;
  call.known = true;
  call.hooks = !skip_.appliesTo(*pod);
}

Task<void> Interceptor::findContainer(Intercepted& call) {
  ContainerPtr container = store_.container(call.id);
  if (!container || !container->complete) {
    auto asking = runtime_.container(call.id, store_);
    auto found = co_await asking;
    if (found) {
      // Others may have been faster.
      const ContainerPtr now = store_.container(call.id);
      const bool gone = container && !now;
      const bool known = now && now->complete;
      container = known ? now : *std::move(found);
      if (!gone && !known) store_.put(call.id, container);
    } else {
      container = nullptr;
      log::v(2, "unknown container {}, no hooks are called for it: {}", call.id,
             found.error().message);
    }
  }
  if (!container) co_return;
  call.container = *container;
  call.began = container->own;
  call.known = true;
  call.hooks = !container->pod || !skip_.appliesTo(*container->pod);
}

Task<void> Interceptor::after(Intercepted& call, const net::GrpcReply& reply, SteadyTime deadline) {
  // An object that the runtime does not know has ended, too.
  const bool gone = !reply && reply.error().code == net::GrpcCode::NotFound;
  if (reply) call.update.keep();
  if (!reply && !gone) co_return;
  if (reply && call.known) remember(call, *reply);
  if (call.hooks && (reply || call.method != CriMethod::StartContainer)) {
    if (call.method == CriMethod::StopPodSandbox) {
      auto asking = callPodHooks(dispatcher_, HookType::PostStopPodSandbox, call.pod,
                                 PodResources::Fixed, deadline);
      co_await asking;
    } else if (call.method == CriMethod::StartContainer) {
      auto asking =
          callContainerHooks(dispatcher_, HookType::PostStartContainer, call.container, deadline);
      co_await asking;
    } else if (call.method == CriMethod::StopContainer) {
      auto asking =
          callContainerHooks(dispatcher_, HookType::PostStopContainer, call.container, deadline);
      co_await asking;
    }
  }
  forget(call);
}

void Interceptor::remember(Intercepted& call, const std::string& reply) {
  if (call.method == CriMethod::RunPodSandbox) {
    cri::RunPodSandboxResponse made;
    if (made.ParseFromString(reply) && !made.pod_sandbox_id().empty())
      store_.put(made.pod_sandbox_id(), std::make_shared<const PodRecord>(call.pod));
  } else if (call.method == CriMethod::CreateContainer) {
    cri::CreateContainerResponse made;
    if (!made.ParseFromString(reply) || made.container_id().empty()) return;
    call.container.own.mutable_container_meta()->set_id(made.container_id());
    store_.put(made.container_id(), std::make_shared<const ContainerRecord>(call.container));
  } else if (call.method == CriMethod::StartContainer) {
    store_.change(call.id,
                  [&](auto& known) { mergeChanges(call.began, call.container.own, known); });
  }
}

void Interceptor::forget(const Intercepted& call) {
  switch (call.method) {
    case CriMethod::RemovePodSandbox:
      store_.eraseContainersOf(call.id);
      [[fallthrough]];
    case CriMethod::StopPodSandbox:
      store_.erasePod(call.id);
      break;
    case CriMethod::StopContainer:
    case CriMethod::RemoveContainer:
      store_.eraseContainer(call.id);
      break;
    default:
      break;
  }
}

}  // namespace koord::runtimeproxy
