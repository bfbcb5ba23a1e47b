#include "cluster/up/host.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "base/log.h"
#include "cluster/containerd/containerd_daemon.h"
#include "cluster/containerd/containerd_runtime.h"
#include "cluster/containerd/image_import.h"
#include "cluster/containerd/shims.h"
#include "cluster/hostnode/process_runtime.h"

namespace koord::cluster {

namespace {
constexpr Duration kContainerdPatience = std::chrono::seconds(20);
constexpr Duration kDaemonGrace = std::chrono::seconds(3);
constexpr Duration kShimGrace = std::chrono::seconds(3);
// The root of the host's containerd, if it does not name the folder of its images.
constexpr const char* kContainerdRoot = "/var/lib/containerd";

// A free port of the address.
std::string listenAt(const std::string& address) {
  return (address.find(':') == std::string::npos ? address : "[" + address + "]") + ":0";
}

}  // namespace

Result<std::unique_ptr<Host>> Host::open(kube::Api& api, Executor& executor, Random random,
                                         HostOptions options) {
  auto thresholds = parseEvictionHard(options.runtime.evictionHard);
  if (!thresholds) return fail(std::move(thresholds.error()).within("--eviction-hard"));
  RealCgroupFs fs;
  auto layout = checkHostNode(fs);
  if (!layout) return fail(std::move(layout.error()));
  auto lock = HostNodeLock::take();
  if (!lock) return fail(std::move(lock.error()));
  auto host = std::unique_ptr<Host>(new Host(executor, *std::move(lock)));
  host->machine_ = readMachine(options.dataDir);
  if (!options.nodeName.empty()) host->machine_.hostname = options.nodeName;
  host->cgroups_ = std::make_unique<Cgroups>(*std::move(layout), host->fs_);
  // A koordctl that was killed while its cluster was paused has left the pods frozen.
  if (auto thawed = host->thaw(); !thawed) return fail(std::move(thawed.error()));
  if (auto opened = host->openRuntime(executor, options); !opened)
    return fail(std::move(opened.error()));

  auto server =
      KubeletServer::start(executor, {.listen = listenAt(options.address),
                                      .tls = options.tls,
                                      .access = accessThroughApi(api, host->machine_.hostname)});
  if (!server) return fail(std::move(server.error()));
  host->server_ = *std::move(server);

  HostNodeOptions node;
  node.node.name = host->machine_.hostname;
  node.node.ip = options.address;
  node.node.kubeletPort = host->server_->port();
  node.node.capacity = capacityOf(host->machine_);
  node.node.allocatable = allocatableOf(host->machine_, *thresholds);
  node.node.info = host->machine_.info;
  node.node.info.kubeletVersion = "v1.28.0+koordctl";
  node.node.info.kubeProxyVersion = node.node.info.kubeletVersion;
  node.node.info.containerRuntimeVersion = host->runtime_->version();
  node.podsDir = options.dataDir + "/pods";
  node.evictionHard = *std::move(thresholds);
  host->grpcHealth_ = std::make_unique<GrpcHealth>(executor);
  HostNodeServices services{host->volumesThread_.loop(), options.http,
                            [health = host->grpcHealth_.get()](
                                std::string address, std::string service, Duration timeout) {
                              return health->ask(std::move(address), std::move(service), timeout);
                            }};
  services.readSignals = [data = options.dataDir, images = host->imageDir_] {
    return readSignals(data, images);
  };
  host->node_ = std::make_unique<HostNode>(api, executor, *host->runtime_, *host->cgroups_, random,
                                           std::move(node), std::move(services));
  host->streams_ = std::make_unique<StreamServer>(executor, *host->runtime_, *host->node_);
  host->server_->serve(*host->node_);
  return host;
}

Result<> Host::openRuntime(Executor& executor, const HostOptions& options) {
  const bool automatic = options.runtime.kind == "auto";
  std::string why;
  if (automatic && options.runtime.containerdSocket.empty()) why = missingForContainerd();
  if (automatic && why.empty()) {
    auto opened = openContainerd(executor, options);
    if (opened) return loadImages(options);
    why = opened.error().message;
    closeContainerd();
  }
  if (automatic) {
    note_ = "--runtime=auto: the host node uses the runtime process, because " + why;
    if (!options.runtime.images.empty()) note_ += "; --images has no effect";
  }
  if (options.runtime.kind == "containerd") {
    auto opened = openContainerd(executor, options);
    if (!opened) return fail(ErrorCode::Invalid, "--runtime=containerd: " + opened.error().message);
    return loadImages(options);
  }
  runtime_ = std::make_unique<ProcessRuntime>(
      executor, *cgroups_,
      ProcessRuntime::Options{options.dataDir + "/containers", {options.program, "shim"}});
  return {};
}

Result<> Host::openContainerd(Executor& executor, const HostOptions& options) {
  std::string socket = options.runtime.containerdSocket;
  std::optional<ContainerdDaemon> own;
  daemon_ = std::make_unique<Supervisor>(executor, [](const std::string&) {});
  if (socket.empty()) {
    auto prepared = prepareContainerd(options.dataDir);
    if (!prepared) return fail(std::move(prepared.error()));
    own = *std::move(prepared);
    socket = ownContainerd_ = own->socket;
    daemon_->start({"containerd", own->argv(), {}, options.dataDir + "/logs/containerd.log"});
  }
  containerdSocket_ = socket;
  if (options.runtime.proxy) {
    auto proxy = startProxy(options, socket);
    if (!proxy) return fail(std::move(proxy.error()));
    socket = *std::move(proxy);
  }
  auto connected = ContainerdRuntime::connect(
      executor, {socket, options.dataDir + "/containers", loadedImagesFile(options.dataDir)},
      kContainerdPatience);
  if (!connected) return fail(std::move(connected.error()));
  imageDir_ = (*connected)->imageDir();
  const std::string fallback = own ? options.dataDir : kContainerdRoot;
  if (!imageDir_.empty() && !hasReadableDisk(imageDir_)) {
    // containerd may run in another mount namespace.
    log::warn("containerd's image folder {} cannot be read; the disk of {} is reported as imagefs",
              imageDir_, fallback);
    imageDir_.clear();
  }
  if (imageDir_.empty()) imageDir_ = fallback;
  runtime_ = *std::move(connected);
  const std::string names = loadedImagesFile(options.dataDir);
  if (own)
    if (auto imported = importBusybox(*own, names); !imported) return imported;
  return {};
}

// Of a containerd that cannot be used.
void Host::closeContainerd() {
  runtime_.reset();
  daemon_.reset();
  containerdSocket_ = ownContainerd_ = imageDir_ = "";
}

Result<> Host::loadImages(const HostOptions& options) const {
  if (options.runtime.images.empty()) return {};
  const auto loaded =
      importImages({containerdSocket_, loadedImagesFile(options.dataDir)}, options.runtime.images);
  if (!loaded) return fail(ErrorCode::Invalid, "--images: " + loaded.error().message);
  return {};
}

// Starts the proxy; its socket replaces the runtime's.
Result<std::string> Host::startProxy(const HostOptions& options, const std::string& runtime) {
  const auto program =
      std::filesystem::path(options.program).replace_filename("koord-runtime-proxy");
  if (::access(program.c_str(), X_OK) != 0)
    return fail(errnoError("--runtime-proxy: " + program.string(), errno));
  const RuntimeProxyPaths paths(options.dataDir);
  daemon_->start({"koord-runtime-proxy",
                  {program, "--koord-runtimeproxy-endpoint=" + paths.socket,
                   "--remote-runtime-service-endpoint=" + runtime,
                   "--hook-server-config-dir=" + paths.hookFolder},
                  {},
                  options.dataDir + "/logs/koord-runtime-proxy.log"});
  return paths.socket;
}

Task<void> Host::shutdown(Duration grace) {
  auto leaving = node_->shutdown(grace);
  co_await leaving;
  if (!daemon_) co_return;
  auto stopping = daemon_->stopAll(kDaemonGrace);
  co_await stopping;
  if (ownContainerd_.empty()) co_return;
  auto ending = awaitShims(executor_, ownContainerd_, kShimGrace);
  co_await ending;
}

}  // namespace koord::cluster
