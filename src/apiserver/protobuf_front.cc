#include "apiserver/protobuf_front.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/group_version.h"
#include "api/protobuf/transcode.h"
#include "base/brief_json.h"

namespace koord::apiserver {
namespace {

using api::Encoded;
using api::encodeList;
using api::encodeMessage;
using api::hasWireForm;
using api::Schema;
using api::sealEnvelope;
using api::watchFrame;
using net::Responder;

constexpr std::string_view kType = api::kProtobufType;

// Kinds that are not resources. DeleteOptions have the version of the deleted object.
constexpr std::pair<std::string_view, std::string_view> kMessages[] = {
    {"Status", "v1"},
    {"Binding", "v1"},
    {"DeleteOptions", ""},
    {"Eviction", "policy/v1"},
    {"Scale", "autoscaling/v1"},
    {"SelfSubjectReview", "authentication.k8s.io/v1"},
    {"TokenReview", "authentication.k8s.io/v1"},
    {"TokenRequest", "authentication.k8s.io/v1"},
    {"SelfSubjectAccessReview", "authorization.k8s.io/v1"},
    {"SubjectAccessReview", "authorization.k8s.io/v1"},
    {"LocalSubjectAccessReview", "authorization.k8s.io/v1"},
    {"SelfSubjectRulesReview", "authorization.k8s.io/v1"}};

// nullptr if the kind has no message.
const Schema* schemaOf(const Registry& registry, std::string_view apiVersion,
                       std::string_view kind) {
  const auto& types = *registry.builtinSchemas();
  for (const auto& [name, version] : kMessages)
    if (name == kind && (version.empty() || version == apiVersion)) return types.find(kind);
  // The metadata are field 1 in every kind.
  if (kind == "PartialObjectMetadata" && apiVersion == "meta.k8s.io/v1")
    return types.find("Namespace");
  const auto [group, versionName] = api::splitApiVersion(apiVersion);
  const auto resource = registry.findByKind(group, kind);
  if (!resource || resource->custom) return nullptr;
  const auto* version = resource->version(versionName);
  return version && version->schema && hasWireForm(*version->schema) ? version->schema : nullptr;
}

std::string encodeObject(const json::value& object, const Registry& registry, bool lossy) {
  const auto apiVersion = textAt(object, "apiVersion");
  const auto kind = textAt(object, "kind");
  Encoded encoded;
  if (const auto* schema = schemaOf(registry, apiVersion, kind)) {
    encoded = encodeMessage(object, *schema);
  } else if (kind.ends_with("List") && find(object, "items")) {
    schema = schemaOf(registry, apiVersion, kind.substr(0, kind.size() - 4));
    if (!schema) return "";
    encoded = encodeList(object, *registry.builtinSchemas()->find("ListMeta"), *schema);
  } else {
    return "";
  }
  if (!encoded.complete && !lossy) return "";
  return sealEnvelope(apiVersion, kind, encoded.message);
}

// The preferences of an Accept header.
struct AcceptedTypes {
  bool protobuf = false;  // preferred over JSON
  bool json = false;
};

AcceptedTypes acceptedTypesOf(std::string_view accept) {
  AcceptedTypes out;
  while (!accept.empty()) {
    const auto end = accept.find(',');
    const auto item = accept.substr(0, end);
    accept = end == std::string_view::npos ? std::string_view{} : accept.substr(end + 1);
    if (isProtobuf(item)) {
      out.protobuf = out.protobuf || !out.json;
    } else if (item.find("/json") != std::string_view::npos ||
               item.find("/*") != std::string_view::npos ||
               item.find("/yaml") != std::string_view::npos) {
      out.json = true;
    }
  }
  return out;
}

void setType(net::Headers& headers, std::string_view type) {
  for (auto& [name, value] : headers)
    if (name == "Content-Type") value = type;
}

bool hasMessages(const Registry& registry, std::string_view group, std::string_view version,
                 std::string_view resource) {
  const auto found = registry.find(group, version, resource);
  return found && schemaOf(registry, found->apiVersion(version), found->kind);
}

// Returns true if the objects below this path have messages: /api/V/[namespaces/NS/]RESOURCE...
bool hasMessages(std::string_view path, const Registry& registry) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto end = path.find('/');
    if (end != 0) parts.push_back(path.substr(0, end));
    path = end == std::string_view::npos ? std::string_view{} : path.substr(end + 1);
  }
  const std::size_t group = parts.empty() || parts[0] == "api" ? 0 : 1;
  std::size_t at = group + 2;
  if (parts.size() > at && parts[at] == "watch") ++at;
  if (parts.size() > at + 2 && parts[at] == "namespaces") at += 2;
  if (parts.size() <= at) return false;
  return hasMessages(registry, group == 0 ? "" : parts[1], parts[group + 1], parts[at]);
}

bool isJson(const net::Headers& headers) {
  return net::headerOf(headers, "Content-Type") == "application/json";
}

class ProtobufResponder final : public Responder {
 public:
  ProtobufResponder(std::shared_ptr<Responder> inner, const Registry& registry, bool json,
                    bool watchable, std::shared_ptr<WatchFrames> watchFrames)
      : inner_(std::move(inner)),
        registry_(registry),
        watchFrames_(std::move(watchFrames)),
        json_(json),
        watchable_(watchable) {}

  void respond(int status, net::Headers headers, Bytes body) override {
    if (isJson(headers) && body) {
      // Clients that do not accept JSON get a lossy message.
      auto message = protobufOfJson(*body, registry_, !json_);
      if (!message.empty()) {
        setType(headers, kType);
        body = bytesOf(std::move(message));
      } else if (!json_) {
        const Failure failure(ErrorCode::NotAcceptable,
                              "only the following media types are accepted: application/json");
        status = httpStatusOf(failure.error.code);
        body = bytesOf(protobufOfJson(statusText(failure, {}), registry_, true));
        setType(headers, kType);
      }
    }
    inner_->respond(status, std::move(headers), std::move(body));
  }

  void begin(int status, net::Headers headers) override {
    frames_ = watchable_ && isJson(headers);
    if (frames_) setType(headers, std::string(kType) + ";stream=watch");
    inner_->begin(status, std::move(headers));
  }
  void upgrade(net::Headers headers, OnInput onInput) override {
    inner_->upgrade(std::move(headers), std::move(onInput));
  }
  void consumed(std::size_t bytes) override { inner_->consumed(bytes); }
  void write(Bytes chunk) override {
    inner_->write(frames_ ? watchFrames_->frameOf(chunk, registry_) : std::move(chunk));
  }
  void end() override { inner_->end(); }
  std::size_t queuedBytes() const override { return inner_->queuedBytes(); }
  void abort() override { inner_->abort(); }
  void onClosed(Callback fn) override { inner_->onClosed(std::move(fn)); }

 private:
  std::shared_ptr<Responder> inner_;
  const Registry& registry_;
  std::shared_ptr<WatchFrames> watchFrames_;
  bool json_;       // the client also accepts JSON
  bool watchable_;  // events of this request have messages
  bool frames_ = false;
};

}  // namespace

bool isProtobuf(std::string_view contentType) {
  return contentType.find(kType) != std::string_view::npos;
}

bool hasMessages(const kube::Request& request, const Registry& registry) {
  return hasMessages(registry, request.group, request.version, request.resource);
}

Result<std::string> jsonOfProtobuf(std::string_view body, const Registry& registry) {
  const auto envelope = api::openEnvelope(body);
  if (!envelope) return fail(envelope.error());
  const auto& [apiVersion, kind, message] = *envelope;
  const auto* schema = schemaOf(registry, apiVersion, kind);
  if (!schema)
    return fail(
        ErrorCode::UnsupportedMediaType,
        fmt::format("the body of the request was in an unknown format - {} in version {} is "
                    "accepted as application/json or application/yaml only",
                    kind, apiVersion));
  auto decoded = api::decodeMessage(message, *schema);
  if (!decoded)
    return fail(std::move(decoded.error()).within(fmt::format("error decoding the {}", kind)));
  json::object object{{"apiVersion", apiVersion}, {"kind", kind}};
  for (auto& member : decoded->get_object())
    object.emplace(member.key(), std::move(member.value()));
  return toJson(object);
}

std::string protobufOfJson(std::string_view text, const Registry& registry, bool lossy) {
  const BriefJson object(text);
  return object ? encodeObject(*object, registry, lossy) : "";
}

Bytes WatchFrames::frameOf(const Bytes& line, const Registry& registry) {
  for (const auto& slot : slots_)
    if (slot.line == line) return slot.frame;
  const BriefJson event(*line);
  const auto* object = event ? find(*event, "object") : nullptr;
  auto frame = bytesOf(
      object ? watchFrame(textAt(*event, "type"), encodeObject(*object, registry, true)) : "");
  slots_[next_] = {line, frame};
  next_ = (next_ + 1) % slots_.size();
  return frame;
}

std::shared_ptr<Responder> protobufResponder(std::shared_ptr<Responder> inner,
                                             std::string_view accept, std::string_view path,
                                             const Registry& registry,
                                             std::shared_ptr<WatchFrames> frames) {
  const auto wishes = acceptedTypesOf(accept);
  if (!wishes.protobuf) return inner;
  const bool watchable = accept.find("as=PartialObjectMetadata") != std::string_view::npos ||
                         (accept.find("as=Table") == std::string_view::npos &&
                          (!wishes.json || hasMessages(path, registry)));
  return std::make_shared<ProtobufResponder>(std::move(inner), registry, wishes.json, watchable,
                                             std::move(frames));
}

}  // namespace koord::apiserver
