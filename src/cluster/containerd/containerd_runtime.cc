#include "cluster/containerd/containerd_runtime.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "cluster/containerd/cri_command.h"
#include "cluster/containerd/image_import.h"
#include "cluster/grpc/calls_in_flight.h"
#include "cluster/hostnode/log_files.h"
#include "cri.grpc.pb.h"

namespace koord::cluster {

namespace cri = ::runtime::v1;
using namespace std::chrono_literals;

namespace {

using RuntimeCalls = cri::RuntimeService::StubInterface::async_interface;
using ImageCalls = cri::ImageService::StubInterface::async_interface;

constexpr const char* kCgroupAnnotation = "koordctl.koordinator.sh/cgroup";
constexpr const char* kPodUid = "io.kubernetes.pod.uid";
constexpr const char* kPodName = "io.kubernetes.pod.name";
constexpr const char* kPodNamespace = "io.kubernetes.pod.namespace";
constexpr const char* kContainerName = "io.kubernetes.container.name";
constexpr Duration kCallTimeout = 60s;
constexpr Duration kPullTimeout = 30min;

Error errorOf(const grpc::Status& status, const char* call) {
  ErrorCode code = ErrorCode::Internal;
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) code = ErrorCode::NotFound;
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) code = ErrorCode::Unavailable;
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) code = ErrorCode::Timeout;
  return {code, fmt::format("containerd: {}: {}", call, status.error_message()), {}};
}

std::chrono::system_clock::time_point deadlineIn(Duration time) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

WallTime timeOf(std::int64_t nanos) {
  return WallTime(std::chrono::nanoseconds(nanos));
}

std::string valueIn(const google::protobuf::Map<std::string, std::string>& map, const char* key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : found->second;
}

cri::NamespaceMode pidModeOf(const SandboxOptions& options) {
  return options.hostPid ? cri::NODE : options.sharedPid ? cri::POD : cri::CONTAINER;
}

void setNamespaces(cri::NamespaceOption& namespaces, const SandboxOptions& options) {
  namespaces.set_network(cri::NODE);
  namespaces.set_pid(pidModeOf(options));
  namespaces.set_ipc(options.hostIpc ? cri::NODE : cri::POD);
}

void setUser(cri::LinuxContainerSecurityContext& context, const ContainerUser& user) {
  context.set_privileged(user.privileged);
  context.set_no_new_privs(user.noNewPrivileges);
  if (user.user) context.mutable_run_as_user()->set_value(*user.user);
  // The CRI does not accept a group without a user.
  if (user.group) {
    context.mutable_run_as_user()->set_value(user.user.value_or(0));
    context.mutable_run_as_group()->set_value(*user.group);
  }
  for (const auto group : user.groups) context.add_supplemental_groups(group);
  for (const auto& name : user.addCapabilities)
    context.mutable_capabilities()->add_add_capabilities(name);
  for (const auto& name : user.dropCapabilities)
    context.mutable_capabilities()->add_drop_capabilities(name);
}

void addMount(cri::ContainerConfig& config, const MountSpec& spec) {
  auto* mount = config.add_mounts();
  mount->set_container_path(spec.target);
  mount->set_host_path(spec.source);
  mount->set_readonly(spec.readOnly);
  mount->set_recursive_read_only(spec.recursiveReadOnly);
  mount->set_propagation(static_cast<cri::MountPropagation>(spec.propagation));
}

cri::PodSandboxConfig sandboxConfig(const PodRef& pod, std::uint32_t attempt,
                                    const std::string& logDir, const SandboxOptions& options) {
  cri::PodSandboxConfig config;
  config.mutable_metadata()->set_name(pod.name);
  config.mutable_metadata()->set_uid(pod.uid);
  config.mutable_metadata()->set_namespace_(pod.namespace_);
  config.mutable_metadata()->set_attempt(attempt);
  config.set_log_directory(logDir + "/" + pod.uid);
  config.mutable_labels()->insert(options.labels.begin(), options.labels.end());
  auto& labels = *config.mutable_labels();
  labels[kPodUid] = pod.uid;
  labels[kPodName] = pod.name;
  labels[kPodNamespace] = pod.namespace_;
  config.mutable_annotations()->insert(options.annotations.begin(), options.annotations.end());
  (*config.mutable_annotations())[kCgroupAnnotation] = pod.cgroup;
  auto* linux = config.mutable_linux();
  linux->set_cgroup_parent("/" + pod.cgroup);
  setNamespaces(*linux->mutable_security_context()->mutable_namespace_options(), options);
  linux->mutable_security_context()->set_privileged(options.privileged);
  return config;
}

std::string logFileOf(const std::string& name, int attempt) {
  return fmt::format("{}_{}.log", name, attempt);
}

// The output of a command comes in one message, which may exceed gRPC's default limit.
constexpr int kMaxMessage = 16 << 20;  // kubelet's

// "" if containerd does not say.
std::string imageDirOf(cri::ImageService::Stub& images,
                       std::chrono::system_clock::time_point deadline) {
  grpc::ClientContext context;
  context.set_deadline(deadline);
  cri::ImageFsInfoResponse response;
  const auto status = images.ImageFsInfo(&context, cri::ImageFsInfoRequest(), &response);
  if (!status.ok()) log::v(1, "{}", errorOf(status, "ImageFsInfo").message);
  if (response.image_filesystems().empty()) return {};
  return response.image_filesystems(0).fs_id().mountpoint();
}

std::shared_ptr<grpc::Channel> channelTo(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessage);
  return grpc::CreateCustomChannel("unix://" + socket, grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace

// The stubs and the pending calls.
class ContainerdRuntime::Client {
 public:
  Client(Executor& executor, const std::string& socket)
      : executor_(executor),
        channel_(channelTo(socket)),
        runtimeStub_(cri::RuntimeService::NewStub(channel_)),
        imagesStub_(cri::ImageService::NewStub(channel_)),
        calls_(executor) {}

  template <class Service, class Request, class Response>
  using Method = void (Service::*)(grpc::ClientContext*, const Request*, Response*,
                                   std::function<void(grpc::Status)>);

  template <class Service, class Request, class Response>
  Future<Result<Response>> call(Service& service, const char* name,
                                Method<Service, Request, Response> method, Request request,
                                Duration timeout = kCallTimeout) {
    struct Call {
      grpc::ClientContext context;
      Request request;
      Response response;
    };
    auto [future, completer] = Future<Result<Response>>::make(executor_);
    auto call = std::make_shared<Call>();
    call->request = std::move(request);
    call->context.set_deadline(deadlineIn(timeout));
    calls_.begin(
        std::move(call),
        [&service, method](Call& sent, auto answered) {
          (service.*method)(&sent.context, &sent.request, &sent.response, std::move(answered));
        },
        [completer = completer, name](const grpc::Status& status, Call& ended) {
          if (status.ok()) {
            completer.complete(std::move(ended.response));
          } else {
            completer.complete(fail(errorOf(status, name)));
          }
        });
    return std::move(future);
  }

  RuntimeCalls& runtime() { return *runtimeStub_->async(); }
  ImageCalls& images() { return *imagesStub_->async(); }
  cri::RuntimeService::Stub& blocking() { return *runtimeStub_; }
  cri::ImageService::Stub& blockingImages() { return *imagesStub_; }

 private:
  Executor& executor_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<cri::RuntimeService::Stub> runtimeStub_;
  std::unique_ptr<cri::ImageService::Stub> imagesStub_;
  CallsInFlight calls_;
};

ContainerdRuntime::ContainerdRuntime(Executor& executor, Options options,
                                     std::shared_ptr<Client> client, std::string version,
                                     std::string imageDir)
    : executor_(executor),
      options_(std::move(options)),
      client_(std::move(client)),
      version_(std::move(version)),
      imageDir_(std::move(imageDir)),
      io_(executor) {}

ContainerdRuntime::~ContainerdRuntime() = default;

Result<std::unique_ptr<ContainerdRuntime>> ContainerdRuntime::connect(Executor& executor,
                                                                      Options options,
                                                                      Duration patience) {
  auto client = std::make_shared<Client>(executor, options.socket);
  grpc::ClientContext context;
  const auto deadline = deadlineIn(patience);
  context.set_deadline(deadline);
  context.set_wait_for_ready(true);
  cri::VersionRequest request;
  cri::VersionResponse response;
  const auto status = client->blocking().Version(&context, request, &response);
  if (!status.ok()) return fail(errorOf(status, "Version").within(options.socket));
  std::string version = fmt::format("{}://{}", response.runtime_name(), response.runtime_version());
  std::string imageDir = imageDirOf(client->blockingImages(), deadline);
  return std::unique_ptr<ContainerdRuntime>(new ContainerdRuntime(
      executor, std::move(options), std::move(client), std::move(version), std::move(imageDir)));
}

Task<Result<std::vector<ContainerdRuntime::Sandbox>>> ContainerdRuntime::sandboxes() {
  cri::ListPodSandboxRequest request;
  auto listing = client_->call(client_->runtime(), "ListPodSandbox", &RuntimeCalls::ListPodSandbox,
                               std::move(request));
  auto listed = co_await listing;
  if (!listed) co_return fail(std::move(listed.error()));
  std::vector<Sandbox> found;
  for (const auto& item : listed->items()) {
    const auto& metadata = item.metadata();
    found.push_back({item.id(),
                     {metadata.uid(), metadata.namespace_(), metadata.name(),
                      valueIn(item.annotations(), kCgroupAnnotation)},
                     metadata.attempt(),
                     item.state() == cri::SANDBOX_READY});
  }
  // Ignores sandboxes of other clients of the same containerd.
  std::erase_if(found, [](const Sandbox& sandbox) { return sandbox.pod.cgroup.empty(); });
  co_return found;
}

Task<Result<>> ContainerdRuntime::preparePod(PodRef pod, SandboxOptions options) {
  auto listing = sandboxes();
  auto known = co_await listing;
  if (!known) co_return fail(std::move(known.error()));
  // A sandbox that has ended keeps its name until it is removed, so the next one gets another
  // number.
  std::uint32_t attempt = 0;
  for (const auto& sandbox : *known) {
    if (sandbox.pod.uid != pod.uid) continue;
    if (sandbox.ready) co_return Result<>{};
    attempt = std::max(attempt, sandbox.attempt + 1);
  }
  const std::string logs = options_.logDir + "/" + pod.uid;
  if (auto made = makeDirs(logs); !made) co_return made;
  cri::RunPodSandboxRequest request;
  *request.mutable_config() = sandboxConfig(pod, attempt, options_.logDir, options);
  auto running = client_->call(client_->runtime(), "RunPodSandbox", &RuntimeCalls::RunPodSandbox,
                               std::move(request));
  auto run = co_await running;
  if (!run) co_return fail(std::move(run.error()));
  co_return Result<>{};
}

Task<Result<std::optional<ImageInfo>>> ContainerdRuntime::image(std::string name) {
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image(name);
  auto asking =
      client_->call(client_->images(), "ImageStatus", &ImageCalls::ImageStatus, std::move(request));
  auto answer = co_await asking;
  if (!answer) co_return fail(std::move(answer.error()));
  if (!answer->has_image()) co_return std::nullopt;
  const auto& found = answer->image();
  const auto loaded = importedImages(options_.loadedImages);
  ImageInfo info;
  info.local = std::ranges::any_of(found.repo_tags(),
                                   [&](const std::string& tag) { return loaded.contains(tag); });
  info.userName = found.username();
  info.runsAsRoot = found.username().empty() && (!found.has_uid() || found.uid().value() == 0);
  co_return info;
}

Task<Result<>> ContainerdRuntime::pullImage(std::string name,
                                            std::vector<ImageCredentials> credentials) {
  if (credentials.empty()) credentials.emplace_back();
  Error last;
  for (const auto& user : credentials) {
    cri::PullImageRequest request;
    request.mutable_image()->set_image(name);
    if (!user.user.empty()) {
      request.mutable_auth()->set_username(user.user);
      request.mutable_auth()->set_password(user.password);
    }
    auto pulling = client_->call(client_->images(), "PullImage", &ImageCalls::PullImage,
                                 std::move(request), kPullTimeout);
    auto pulled = co_await pulling;
    if (pulled) co_return Result<>{};
    last = std::move(pulled.error());
  }
  co_return fail(std::move(last));
}

Task<Result<std::string>> ContainerdRuntime::startContainer(ContainerConfig config) {
  auto listing = sandboxes();
  auto known = co_await listing;
  if (!known) co_return fail(std::move(known.error()));
  const auto sandbox = std::ranges::find_if(*known, [&](const Sandbox& candidate) {
    return candidate.pod.uid == config.pod.uid && candidate.ready;
  });
  if (sandbox == known->end())
    co_return fail(ErrorCode::NotFound, fmt::format("pod {} has no sandbox", config.pod.uid));
  ++starting_;
  auto running = createAndStart(std::move(config), *sandbox);
  auto id = co_await running;
  --starting_;
  co_return id;
}

Task<Result<std::string>> ContainerdRuntime::createAndStart(ContainerConfig config,
                                                            Sandbox sandbox) {
  auto creating = createContainer(std::move(config), std::move(sandbox));
  auto id = co_await creating;
  if (!id) co_return id;
  cri::StartContainerRequest request;
  request.set_container_id(*id);
  auto starting = client_->call(client_->runtime(), "StartContainer", &RuntimeCalls::StartContainer,
                                std::move(request));
  auto started = co_await starting;
  // A command that cannot run leaves the container as exited with StartError, which list() shows.
  if (!started && started.error().code != ErrorCode::Internal &&
      started.error().code != ErrorCode::NotFound)
    co_return fail(std::move(started.error()));
  if (!started) log::v(1, "{}", started.error().message);
  co_return id;
}

Task<Result<std::string>> ContainerdRuntime::createContainer(ContainerConfig config,
                                                             Sandbox sandbox) {
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(sandbox.id);
  *request.mutable_sandbox_config() =
      sandboxConfig(config.pod, sandbox.attempt, options_.logDir, config.sandbox);
  auto* container = request.mutable_config();
  container->mutable_metadata()->set_name(config.name);
  container->mutable_metadata()->set_attempt(static_cast<std::uint32_t>(config.attempt));
  container->mutable_image()->set_image(config.image);
  for (const auto& word : config.command) container->add_command(word);
  for (const auto& word : config.args) container->add_args(word);
  container->set_working_dir(config.workingDir);
  for (const auto& variable : config.env) {
    const auto equals = variable.find('=');
    auto* entry = container->add_envs();
    entry->set_key(variable.substr(0, equals));
    entry->set_value(variable.substr(equals + 1));
  }
  auto& labels = *container->mutable_labels();
  labels[kPodUid] = config.pod.uid;
  labels[kPodName] = config.pod.name;
  labels[kPodNamespace] = config.pod.namespace_;
  labels[kContainerName] = config.name;
  (*container->mutable_annotations())[kCgroupAnnotation] = config.pod.cgroup;
  container->set_log_path(logFileOf(config.name, config.attempt));
  auto* resources = container->mutable_linux()->mutable_resources();
  const auto& values = config.values;
  if (values.cpuShares) resources->set_cpu_shares(*values.cpuShares);
  if (values.cpuQuotaUs) {
    resources->set_cpu_period(values.cpuPeriodUs);
    resources->set_cpu_quota(*values.cpuQuotaUs);
  }
  if (values.memoryLimitBytes) resources->set_memory_limit_in_bytes(*values.memoryLimitBytes);
  auto* context = container->mutable_linux()->mutable_security_context();
  setNamespaces(*context->mutable_namespace_options(), config.sandbox);
  if (!config.pidsOf.empty() && !config.sandbox.hostPid && !config.sandbox.sharedPid) {
    context->mutable_namespace_options()->set_pid(cri::TARGET);
    context->mutable_namespace_options()->set_target_id(config.pidsOf);
  }
  setUser(*context, config.user);
  context->set_readonly_rootfs(config.readOnlyRoot);
  container->set_stdin(config.openStdin);
  container->set_stdin_once(config.stdinOnce);
  container->set_tty(config.terminal);
  for (const auto& mount : config.mounts) addMount(*container, mount);
  auto creating = client_->call(client_->runtime(), "CreateContainer",
                                &RuntimeCalls::CreateContainer, std::move(request));
  auto created = co_await creating;
  if (!created) co_return fail(std::move(created.error()));
  co_return created->container_id();
}

Task<Result<>> ContainerdRuntime::stopContainer(std::string id, Duration grace) {
  cri::StopContainerRequest request;
  request.set_container_id(id);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(grace);
  request.set_timeout(seconds.count());
  const Duration timeout = seconds + kCallTimeout;
  auto stopping = client_->call(client_->runtime(), "StopContainer", &RuntimeCalls::StopContainer,
                                std::move(request), timeout);
  auto stopped = co_await stopping;
  if (stopped || stopped.error().code == ErrorCode::NotFound) co_return Result<>{};
  co_return fail(std::move(stopped.error()));
}

Task<Result<ExecResult>> ContainerdRuntime::exec(std::string id, std::vector<std::string> command,
                                                 Duration timeout) {
  cri::ExecSyncRequest request;
  request.set_container_id(id);
  for (const auto& word : command) request.add_cmd(word);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout);
  request.set_timeout(seconds.count());
  auto running = client_->call(client_->runtime(), "ExecSync", &RuntimeCalls::ExecSync,
                               std::move(request), seconds + kCallTimeout);
  auto run = co_await running;
  if (!run && run.error().code == ErrorCode::Timeout)
    co_return fail(ErrorCode::Timeout,
                   fmt::format("command timed out: \"{}\" timed out after {}",
                               fmt::join(command, " "), formatDuration(seconds)));
  if (!run) co_return fail(std::move(run.error()));
  co_return ExecResult{run->exit_code(), run->stdout() + run->stderr()};
}

Task<Result<std::shared_ptr<StreamedCommand>>> ContainerdRuntime::openCommand(
    std::string id, std::vector<std::string> command, CommandStreams streams) {
  cri::ExecRequest request;
  request.set_container_id(id);
  for (const auto& word : command) request.add_cmd(word);
  request.set_tty(streams.terminal);
  request.set_stdin(streams.in);
  request.set_stdout(streams.out);
  request.set_stderr(streams.err);
  auto asking = client_->call(client_->runtime(), "Exec", &RuntimeCalls::Exec, std::move(request));
  auto answer = co_await asking;
  if (!answer) co_return fail(std::move(answer.error()));
  auto opening = openCriCommand(executor_, io_, answer->url(), streams);
  co_return co_await opening;
}

Task<Result<std::shared_ptr<StreamedCommand>>> ContainerdRuntime::attach(std::string id,
                                                                         CommandStreams streams) {
  cri::AttachRequest request;
  request.set_container_id(id);
  request.set_tty(streams.terminal);
  request.set_stdin(streams.in);
  request.set_stdout(streams.out);
  request.set_stderr(streams.err);
  auto asking =
      client_->call(client_->runtime(), "Attach", &RuntimeCalls::Attach, std::move(request));
  auto answer = co_await asking;
  if (!answer) co_return fail(std::move(answer.error()));
  auto opening = openCriCommand(executor_, io_, answer->url(), streams);
  co_return co_await opening;
}

Task<Result<>> ContainerdRuntime::removeContainer(std::string id) {
  cri::RemoveContainerRequest request;
  request.set_container_id(id);
  auto removing = client_->call(client_->runtime(), "RemoveContainer",
                                &RuntimeCalls::RemoveContainer, std::move(request));
  auto removed = co_await removing;
  if (!removed && removed.error().code != ErrorCode::NotFound)
    co_return fail(std::move(removed.error()));
  // containerd leaves the log to the client that named it.
  if (const auto known = exited_.find(id); known != exited_.end()) removeLog(known->second.logPath);
  exited_.erase(id);
  co_return Result<>{};
}

// As kubelet: containerd continues to write to the rotated file until it is asked to reopen the
// log. If this program ended between the two, the log is reopened now.
Task<Result<>> ContainerdRuntime::rotate(std::string id, std::string log) {
  const auto size = fileSize(log);
  if (size >= 0 && size < LogLimits().bytes) co_return Result<>{};
  if (size >= 0)
    if (auto rotated = rotateLog(log); !rotated) co_return rotated;
  cri::ReopenContainerLogRequest request;
  request.set_container_id(std::move(id));
  auto opening = client_->call(client_->runtime(), "ReopenContainerLog",
                               &RuntimeCalls::ReopenContainerLog, std::move(request));
  auto opened = co_await opening;
  if (!opened) co_return fail(std::move(opened.error()));
  co_return Result<>{};
}

Task<Result<>> ContainerdRuntime::stopSandbox(std::string id) {
  cri::StopPodSandboxRequest stop;
  stop.set_pod_sandbox_id(id);
  auto stopping = client_->call(client_->runtime(), "StopPodSandbox", &RuntimeCalls::StopPodSandbox,
                                std::move(stop));
  auto stopped = co_await stopping;
  if (!stopped && stopped.error().code != ErrorCode::NotFound)
    co_return fail(std::move(stopped.error()));
  co_return Result<>{};
}

Task<Result<>> ContainerdRuntime::releasePod(PodRef pod) {
  auto listing = sandboxes();
  auto known = co_await listing;
  if (!known) co_return fail(std::move(known.error()));
  for (const auto& sandbox : *known) {
    if (sandbox.pod.uid != pod.uid || !sandbox.ready) continue;
    auto stopping = stopSandbox(sandbox.id);
    auto stopped = co_await stopping;
    if (!stopped) co_return stopped;
  }
  co_return Result<>{};
}

Task<Result<>> ContainerdRuntime::removePod(PodRef pod) {
  auto listing = sandboxes();
  auto known = co_await listing;
  if (!known) co_return fail(std::move(known.error()));
  for (const auto& sandbox : *known) {
    if (sandbox.pod.uid != pod.uid) continue;
    auto stopping = stopSandbox(sandbox.id);
    auto stopped = co_await stopping;
    if (!stopped) co_return stopped;
    cri::RemovePodSandboxRequest remove;
    remove.set_pod_sandbox_id(sandbox.id);
    auto removing = client_->call(client_->runtime(), "RemovePodSandbox",
                                  &RuntimeCalls::RemovePodSandbox, std::move(remove));
    auto removed = co_await removing;
    if (!removed && removed.error().code != ErrorCode::NotFound)
      co_return fail(std::move(removed.error()));
  }
  std::error_code ignored;
  std::filesystem::remove_all(options_.logDir + "/" + pod.uid, ignored);
  co_return Result<>{};
}

Task<void> ContainerdRuntime::rotateLogs(const std::vector<RuntimeContainer>* containers) {
  for (const auto& container : *containers) {
    if (container.phase != RuntimeContainer::Phase::Running || container.logPath.empty()) continue;
    auto rotating = rotate(container.id, container.logPath);
    const auto rotated = co_await rotating;
    if (!rotated) log::warn("log of container {}: {}", container.name, rotated.error().message);
  }
}

Task<Result<std::vector<RuntimeContainer>>> ContainerdRuntime::list() {
  using Phase = RuntimeContainer::Phase;
  cri::ListContainersRequest request;
  auto listing = client_->call(client_->runtime(), "ListContainers", &RuntimeCalls::ListContainers,
                               std::move(request));
  auto listed = co_await listing;
  if (!listed) co_return fail(std::move(listed.error()));
  std::vector<RuntimeContainer> containers;
  for (const auto& item : listed->containers()) {
    const std::string cgroup = valueIn(item.annotations(), kCgroupAnnotation);
    if (cgroup.empty()) continue;
    if (const auto known = exited_.find(item.id()); known != exited_.end()) {
      containers.push_back(known->second);
      continue;
    }
    cri::ContainerStatusRequest statusRequest;
    statusRequest.set_container_id(item.id());
    auto asking = client_->call(client_->runtime(), "ContainerStatus",
                                &RuntimeCalls::ContainerStatus, std::move(statusRequest));
    auto answer = co_await asking;
    if (!answer) {
      if (answer.error().code == ErrorCode::NotFound) continue;
      co_return fail(std::move(answer.error()));
    }
    const auto& status = answer->status();
    RuntimeContainer container;
    container.id = item.id();
    container.pod = {valueIn(item.labels(), kPodUid), valueIn(item.labels(), kPodNamespace),
                     valueIn(item.labels(), kPodName), cgroup};
    container.name = item.metadata().name();
    container.attempt = static_cast<int>(item.metadata().attempt());
    container.startedAt = timeOf(status.started_at());
    container.logPath = status.log_path();
    if (status.state() == cri::CONTAINER_RUNNING) container.phase = Phase::Running;
    // Created but never started: left by a crash between the two.
    const bool abandoned = status.state() == cri::CONTAINER_CREATED && starting_ == 0;
    if (abandoned) {
      container.phase = Phase::Exited;
      container.exitCode = 128;
      container.reason = "StartError";
      container.startedAt = container.finishedAt = executor_.wallNow();
    }
    if (status.state() == cri::CONTAINER_EXITED || status.state() == cri::CONTAINER_UNKNOWN) {
      container.phase = Phase::Exited;
      container.finishedAt = timeOf(status.finished_at());
      if (status.started_at() == 0) container.startedAt = container.finishedAt;
      container.exitCode = status.exit_code();
      container.signal = status.exit_code() > 128 ? status.exit_code() - 128 : 0;
      container.reason = status.reason();
      container.message = status.message();
      exited_[container.id] = container;
    }
    containers.push_back(std::move(container));
  }
  auto rotating = rotateLogs(&containers);
  co_await rotating;
  co_return containers;
}

}  // namespace koord::cluster
