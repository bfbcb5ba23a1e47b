#include "runtimeproxy/runtime_view.h"

#include <fmt/format.h>

#include <limits>

#include "base/json.h"
#include "runtime_cri.pb.h"
#include "runtimeproxy/cri_method.h"

namespace koord::runtimeproxy {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);

const json::value* at(const json::value& from, std::initializer_list<const char*> path) {
  const json::value* value = &from;
  for (const char* name : path)
    if (!value->is_object() || !(value = value->get_object().if_contains(name))) return nullptr;
  return value;
}

std::int64_t numberAt(const json::value& from, std::initializer_list<const char*> path) {
  const auto* value = at(from, path);
  if (!value) return 0;
  if (value->is_int64()) return value->get_int64();
  // Some runtimes write "unlimited" as -1 converted to an unsigned number.
  if (value->is_uint64())
    return value->get_uint64() > std::numeric_limits<std::int64_t>::max()
               ? -1
               : static_cast<std::int64_t>(value->get_uint64());
  return 0;
}

std::string textAt(const json::value& from, std::initializer_list<const char*> path) {
  const auto* value = at(from, path);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

// The pod's part of "/kubepods/besteffort/pod1/<container>" or
// "kubepods-besteffort-pod1.slice:cri:<id>".
std::string parentOf(const std::string& cgroupsPath) {
  if (const auto colon = cgroupsPath.find(':'); colon != std::string::npos)
    return cgroupsPath.substr(0, colon);
  const auto slash = cgroupsPath.rfind('/');
  return slash == std::string::npos ? "" : cgroupsPath.substr(0, slash);
}

template <class Message>
Result<Message> decoded(const net::GrpcReply& reply, const char* method) {
  if (!reply) return fail(net::errorOf(reply.error()).within(method));
  Message message;
  if (!message.ParseFromString(*reply))
    return fail(ErrorCode::Internal,
                fmt::format("{}: the runtime's response is not a message of runtime.v1", method));
  return message;
}

runtimehook::PodSandboxMetadata metaOf(const cri::PodSandboxMetadata& from) {
  runtimehook::PodSandboxMetadata meta;
  meta.set_name(from.name());
  meta.set_uid(from.uid());
  meta.set_namespace_(from.namespace_());
  meta.set_attempt(from.attempt());
  return meta;
}

// The record of a pod from an item of a list or a status.
template <class Item>
std::shared_ptr<PodRecord> recordOf(const Item& item) {
  auto record = std::make_shared<PodRecord>();
  *record->info.mutable_pod_meta() = metaOf(item.metadata());
  record->info.set_runtime_handler(item.runtime_handler());
  *record->info.mutable_labels() = item.labels();
  *record->info.mutable_annotations() = item.annotations();
  return record;
}

}  // namespace

void readRuntimeSpec(std::string_view info, runtimehook::ContainerResourceHookRequest& container) {
  const auto document = parseJson(info);
  const auto* spec = document ? at(*document, {"runtimeSpec"}) : nullptr;
  if (!spec) return;
  if (container.pod_cgroup_parent().empty())
    container.set_pod_cgroup_parent(parentOf(textAt(*spec, {"linux", "cgroupsPath"})));
  if (!container.has_container_resources()) {
    auto& resources = *container.mutable_container_resources();
    resources.set_cpu_period(numberAt(*spec, {"linux", "resources", "cpu", "period"}));
    resources.set_cpu_quota(numberAt(*spec, {"linux", "resources", "cpu", "quota"}));
    resources.set_cpu_shares(numberAt(*spec, {"linux", "resources", "cpu", "shares"}));
    resources.set_cpuset_cpus(textAt(*spec, {"linux", "resources", "cpu", "cpus"}));
    resources.set_cpuset_mems(textAt(*spec, {"linux", "resources", "cpu", "mems"}));
    resources.set_memory_limit_in_bytes(numberAt(*spec, {"linux", "resources", "memory", "limit"}));
    resources.set_oom_score_adj(numberAt(*spec, {"process", "oomScoreAdj"}));
    if (const auto* unified = at(*spec, {"linux", "resources", "unified"});
        unified && unified->is_object())
      for (const auto& entry : unified->get_object())
        if (entry.value().is_string())
          (*resources.mutable_unified())[std::string(entry.key())] = entry.value().get_string();
  }
  const auto* env = at(*spec, {"process", "env"});
  if (!env || !env->is_array()) return;
  for (const auto& variable : env->get_array()) {
    if (!variable.is_string()) continue;
    const std::string_view text = variable.get_string();
    if (const auto equals = text.find('='); equals != text.npos)
      (*container.mutable_container_envs())[std::string(text.substr(0, equals))] =
          text.substr(equals + 1);
  }
}

std::string cgroupParentIn(std::string_view info) {
  const auto document = parseJson(info);
  if (!document) return "";
  if (auto parent = textAt(*document, {"config", "linux", "cgroup_parent"}); !parent.empty())
    return parent;
  return parentOf(textAt(*document, {"runtimeSpec", "linux", "cgroupsPath"}));
}

Future<net::GrpcReply> RuntimeView::call(const char* method, std::string message) {
  return caller_.call(socket_, std::string(kRuntimeService) + method, std::move(message),
                      kPatience);
}

Task<Result<std::string>> RuntimeView::version() {
  auto asking = call("Version", "");
  const net::GrpcReply reply = co_await asking;
  const auto version = decoded<cri::VersionResponse>(reply, "Version");
  if (!version) co_return fail(version.error());
  co_return version->runtime_name() + " " + version->runtime_version();
}

Task<Result<>> RuntimeView::listInto(Store& store) {
  auto askingPods = call("ListPodSandbox", "");
  const net::GrpcReply podsReply = co_await askingPods;
  const auto pods = decoded<cri::ListPodSandboxResponse>(podsReply, "ListPodSandbox");
  if (!pods) co_return fail(pods.error());
  auto askingContainers = call("ListContainers", "");
  const net::GrpcReply containersReply = co_await askingContainers;
  const auto containers = decoded<cri::ListContainersResponse>(containersReply, "ListContainers");
  if (!containers) co_return fail(containers.error());
  for (const auto& item : pods->items()) {
    auto record = recordOf(item);
    record->complete = false;
    store.put(item.id(), PodPtr(std::move(record)));
  }
  for (const auto& item : containers->containers()) {
    auto record = std::make_shared<ContainerRecord>();
    record->podId = item.pod_sandbox_id();
    record->pod = store.pod(item.pod_sandbox_id());
    record->complete = false;
    store.put(item.id(), ContainerPtr(std::move(record)));
  }
  co_return Result<>{};
}

Task<Result<PodPtr>> RuntimeView::pod(std::string id) {
  cri::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(id);
  request.set_verbose(true);
  auto asking = call("PodSandboxStatus", request.SerializeAsString());
  const net::GrpcReply reply = co_await asking;
  const auto answer = decoded<cri::PodSandboxStatusResponse>(reply, "PodSandboxStatus");
  if (!answer) co_return fail(answer.error());
  auto record = recordOf(answer->status());
  if (const auto info = answer->info().find("info"); info != answer->info().end())
    record->info.set_cgroup_parent(cgroupParentIn(info->second));
  co_return PodPtr(std::move(record));
}

Task<Result<ContainerPtr>> RuntimeView::container(std::string id, const Store& store) {
  cri::ContainerStatusRequest request;
  request.set_container_id(id);
  request.set_verbose(true);
  auto asking = call("ContainerStatus", request.SerializeAsString());
  const net::GrpcReply reply = co_await asking;
  const auto answer = decoded<cri::ContainerStatusResponse>(reply, "ContainerStatus");
  if (!answer) co_return fail(answer.error());
  auto record = std::make_shared<ContainerRecord>();
  const auto& status = answer->status();
  record->own.mutable_container_meta()->set_name(status.metadata().name());
  record->own.mutable_container_meta()->set_attempt(status.metadata().attempt());
  record->own.mutable_container_meta()->set_id(id);
  *record->own.mutable_container_annotations() = status.annotations();
  if (status.resources().has_linux())
    *record->own.mutable_container_resources() = status.resources().linux();
  if (const auto info = answer->info().find("info"); info != answer->info().end()) {
    readRuntimeSpec(info->second, record->own);
    if (const auto document = parseJson(info->second))
      record->podId = textAt(*document, {"sandboxID"});
  }
  // A status does not have the sandbox id; a list has, and so the store may have it.
  if (const auto known = store.container(id); known && record->podId.empty())
    record->podId = known->podId;
  record->pod = store.pod(record->podId);
  if ((!record->pod || !record->pod->complete) && !record->podId.empty()) {
    auto askingPod = pod(record->podId);
    auto sandbox = co_await askingPod;
    if (sandbox) record->pod = *std::move(sandbox);
  }
  co_return ContainerPtr(std::move(record));
}

}  // namespace koord::runtimeproxy
