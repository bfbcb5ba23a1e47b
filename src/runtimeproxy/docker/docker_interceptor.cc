#include "runtimeproxy/docker/docker_interceptor.h"

#include "base/log.h"
#include "runtimeproxy/hook_calls.h"
#include "runtimeproxy/merge.h"

namespace koord::runtimeproxy {
namespace {

constexpr int kNotModified = 304, kNotFound = 404;  // already started, stopped or removed

bool succeeded(int status) {
  return (status >= 200 && status < 300) || status == kNotModified;
}

const json::value& memberOf(const json::object& object, std::string_view name) {
  static const json::value kNone = json::object();
  const auto* member = object.if_contains(name);
  return member ? *member : kNone;
}

json::object& hostConfigIn(json::object& body) {
  auto& member = body["HostConfig"];
  if (!member.is_object()) member = json::object();
  return member.get_object();
}

void changeResources(const Resources& before, const Resources& now, json::object& body) {
  if (before.SerializeAsString() != now.SerializeAsString())
    writeResources(before, now, hostConfigIn(body));
}

}  // namespace

Task<Verdict> DockerInterceptor::before(DockerCall& call, std::string_view body,
                                        SteadyTime deadline) {
  if (call.target.method == DockerMethod::Create) {
    auto creating = create(call, body, deadline);
    co_return co_await creating;
  }
  find(call);
  if (!call.hooks || call.ofPod) co_return Verdict{};
  if (call.target.method == DockerMethod::Update) {
    auto updating = update(call, body, deadline);
    co_return co_await updating;
  }
  if (call.target.method != DockerMethod::Start) co_return Verdict{};
  auto asking =
      callContainerHooks(dispatcher_, HookType::PreStartContainer, call.container, deadline);
  auto refusal = co_await asking;
  co_return Verdict{std::move(refusal), {}};
}

void DockerInterceptor::find(DockerCall& call) const {
  if (const auto container = store_.container(call.target.id)) {
    call.container = *container;
    call.began = container->own;
    call.known = true;
    call.hooks = !container->pod || !skip_.appliesTo(*container->pod);
  } else if (const auto pod = store_.pod(call.target.id)) {
    call.pod = *pod;
    call.ofPod = call.known = true;
    call.hooks = !skip_.appliesTo(*pod);
  }
}

// The body is the container's configuration, with HostConfig as a member.
Task<Verdict> DockerInterceptor::create(DockerCall& call, std::string_view body,
                                        SteadyTime deadline) {
  const auto name = kubernetesNameOf(call.target.name);
  auto document = parseJson(body);
  if (!name || !document || !document->is_object()) co_return Verdict{};
  auto& object = document->get_object();
  const json::value& host = memberOf(object, "HostConfig");
  const json::value& labels = memberOf(object, "Labels");
  const json::object asked = object;
  call.ofPod = isSandbox(labels);
  std::optional<std::string> refusal;
  if (call.ofPod) {
    call.pod.info = dockerPod(*name, *document, host, docker_.systemd());
    call.known = true;
    call.hooks = !skip_.appliesTo(call.pod);
    auto asking = runPod(call, object, deadline);
    refusal = co_await asking;
  } else {
    call.container.podId = sandboxOf(labels);
    call.container.own = dockerContainer(*name, *document, host);
    call.container.pod = store_.pod(call.container.podId);
    if (!call.container.pod) {
      auto asking = docker_.pod(call.container.podId);
      const auto found = co_await asking;
      if (!found) {
        log::warn("unknown pod sandbox {} of container {}, no hooks are called: {}",
                  call.container.podId, call.target.name, found.error().message);
        co_return Verdict{};
      }
      store_.put(call.container.podId, *found);
      call.container.pod = *found;
    }
    call.known = true;
    call.hooks = !skip_.appliesTo(*call.container.pod);
    auto asking = createContainer(call, object, deadline);
    refusal = co_await asking;
  }
  if (refusal) co_return Verdict{std::move(refusal), {}};
  if (object == asked) co_return Verdict{};
  co_return Verdict{{}, toJson(*document)};
}

void DockerInterceptor::setCgroupParent(const std::string& before, const std::string& now,
                                        json::object& body) const {
  if (!now.empty() && now != before)
    hostConfigIn(body)["CgroupParent"] = dockerCgroupParent(now, docker_.systemd());
}

Task<std::optional<std::string>> DockerInterceptor::runPod(DockerCall& call, json::object& body,
                                                           SteadyTime deadline) {
  if (!call.hooks) co_return std::nullopt;
  const PodRecord before = call.pod;
  auto asking = callPodHooks(dispatcher_, HookType::PreRunPodSandbox, call.pod,
                             PodResources::Changeable, deadline);
  auto refusal = co_await asking;
  if (refusal) co_return refusal;
  changeResources(before.info.resources(), call.pod.info.resources(), body);
  setCgroupParent(before.info.cgroup_parent(), call.pod.info.cgroup_parent(), body);
  co_return std::nullopt;
}

Task<std::optional<std::string>> DockerInterceptor::createContainer(DockerCall& call,
                                                                    json::object& body,
                                                                    SteadyTime deadline) {
  if (!call.hooks) co_return std::nullopt;
  const auto before = call.container.info();
  auto asking =
      callContainerHooks(dispatcher_, HookType::PreCreateContainer, call.container, deadline);
  auto refusal = co_await asking;
  if (refusal) co_return refusal;
  const auto& now = call.container.own;
  changeResources(before.container_resources(), now.container_resources(), body);
  setCgroupParent(before.pod_cgroup_parent(), now.pod_cgroup_parent(), body);
  bool same = before.container_envs().size() == now.container_envs().size();
  for (const auto& [key, value] : now.container_envs()) {
    const auto known = before.container_envs().find(key);
    same = same && known != before.container_envs().end() && known->second == value;
  }
  if (!same) writeEnvironment(now.container_envs(), body);
  co_return std::nullopt;
}

Task<Verdict> DockerInterceptor::update(DockerCall& call, std::string_view body,
                                        SteadyTime deadline) {
  auto document = parseJson(body);
  if (!document || !document->is_object()) co_return Verdict{};
  const Resources request = dockerResources(*document);
  mergeUpdate(request, *call.container.own.mutable_container_resources());
  const auto asked = call.container.own;
  const std::string before = call.container.own.container_resources().SerializeAsString();
  auto asking = callContainerHooks(dispatcher_, HookType::PreUpdateContainerResources,
                                   call.container, deadline);
  auto refusal = co_await asking;
  if (refusal) co_return Verdict{std::move(refusal), {}};
  const bool changed = call.container.own.container_resources().SerializeAsString() != before;
  const auto sent =
      beginUpdate(store_, call.target.id, request, asked, call.container.own, changed, call.update);
  if (!sent) co_return Verdict{};
  writeUpdate(*sent, document->get_object());
  co_return Verdict{{}, toJson(*document)};
}

Task<void> DockerInterceptor::after(DockerCall& call, int status, std::string_view answer,
                                    SteadyTime deadline) {
  const DockerMethod method = call.target.method;
  const bool gone = status == kNotFound;
  if (succeeded(status)) call.update.keep();
  if (!call.known || (!succeeded(status) && !gone)) co_return;
  if (method == DockerMethod::Create && !gone) {
    const auto document = parseJson(answer);
    const std::string id(document ? textAt(*document, "Id") : std::string_view());
    if (id.empty()) co_return;
    if (call.ofPod) {
      store_.put(id, std::make_shared<const PodRecord>(call.pod));
    } else {
      call.container.own.mutable_container_meta()->set_id(id);
      store_.put(id, std::make_shared<const ContainerRecord>(call.container));
    }
  } else if ((method == DockerMethod::Update || method == DockerMethod::Start) && !call.ofPod &&
             !gone) {
    if (method == DockerMethod::Start)
      store_.change(call.target.id,
                    [&](auto& known) { mergeChanges(call.began, call.container.own, known); });
    if (!call.hooks || method != DockerMethod::Start) co_return;
    auto asking =
        callContainerHooks(dispatcher_, HookType::PostStartContainer, call.container, deadline);
    co_await asking;
  } else if (method == DockerMethod::Stop) {
    if (call.hooks && call.ofPod) {
      auto asking = callPodHooks(dispatcher_, HookType::PostStopPodSandbox, call.pod,
                                 PodResources::Fixed, deadline);
      co_await asking;
    } else if (call.hooks) {
      auto asking =
          callContainerHooks(dispatcher_, HookType::PostStopContainer, call.container, deadline);
      co_await asking;
    }
    forget(call);
  } else if (method == DockerMethod::Remove) {
    forget(call);
  }
}

void DockerInterceptor::forget(const DockerCall& call) {
  if (!call.ofPod) return store_.eraseContainer(call.target.id);
  if (call.target.method == DockerMethod::Remove) store_.eraseContainersOf(call.target.id);
  store_.erasePod(call.target.id);
}

}  // namespace koord::runtimeproxy
