#include "cluster/hostnode/volumes/pod_volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "cluster/hostnode/mounts/mount_table.h"
#include "cluster/hostnode/volumes/object_watches.h"
#include "cluster/hostnode/volumes/on_worker.h"
#include "cluster/hostnode/volumes/payload.h"
#include "cluster/services/dns/resolver_config.h"
#include "kube/client.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr api::ResourceType kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount", true};
constexpr api::ResourceType kClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
                                    true};
constexpr api::ResourceType kVolumes{"", "v1", "persistentvolumes", "PersistentVolume", false};
// As kubelet: at four fifths of its life, and at least once a day.
constexpr Duration kLongestTokenUse = 24h;
constexpr Duration kShortestTokenUse = 10s;  // also if the server's clock differs

bool isMounted(const HostPod& pod, const std::string& volume) {
  for (const auto* list :
       {&pod.details.containers, &pod.details.initContainers, &pod.details.ephemeralContainers})
    for (const auto& container : *list) {
      if (std::ranges::find(container.volumeMounts, volume, &spec::VolumeMount::name) !=
              container.volumeMounts.end() ||
          std::ranges::find(container.volumeDevices, volume, &spec::VolumeDevice::name) !=
              container.volumeDevices.end())
        return true;
    }
  return false;
}

Error setUpFailed(const std::string& volume, Error error) {
  error.message =
      fmt::format("MountVolume.SetUp failed for volume \"{}\" : {}", volume, error.message);
  return error;
}

std::unexpected<Error> notProcessed(const std::string& volume, const std::string& why) {
  return fail(ErrorCode::Invalid,
              fmt::format("Unable to attach or mount volumes: unmounted volumes=[{0}], unattached "
                          "volumes=[], failed to process volumes=[{0}]: {1}",
                          volume, why));
}

// The server does not support tokens. A missing service account or pod is another error, as is
// every temporary one.
bool tokensUnsupported(const Error& error) {
  const auto says = [&](std::string_view words) {
    return error.message.find(words) != std::string::npos;
  };
  if (error.code == ErrorCode::MethodNotAllowed) return true;
  if (error.code == ErrorCode::NotFound)
    return says("could not find the requested resource") || says(": HTTP status 404");
  return error.code == ErrorCode::Internal && says(": HTTP status 501");
}

bool ownedBy(const json::value& object, const std::string& uid) {
  const auto* owners = at(object, "metadata", "ownerReferences");
  if (!owners || !owners->is_array()) return false;
  return std::ranges::any_of(owners->get_array(),
                             [&](const json::value& owner) { return textAt(owner, "uid") == uid; });
}

Propagation propagationOf(const spec::VolumeMount& mount) {
  if (mount.mountPropagation == "HostToContainer") return Propagation::HostToContainer;
  if (mount.mountPropagation == "Bidirectional") return Propagation::Bidirectional;
  return Propagation::None;
}

}  // namespace

PodVolumes::PodVolumes(kube::Api& api, Executor& executor, Executor& worker, Random random,
                       Options options, Listener listener)
    : api_(api),
      executor_(executor),
      worker_(worker),
      options_(std::move(options)),
      listener_(std::move(listener)),
      watches_(std::make_unique<ObjectWatches>(
          api, executor, random, [this](const std::string& uid) { listener_.changed(uid); })) {}

PodVolumes::~PodVolumes() = default;

Task<Result<ReferencedObjects>> PodVolumes::objectsOf(HostPodPtr pod, ReferencedNames names) {
  ReferencedObjects objects;
  for (const auto& name : names.configMaps) {
    if (objects.configMaps.contains(name)) continue;
    auto getting = kube::get<api::ConfigMap>(api_, {pod->metadata.namespace_, name});
    auto got = co_await getting;
    if (!got && got.error().code != ErrorCode::NotFound) co_return fail(std::move(got.error()));
    auto& slot = objects.configMaps[name];
    if (got) slot = std::make_shared<const api::ConfigMap>(*std::move(got));
  }
  for (const auto& name : names.secrets) {
    if (objects.secrets.contains(name)) continue;
    auto getting = kube::get<api::Secret>(api_, {pod->metadata.namespace_, name});
    auto got = co_await getting;
    if (!got && got.error().code != ErrorCode::NotFound) co_return fail(std::move(got.error()));
    auto& slot = objects.secrets[name];
    if (got) slot = std::make_shared<const api::Secret>(*std::move(got));
  }
  co_return objects;
}

Task<Result<VolumePlaces>> PodVolumes::setUp(HostPodPtr pod) {
  const std::string uid = pod->metadata.uid;
  ReferencedNames used;
  for (const auto& volume : pod->details.volumes) {
    if (!isMounted(*pod, volume.name)) continue;
    const auto names = volumeReferences(volume);
    used.configMaps.insert(used.configMaps.end(), names.configMaps.begin(), names.configMaps.end());
    used.secrets.insert(used.secrets.end(), names.secrets.begin(), names.secrets.end());
  }
  // Watched first, so that changes during the read are seen.
  watches_->set(uid, pod->metadata.namespace_, used);
  VolumePlaces places;
  const std::string dir = podDir(uid);
  const auto group = fsGroupOf(*pod);
  for (const auto& volume : pod->details.volumes) {
    if (!isMounted(*pod, volume.name)) continue;
    auto resolving = resolve(pod, volume);
    auto resolved = co_await resolving;
    if (!resolved) co_return fail(std::move(resolved.error()));
    const bool readOnly = resolved->readOnly;
    auto work = onWorker(executor_, worker_,
                         [dir, group, setUp = *std::move(resolved), now = executor_.wallNow()] {
                           return setUpVolume(dir, setUp, group, now);
                         });
    auto path = co_await work;
    if (!path) co_return fail(setUpFailed(volume.name, std::move(path.error())));
    places[volume.name] = {*std::move(path), readOnly};
  }
  auto hosts = hostsFile(pod);
  auto written = co_await hosts;
  if (!written) co_return fail(std::move(written.error()));
  auto resolver = resolverFile(pod);
  auto resolves = co_await resolver;
  if (!resolves) co_return fail(std::move(resolves.error()));
  co_return places;
}

Task<Result<VolumeSetUp>> PodVolumes::resolve(HostPodPtr pod, spec::Volume volume) {
  using Kind = VolumeSetUp::Kind;
  VolumeSetUp setUp;
  setUp.name = volume.name;
  if (!volume.otherType.empty())
    co_return notProcessed(
        volume.name,
        fmt::format("failed to get Plugin from volumeSpec for volume \"{}\" err=no "
                    "volume plugin matched: this node does not support volumes of type {}",
                    volume.name, volume.otherType));
  if (volume.persistentVolumeClaim || !volume.ephemeral.is_null()) {
    auto resolving = resolveClaim(pod, volume);
    co_return co_await resolving;
  }
  if (const auto& source = volume.hostPath) {
    setUp.kind = Kind::HostPath;
    setUp.path = source->path;
    setUp.pathType = source->type;
    co_return setUp;
  }
  if (volume.configMap || volume.secret || volume.downwardAPI || volume.projected) {
    auto resolving = resolveFiles(pod, volume);
    co_return co_await resolving;
  }
  // A volume without a source is an emptyDir.
  const auto source = volume.emptyDir.value_or(spec::EmptyDirSource{});
  setUp.type = "empty-dir";
  setUp.kind = source.medium == "Memory" ? Kind::Memory : Kind::EmptyDir;
  if (source.sizeLimit) setUp.sizeBytes = source.sizeLimit->value();
  if (!source.medium.empty() && source.medium != "Memory")
    co_return fail(setUpFailed(
        volume.name,
        {ErrorCode::Invalid,
         fmt::format("storage medium \"{}\" is not supported by this node", source.medium),
         {}}));
  co_return setUp;
}

Task<Result<VolumeSetUp>> PodVolumes::resolveFiles(HostPodPtr pod, spec::Volume volume) {
  auto ensuring = ensureTokens(pod, volume);
  auto ensured = co_await ensuring;
  if (!ensured) co_return fail(setUpFailed(volume.name, std::move(ensured.error())));
  auto names = volumeReferences(volume);
  auto reading = objectsOf(pod, std::move(names));
  auto objects = co_await reading;
  if (!objects) co_return fail(setUpFailed(volume.name, std::move(objects.error())));
  const auto& tokens = tokens_[pod->metadata.uid];
  const PayloadContext context{fieldsOf(*pod), *objects,
                               [&](const spec::TokenSource& source) -> std::optional<std::string> {
                                 const auto found = tokens.find({volume.name, source.path});
                                 if (found == tokens.end() || found->second.text.empty())
                                   return std::nullopt;
                                 return found->second.text;
                               }};
  auto files = payloadOf(context, volume);
  if (!files) co_return fail(setUpFailed(volume.name, std::move(files.error())));
  VolumeSetUp setUp;
  setUp.name = volume.name;
  setUp.type = volume.configMap     ? "configmap"
               : volume.secret      ? "secret"
               : volume.downwardAPI ? "downward-api"
                                    : "projected";
  setUp.files = *std::move(files);
  setUp.readOnly = true;
  co_return setUp;
}

Task<Result<>> PodVolumes::ensureTokens(HostPodPtr pod, spec::Volume volume) {
  const auto sources = tokensOf(volume);
  for (const auto& source : sources) {
    const TokenKey key{volume.name, source.path};
    const auto& known = tokens_[pod->metadata.uid];
    const auto found = known.find(key);
    if (found != known.end() && executor_.wallNow() < found->second.refreshAt) continue;
    auto requesting = requestToken(pod, source);
    auto token = co_await requesting;
    if (token) {
      tokens_[pod->metadata.uid][key] = *std::move(token);
    } else if (tokensUnsupported(token.error())) {
      const bool told = tokens_[pod->metadata.uid].contains(key);
      tokens_[pod->metadata.uid][key] = {"", executor_.wallNow() + kLongestTokenUse};
      if (!told)
        listener_.warn(*pod,
                       fmt::format("MountVolume.SetUp for volume \"{}\" : this API server does not "
                                   "issue service account tokens: the file {} is omitted",
                                   volume.name, source.path));
    } else {
      co_return fail(Error(token.error()).within("failed to fetch token"));
    }
  }
  co_return Result<>{};
}

Task<Result<PodVolumes::Token>> PodVolumes::requestToken(HostPodPtr pod, spec::TokenSource source) {
  json::array audiences;
  if (!source.audience.empty()) audiences.emplace_back(source.audience);
  const auto& meta = pod->metadata;
  json::value request = json::object{
      {"apiVersion", "authentication.k8s.io/v1"},
      {"kind", "TokenRequest"},
      {"spec",
       {{"audiences", std::move(audiences)},
        {"expirationSeconds", source.expirationSeconds},
        {"boundObjectRef",
         {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", meta.name}, {"uid", meta.uid}}}}}};
  const std::string& account = pod->details.serviceAccountName;
  const WallTime now = executor_.wallNow();
  auto creating = kube::createObject(api_, kServiceAccounts,
                                     {meta.namespace_, account.empty() ? "default" : account},
                                     std::move(request), "token");
  auto created = co_await creating;
  if (!created) co_return fail(std::move(created.error()));
  Token token;
  token.text = textAt(*created, "status", "token");
  auto expires = parseTime(textAt(*created, "status", "expirationTimestamp"));
  const Duration life =
      expires ? *expires - now : Duration(std::chrono::seconds(source.expirationSeconds));
  token.refreshAt = now + std::clamp<Duration>(life / 5 * 4, kShortestTokenUse, kLongestTokenUse);
  co_return token;
}

std::optional<WallTime> PodVolumes::refreshAt(const std::string& uid) const {
  std::optional<WallTime> soonest;
  if (const auto found = tokens_.find(uid); found != tokens_.end())
    for (const auto& [key, token] : found->second)
      if (!soonest || token.refreshAt < *soonest) soonest = token.refreshAt;
  return soonest;
}

Task<Result<VolumeSetUp>> PodVolumes::resolveClaim(HostPodPtr pod, spec::Volume volume) {
  const auto& meta = pod->metadata;
  const bool ephemeral = !volume.persistentVolumeClaim;
  const std::string name =
      ephemeral ? meta.name + "-" + volume.name : volume.persistentVolumeClaim->claimName;
  const std::string where = fmt::format("error processing PVC {}/{}: ", meta.namespace_, name);
  auto asking = kube::getObject(api_, kClaims, {meta.namespace_, name});
  auto claim = co_await asking;
  if (!claim)
    co_return notProcessed(volume.name,
                           where + "failed to fetch PVC from API server: " + claim.error().message);
  if (ephemeral && !ownedBy(*claim, meta.uid))
    co_return notProcessed(volume.name,
                           fmt::format("PVC {}/{} was not created for pod {}/{} (pod is not "
                                       "owner)",
                                       meta.namespace_, name, meta.namespace_, meta.name));
  const std::string bound(textAt(*claim, "spec", "volumeName"));
  if (textAt(*claim, "status", "phase") != "Bound" || bound.empty())
    co_return notProcessed(volume.name, where + "PVC is not bound");
  auto fetching = kube::getObject(api_, kVolumes, {"", bound});
  auto persistent = co_await fetching;
  if (!persistent)
    co_return notProcessed(
        volume.name, where + "failed to fetch PV from API server: " + persistent.error().message);
  if (textAt(*persistent, "spec", "claimRef", "uid") != textAt(*claim, "metadata", "uid"))
    co_return notProcessed(volume.name,
                           where + fmt::format("PV {} is bound to another claim", bound));
  if (textAt(*persistent, "spec", "volumeMode") == "Block")
    co_return notProcessed(
        volume.name,
        fmt::format("volume {} has volumeMode Block: this node has no block volumes", volume.name));
  VolumeSetUp setUp;
  setUp.name = volume.name;
  setUp.readOnly = !ephemeral && volume.persistentVolumeClaim->readOnly;
  if (at(*persistent, "spec", "hostPath")) {
    setUp.kind = VolumeSetUp::Kind::HostPath;
    setUp.path = textAt(*persistent, "spec", "hostPath", "path");
    setUp.pathType = textAt(*persistent, "spec", "hostPath", "type");
  } else if (at(*persistent, "spec", "local")) {
    setUp.kind = VolumeSetUp::Kind::Local;
    setUp.path = textAt(*persistent, "spec", "local", "path");
  } else {
    co_return notProcessed(
        volume.name,
        fmt::format("failed to get Plugin from volumeSpec for volume \"{}\" err=no volume plugin "
                    "matched: this node supports only hostPath and local persistent volumes",
                    bound));
  }
  co_return setUp;
}

// Pods use the host's network, so their names are the host's plus hostAliases.
Task<Result<>> PodVolumes::hostsFile(HostPodPtr pod) {
  if (pod->details.hostAliases.empty()) co_return Result<>{};
  std::string lines = "\n# Entries added by HostAliases.\n";
  for (const auto& alias : pod->details.hostAliases) {
    lines += alias.ip;
    for (const auto& name : alias.hostnames) lines += "\t" + name;
    lines += "\n";
  }
  auto work = onWorker(executor_, worker_,
                       [dir = podDir(pod->metadata.uid), lines = std::move(lines)]() -> Result<> {
                         if (auto made = makeDirs(dir, 0750); !made) return made;
                         const std::string text = readFile("/etc/hosts").value_or("") + lines;
                         const std::string path = dir + "/etc-hosts";
                         if (readFile(path).value_or("") == text) return {};
                         return writeFileAtomic(path, text, 0644);
                       });
  co_return co_await work;
}

Task<Result<>> PodVolumes::resolverFile(HostPodPtr pod) {
  services::PodDns dns{pod->details.dnsPolicy, pod->details.dnsConfig, pod->spec.hostNetwork};
  const std::string uid = pod->metadata.uid;
  auto work =
      onWorker(executor_, worker_,
               [dir = podDir(uid), dns = std::move(dns), namespace_ = pod->metadata.namespace_,
                server = dnsAddress_ ? dnsAddress_() : std::string()]() -> Result<bool> {
                 const auto text = services::resolvConfOf(
                     dns, namespace_, readFile("/etc/resolv.conf").value_or(""), server);
                 if (!text) return false;
                 if (auto made = makeDirs(dir, 0750); !made) return fail(std::move(made.error()));
                 const std::string path = dir + "/resolv.conf";
                 if (readFile(path).value_or("") == *text) return true;
                 if (auto put = writeFileAtomic(path, *text, 0644); !put)
                   return fail(std::move(put.error()));
                 return true;
               });
  auto own = co_await work;
  if (!own) co_return fail(std::move(own.error()));
  if (*own)
    withResolver_.insert(uid);
  else
    withResolver_.erase(uid);
  co_return Result<>{};
}

Task<Result<std::vector<MountSpec>>> PodVolumes::mountsOf(HostPodPtr pod, std::string container,
                                                          VolumePlaces places,
                                                          std::vector<std::string> environment,
                                                          std::string messageFile) {
  std::vector<MountSpec> mounts;
  if (!messageFile.empty()) {
    auto work = onWorker(executor_, worker_, [messageFile]() -> Result<> {
      const auto folder = messageFile.substr(0, messageFile.rfind('/'));
      if (auto made = makeDirs(folder, 0755); !made) return made;
      return writeFileAtomic(messageFile, "", 0666);
    });
    auto written = co_await work;
    if (!written) co_return fail(std::move(written.error()));
    mounts.push_back({messageFile, "", pod->container(container).terminationMessagePath});
  }
  const std::string dir = podDir(pod->metadata.uid);
  if (!pod->details.hostAliases.empty()) mounts.push_back({dir + "/etc-hosts", "", "/etc/hosts"});
  if (withResolver_.contains(pod->metadata.uid))
    mounts.push_back({dir + "/resolv.conf", "", "/etc/resolv.conf"});
  const auto& wanted = pod->container(container).volumeMounts;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& mount = wanted[i];
    const auto place = places.find(mount.name);
    if (place == places.end())
      co_return fail(ErrorCode::Invalid,
                     fmt::format("cannot find volume \"{}\" to mount into container \"{}\"",
                                 mount.name, container));
    MountSpec spec{place->second.path, mount.subPath, mount.mountPath};
    spec.readOnly = mount.readOnly || place->second.readOnly;
    spec.recursiveReadOnly = spec.readOnly && (mount.recursiveReadOnly == "Enabled" ||
                                               mount.recursiveReadOnly == "IfPossible");
    spec.propagation = propagationOf(mount);
    if (!spec.target.starts_with('/')) spec.target = "/" + spec.target;
    if (!mount.subPathExpr.empty()) {
      auto expanded = expandPath(mount.subPathExpr, environment);
      if (!expanded) co_return fail(std::move(expanded.error()));
      spec.subPath = *std::move(expanded);
    }
    if (!spec.subPath.empty()) {
      std::string target =
          options_.runtimeResolvesSubPaths
              ? ""
              : fmt::format("{}/volume-subpaths/{}/{}/{}", dir, mount.name, container, i);
      auto work =
          onWorker(executor_, worker_, [spec, target] { return prepareSubPath(spec, target); });
      auto prepared = co_await work;
      if (!prepared) {
        log::warn("pod {}: {}", pod->metadata.uid, prepared.error().message);
        co_return fail(
            ErrorCode::Invalid,
            fmt::format("failed to prepare subPath for volumeMount \"{}\" of container \"{}\": {}",
                        mount.name, container, prepared.error().message));
      }
      spec.source = *std::move(prepared);
      if (!target.empty()) spec.subPath.clear();
    }
    mounts.push_back(std::move(spec));
  }
  co_return mounts;
}

Task<Result<>> PodVolumes::tearDown(std::string uid) {
  watches_->forget(uid);
  tokens_.erase(uid);
  withResolver_.erase(uid);
  auto work = onWorker(executor_, worker_, [dir = podDir(uid)] { return tearDownPod(dir); });
  co_return co_await work;
}

Task<Result<>> PodVolumes::unmountAll() {
  auto work = onWorker(executor_, worker_, [dir = options_.dir] { return unmountBelow(dir); });
  co_return co_await work;
}

Task<std::vector<std::string>> PodVolumes::pods() {
  auto work = onWorker(executor_, worker_, [dir = options_.dir] { return podsIn(dir); });
  co_return co_await work;
}

}  // namespace koord::cluster
