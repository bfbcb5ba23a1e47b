#include "cluster/hostnode/volumes/payload.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/tls.h"

namespace koord::cluster {

namespace {

constexpr std::uint32_t kDefaultMode = 0644;
constexpr std::uint32_t kPrivateMode = 0600;

std::uint32_t modeOr(const std::optional<std::int32_t>& mode, std::uint32_t otherwise) {
  return mode ? static_cast<std::uint32_t>(*mode) & 07777 : otherwise;
}

// Adds the keys of a ConfigMap or Secret. `data`: key -> bytes.
Result<> addItems(Payload& files, const std::map<std::string, std::string>& data,
                  const spec::ObjectSource& source, std::uint32_t mode, const char* missingKey) {
  if (source.items.empty()) {
    for (const auto& [key, bytes] : data) files[key] = {bytes, mode};
    return {};
  }
  for (const auto& item : source.items) {
    const auto found = data.find(item.key);
    if (found != data.end()) {
      files[item.path] = {found->second, modeOr(item.mode, mode)};
    } else if (!source.optional) {
      return fail(ErrorCode::NotFound, fmt::format("{}: {}", missingKey, item.key));
    }
  }
  return {};
}

template <class Map>
Result<> decodeInto(std::map<std::string, std::string>& data, const Map& encoded) {
  for (const auto& [key, text] : encoded) {
    auto bytes = net::base64Decode(text);
    if (!bytes) return fail(std::move(bytes.error()).within("key " + key));
    data[key] = *std::move(bytes);
  }
  return {};
}

Result<> addConfigMap(Payload& files, const PayloadContext& context,
                      const spec::ObjectSource& source, std::uint32_t mode) {
  const auto found = context.objects.configMaps.find(source.name);
  std::map<std::string, std::string> data;
  if (found != context.objects.configMaps.end() && found->second) {
    for (const auto& [key, text] : found->second->data) data[key] = text;
    if (auto decoded = decodeInto(data, found->second->binaryData); !decoded) return decoded;
  } else if (source.optional) {
    return {};
  } else {
    return fail(ErrorCode::NotFound, fmt::format("configmap \"{}\" not found", source.name));
  }
  return addItems(files, data, source, mode, "configmap references non-existent config key");
}

Result<> addSecret(Payload& files, const PayloadContext& context, const spec::ObjectSource& source,
                   std::uint32_t mode) {
  const std::string& name = source.secretName.empty() ? source.name : source.secretName;
  const auto found = context.objects.secrets.find(name);
  std::map<std::string, std::string> data;
  if (found != context.objects.secrets.end() && found->second) {
    if (auto decoded = decodeInto(data, found->second->data); !decoded) return decoded;
  } else if (source.optional) {
    return {};
  } else {
    return fail(ErrorCode::NotFound, fmt::format("secret \"{}\" not found", name));
  }
  return addItems(files, data, source, mode, "references non-existent secret key");
}

Result<> addDownward(Payload& files, const PayloadContext& context,
                     const spec::DownwardSource& source, std::uint32_t mode) {
  for (const auto& item : source.items) {
    Result<std::string> text;
    if (item.fieldRef) {
      text = fieldFile(context.fields, item.fieldRef->fieldPath);
    } else if (item.resourceFieldRef) {
      text = resourceValue(context.fields, *item.resourceFieldRef, "");
    }
    if (!text) return fail(std::move(text.error()));
    files[item.path] = {*std::move(text), modeOr(item.mode, mode)};
  }
  return {};
}

Result<> addToken(Payload& files, const PayloadContext& context, const spec::TokenSource& source,
                  std::uint32_t mode) {
  auto token = context.token(source);
  if (!token) return {};
  const auto owner = fsUserOf(context.fields.pod);
  const bool narrow = owner || fsGroupOf(context.fields.pod);
  files[source.path] = {*std::move(token), narrow ? kPrivateMode : mode, owner};
  return {};
}

Result<Payload> projected(const PayloadContext& context, const spec::ProjectedSource& source) {
  Payload files;
  const auto mode = modeOr(source.defaultMode, kDefaultMode);
  for (const auto& part : source.sources) {
    Result<> added;
    if (part.configMap) added = addConfigMap(files, context, *part.configMap, mode);
    if (part.secret) added = addSecret(files, context, *part.secret, mode);
    if (part.downwardAPI) added = addDownward(files, context, *part.downwardAPI, mode);
    if (part.serviceAccountToken) added = addToken(files, context, *part.serviceAccountToken, mode);
    if (!part.clusterTrustBundle.is_null() || !part.podCertificate.is_null())
      added = fail(ErrorCode::Invalid,
                   "clusterTrustBundle and podCertificate sources are not supported by this node");
    if (!added) return fail(std::move(added.error()));
  }
  return files;
}

std::optional<std::int64_t> userOf(const HostPod& pod, const spec::Container& container) {
  if (container.securityContext && container.securityContext->runAsUser)
    return container.securityContext->runAsUser;
  return pod.details.securityContext ? pod.details.securityContext->runAsUser : std::nullopt;
}

}  // namespace

ReferencedNames volumeReferences(const spec::Volume& volume) {
  ReferencedNames names;
  if (volume.configMap) names.configMaps.push_back(volume.configMap->name);
  if (volume.secret) names.secrets.push_back(volume.secret->secretName);
  if (volume.projected)
    for (const auto& part : volume.projected->sources) {
      if (part.configMap) names.configMaps.push_back(part.configMap->name);
      if (part.secret) names.secrets.push_back(part.secret->name);
    }
  return names;
}

std::vector<spec::TokenSource> tokensOf(const spec::Volume& volume) {
  std::vector<spec::TokenSource> tokens;
  if (volume.projected)
    for (const auto& part : volume.projected->sources)
      if (part.serviceAccountToken) tokens.push_back(*part.serviceAccountToken);
  return tokens;
}

Result<Payload> payloadOf(const PayloadContext& context, const spec::Volume& volume) {
  if (volume.projected) return projected(context, *volume.projected);
  Payload files;
  Result<> added;
  if (const auto& source = volume.configMap)
    added = addConfigMap(files, context, *source, modeOr(source->defaultMode, kDefaultMode));
  if (const auto& source = volume.secret)
    added = addSecret(files, context, *source, modeOr(source->defaultMode, kDefaultMode));
  if (const auto& source = volume.downwardAPI)
    added = addDownward(files, context, *source, modeOr(source->defaultMode, kDefaultMode));
  if (!added) return fail(std::move(added.error()));
  return files;
}

std::optional<std::uint32_t> fsGroupOf(const HostPod& pod) {
  const auto& context = pod.details.securityContext;
  if (!context || !context->fsGroup) return std::nullopt;
  return static_cast<std::uint32_t>(*context->fsGroup);
}

std::optional<std::uint32_t> fsUserOf(const HostPod& pod) {
  std::optional<std::int64_t> common;
  for (const auto* list : {&pod.details.containers, &pod.details.initContainers})
    for (const auto& container : *list) {
      const auto user = userOf(pod, container);
      if (!user || (common && *common != *user)) return std::nullopt;
      common = user;
    }
  if (!common) return std::nullopt;
  return static_cast<std::uint32_t>(*common);
}

}  // namespace koord::cluster
