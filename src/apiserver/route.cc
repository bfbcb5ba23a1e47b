#include "apiserver/route.h"

#include <fmt/format.h>

#include "apiserver/protobuf_front.h"
#include "base/brief_json.h"
#include "base/split.h"
#include "base/yaml.h"

namespace koord::apiserver {
namespace {

using kube::Verb;

constexpr std::size_t kMaxBodyBytes = 3 << 20;  // as JSON, like that of bodies in general

// namespaces/NS/RESOURCE/NAME/SUB, namespaces/NAME/SUB, RESOURCE/NAME/SUB
void readParts(const std::vector<std::string>& parts, std::size_t at, kube::Request& request) {
  if (parts[at] == "namespaces" && parts.size() > at + 2 && parts[at + 2] != "status" &&
      parts[at + 2] != "finalize") {
    request.namespace_ = parts[at + 1];
    at += 2;
  }
  request.resource = parts[at];
  if (parts.size() > at + 1) request.name = parts[at + 1];
  for (std::size_t i = at + 2; i < parts.size(); ++i) {
    if (!request.subresource.empty()) request.subresource += '/';
    request.subresource += parts[i];
  }
}

Outcome<kube::PatchType> patchTypeOf(std::string_view contentType) {
  const auto type = trim(contentType.substr(0, contentType.find(';')));
  if (type == "application/json-patch+json") return kube::PatchType::Json;
  if (type == "application/merge-patch+json") return kube::PatchType::Merge;
  if (type == "application/strategic-merge-patch+json") return kube::PatchType::Strategic;
  if (type == "application/apply-patch+yaml" || type == "application/apply-patch+json")
    return kube::PatchType::Apply;
  return refuse(
      ErrorCode::UnsupportedMediaType,
      fmt::format(
          "the body of the request was in an unknown format - accepted media types include: "
          "application/json-patch+json, application/merge-patch+json, "
          "application/strategic-merge-patch+json, application/apply-patch+yaml; got \"{}\"",
          type));
}

// Bodies come as JSON, or as YAML which becomes JSON.
Outcome<> readBody(const net::ServerRequest& in, kube::Request& request) {
  const auto header = net::headerOf(in.headers, "Content-Type");
  const auto type = trim(header.substr(0, header.find(';')));
  if (type.find("cbor") != std::string_view::npos)
    return refuse(ErrorCode::UnsupportedMediaType,
                  fmt::format("the body of the request was in an unknown format - accepted media "
                              "types include: application/json, application/yaml, "
                              "application/vnd.kubernetes.protobuf; got \"{}\"",
                              type));
  request.body = in.body;
  const bool yaml = type == "application/yaml" || type == "application/apply-patch+yaml";
  if (!yaml || request.body.empty() || request.body.front() == '{') return {};
  auto documents = parseYaml(request.body);
  if (!documents) return refuse(std::move(documents.error()));
  request.body = toJson(*documents);
  if (request.body.size() > kMaxBodyBytes)  // after expanding aliases
    return refuse(ErrorCode::RequestEntityTooLarge,
                  fmt::format("Request entity too large: limit is {}", kMaxBodyBytes));
  return {};
}

Outcome<Verb> verbOf(std::string_view method, const kube::Request& request, bool watch) {
  const bool named = !request.name.empty();
  if (method == "GET" || method == "HEAD")
    return watch ? Verb::Watch : named ? Verb::Get : Verb::List;
  if (method == "POST") return Verb::Create;
  if (method == "PUT" && named) return Verb::Update;
  if (method == "PATCH" && named) return Verb::Patch;
  if (method == "DELETE") return request.name.empty() ? Verb::DeleteCollection : Verb::Delete;
  return refuse(ErrorCode::MethodNotAllowed,
                "the server does not allow this method on the requested resource");
}

}  // namespace

Accepts readAccept(std::string_view header) {
  Accepts accepts;
  if (header.empty()) return accepts;
  bool json = false;
  bool decided = false;
  for (const auto& item : splitWords(header, ',')) {
    const auto params = splitWords(item, ';');
    if (params.empty()) continue;
    const auto type = trim(params[0]);
    if (type.find("openapi.spec.v2") != std::string_view::npos &&
        type.find("protobuf") != std::string_view::npos)
      accepts.openApiProto = true;
    const bool plain = isProtobuf(type) || type == "application/json" || type == "*/*" ||
                       type == "application/*" || type == "application/yaml";
    json = json || plain;
    if (!plain) continue;
    std::string as, group, version;
    for (const auto& param : params) {
      const auto text = trim(param);
      if (text.starts_with("as=")) as = text.substr(3);
      if (text.starts_with("g=")) group = text.substr(2);
      if (text.starts_with("v=")) version = text.substr(2);
    }
    if (as == "APIGroupDiscoveryList") {
      if (version != "v2" && version != "v2beta1") continue;
      if (accepts.aggregatedDiscovery.empty()) accepts.aggregatedDiscovery = version;
    } else if (!decided) {
      decided = true;
      if (as == "Table") accepts.format = version == "v1" ? Format::Table : Format::Object;
      if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList")
        accepts.format = Format::PartialMetadata;
      if (as == "Table" && version != "v1") decided = false;
    }
  }
  accepts.json = json;
  return accepts;
}

std::optional<Outcome<Call>> routeCall(const net::ServerRequest& in, const net::Target& target) {
  auto parts = splitWords(target.path, '/');
  const bool core = !parts.empty() && parts[0] == "api";
  if (parts.empty() || (!core && parts[0] != "apis")) return std::nullopt;
  std::size_t at = core ? 2 : 3;
  if (parts.size() <= at) return std::nullopt;

  Call call;
  auto& request = call.request;
  request.group = core ? "" : parts[1];
  request.version = core ? parts[1] : parts[2];
  bool watch = false;
  if (parts[at] == "watch" && parts.size() > at + 1) {
    watch = true;
    ++at;
  }
  readParts(parts, at, request);
  for (const auto& [name, value] : target.query) request.query[name] = value;
  // Ignored for a single object: a user who may get a pod's log must not gain a watch of the pod.
  if (const auto value = target.param("watch");
      request.name.empty() &&
      (value == "true" || value == "1" || (value.empty() && target.has("watch"))))
    watch = true;
  request.query.erase("watch");
  auto verb = verbOf(in.method, request, watch);
  if (!verb) return std::unexpected(std::move(verb.error()));
  request.verb = *verb;
  if (request.verb == Verb::Patch) {
    auto type = patchTypeOf(net::headerOf(in.headers, "Content-Type"));
    if (!type) return std::unexpected(std::move(type.error()));
    request.patchType = *type;
  }
  if (auto read = readBody(in, request); !read) return std::unexpected(std::move(read.error()));
  // POST .../bindings is POST .../pods/NAME/binding.
  if (core && request.resource == "bindings" && request.verb == Verb::Create &&
      request.name.empty()) {
    request.resource = "pods";
    request.subresource = "binding";
    if (const BriefJson body(request.body); body) request.name = textAt(*body, "metadata", "name");
  }
  const auto accepts = readAccept(net::headerOf(in.headers, "Accept"));
  if (!accepts.json)
    return refuse(ErrorCode::NotAcceptable,
                  "only the following media types are accepted: application/json");
  call.format = accepts.format;
  call.userAgent = net::headerOf(in.headers, "User-Agent");
  return call;
}

}  // namespace koord::apiserver
