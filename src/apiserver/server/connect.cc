// The admission of a stream to a pod: the operation CONNECT.

#include "apiserver/admission/admission.h"
#include "apiserver/objects/failure.h"
#include "apiserver/server/server.h"
#include "apiserver/server/target.h"

namespace koord::apiserver {

namespace {

Outcome<> keepAsIs(json::value&, bool) {
  return {};
}

}  // namespace

Task<Outcome<json::value>> Server::admitConnect(Call call, json::value options) {
  const auto target = findTarget(registry_, store_, call.request);
  if (!target) co_return std::unexpected(target.error());
  const auto& request = call.request;
  if (!target->table->find(makeKey(request.namespace_, request.name)))
    co_return std::unexpected(notFound(*target->resource, request.name));
  AdmissionAttributes attributes;
  attributes.resource = target->resource.get();
  attributes.version = target->version->name;
  attributes.subresource = request.subresource;
  attributes.name = request.name;
  attributes.namespace_ = request.namespace_;
  attributes.operation = "CONNECT";
  attributes.user = call.user;
  attributes.object = std::move(options);
  attributes.objectKind = textAt(attributes.object, "kind");
  attributes.objectVersion = "v1";
  std::vector<std::string> warnings;  // an upgraded connection has no place for them
  std::map<std::string, std::string> annotations;
  if (admission_.wantsMutating(attributes)) {
    auto mutating = admission_.mutate(attributes, keepAsIs, {warnings, annotations});
    auto mutated = co_await mutating;
    if (!mutated) co_return std::unexpected(std::move(mutated.error()));
    if (*mutated) attributes.object = **std::move(mutated);
  }
  json::value admitted = attributes.object;
  if (admission_.wantsValidating(attributes)) {
    auto validating = admission_.validate(attributes, {warnings, annotations});
    auto valid = co_await validating;
    if (!valid) co_return std::unexpected(std::move(valid.error()));
  }
  co_return admitted;
}

}  // namespace koord::apiserver
