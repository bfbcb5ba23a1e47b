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

Task<Outcome<json::value>> WriteCall::admitSubresourceKind(AdmissionAttributes attributes,
                                                           json::value body) {
  const std::string kind = attributes.objectKind;
  if (server_.webhooks_.wantsMutating(attributes)) {
    attributes.object = body;
    auto mutating = server_.webhooks_.mutate(attributes, warnings_);
    auto mutated = co_await mutating;
    if (!mutated) co_return std::unexpected(std::move(mutated.error()));
    if (auto good = checkSubresourceKind(*mutated, kind); !good)
      co_return refuse(
          ErrorCode::Internal,
          "an admission webhook made an object that cannot be used: " + good.error().error.message);
    body = *std::move(mutated);
  }
  if (server_.webhooks_.wantsValidating(attributes)) {
    attributes.object = body;
    auto validating = server_.webhooks_.validate(attributes, warnings_);
    if (auto good = co_await validating; !good) co_return std::unexpected(std::move(good.error()));
  }
  co_return std::move(body);
}

}  // namespace koord::apiserver
