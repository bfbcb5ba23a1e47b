// Subresources whose bodies have a kind of their own: Binding, Eviction, TokenRequest.

#include <fmt/format.h>

#include "apiserver/server/write.h"

namespace koord::apiserver {

Outcome<json::value> WriteCall::readSubresourceKind(std::string_view kind) const {
  const auto& text = call_.request.body;
  auto body = text.empty() ? Result<json::value>(json::object{}) : parseJson(text);
  if (!body)
    return refuse(std::move(body.error()).within(fmt::format("error decoding the {}", kind)));
  if (auto good = checkSubresourceKind(*body, kind); !good)
    return std::unexpected(std::move(good.error()));
  return *std::move(body);
}

Outcome<> WriteCall::checkSubresourceKind(const json::value& body, std::string_view kind) const {
  const auto* schema = server_.registry_.builtinSchemas()->find(kind);
  std::optional<api::FieldProblem> problem;
  if (!body.is_object()) {
    problem = api::FieldProblem{"", "expected an object"};
  } else if (schema) {
    problem = api::checkTypes(body, *schema);
  }
  if (!problem) return {};
  return refuse(ErrorCode::BadRequest,
                fmt::format("the body cannot be handled as a {}: {}{}{}", kind, problem->path,
                            problem->path.empty() ? "" : ": ", problem->message));
}

Outcome<> WriteCall::completeSubresourceKind(const json::value& body, std::string_view kind) const {
  if (auto good = checkSubresourceKind(body, kind); !good)
    return refuse(ErrorCode::Internal,
                  "Internal error occurred: admission produced an invalid object: " +
                      good.error().error.message);
  return {};
}

Task<Outcome<json::value>> WriteCall::admitSubresourceKind(AdmissionAttributes attributes,
                                                           json::value body) {
  const std::string kind = attributes.objectKind;
  if (server_.admission_.wantsMutating(attributes)) {
    attributes.object = body;
    auto mutating = server_.admission_.mutate(
        attributes,
        [this, kind](json::value& object, bool) { return completeSubresourceKind(object, kind); },
        notes());
    auto mutated = co_await mutating;
    if (!mutated) co_return std::unexpected(std::move(mutated.error()));
    if (*mutated) body = **std::move(mutated);
  }
  if (server_.admission_.wantsValidating(attributes)) {
    attributes.object = body;
    auto validating = server_.admission_.validate(attributes, notes());
    if (auto good = co_await validating; !good) co_return std::unexpected(std::move(good.error()));
  }
  co_return std::move(body);
}

}  // namespace koord::apiserver
