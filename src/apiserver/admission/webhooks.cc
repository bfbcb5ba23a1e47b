#include "apiserver/admission/webhooks.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "api/patch/json_patch.h"
#include "apiserver/server/body.h"
#include "net/tls.h"

namespace koord::apiserver {
namespace {

bool listed(const std::vector<std::string>& list, std::string_view value) {
  return std::ranges::any_of(list,
                             [&](const std::string& item) { return item == "*" || item == value; });
}

bool matchesResource(const std::vector<std::string>& patterns, std::string_view plural,
                     std::string_view subresource) {
  return std::ranges::any_of(patterns, [&](std::string_view pattern) {
    const auto slash = pattern.find('/');
    const auto resource = pattern.substr(0, slash);
    if (resource != "*" && resource != plural) return false;
    if (slash == std::string_view::npos) return subresource.empty();
    const auto sub = pattern.substr(slash + 1);
    return sub == "*" || sub == subresource;
  });
}

api::StringMap labelsOf(const json::value& object) {
  api::StringMap out;
  if (const auto* labels = at(object, "metadata", "labels"); labels && labels->is_object())
    for (const auto& label : labels->get_object())
      if (label.value().is_string())
        out.emplace(std::string(label.key()), std::string(label.value().get_string()));
  return out;
}

json::object kindOf(const AdmissionAttributes& a, const Resource& resource,
                    std::string_view version) {
  if (a.objectKind.empty())
    return {{"group", resource.group}, {"version", version}, {"kind", resource.kind}};
  const auto slash = a.objectVersion.find('/');
  const bool core = slash == std::string::npos;
  return {{"group", core ? "" : a.objectVersion.substr(0, slash)},
          {"version", core ? a.objectVersion : a.objectVersion.substr(slash + 1)},
          {"kind", a.objectKind}};
}

json::object resourceOf(const Resource& resource, std::string_view version) {
  return {{"group", resource.group}, {"version", version}, {"resource", resource.plural}};
}

// Without the objects.
json::object requestOf(const AdmissionAttributes& a, const ResourceForm& form) {
  const Resource& asked = form.resource ? *form.resource : *a.resource;
  json::object user{{"username", a.user.name},
                    {"groups", json::array(a.user.groups.begin(), a.user.groups.end())}};
  if (!a.user.uid.empty()) user["uid"] = a.user.uid;
  json::object request{{"kind", kindOf(a, asked, form.version)},
                       {"resource", resourceOf(asked, form.version)},
                       {"requestKind", kindOf(a, *a.resource, a.version)},
                       {"requestResource", resourceOf(*a.resource, a.version)}};
  if (!a.subresource.empty()) {
    request["subResource"] = a.subresource;
    request["requestSubResource"] = a.subresource;
  }
  if (!a.name.empty()) request["name"] = a.name;
  if (!a.namespace_.empty()) request["namespace"] = a.namespace_;
  request["operation"] = a.operation;
  request["userInfo"] = std::move(user);
  request["dryRun"] = a.dryRun;
  const char* options = a.operation == "CREATE"   ? "CreateOptions"
                        : a.operation == "UPDATE" ? "UpdateOptions"
                                                  : "DeleteOptions";
  request["options"] = {{"apiVersion", "meta.k8s.io/v1"}, {"kind", options}};
  return request;
}

json::value reviewOf(const AdmissionAttributes& a, const ResourceForm& form,
                     const std::string& uid) {
  json::object request = requestOf(a, form);
  request["uid"] = uid;
  request["object"] = a.object;
  request["oldObject"] = a.oldObject;
  return json::object{{"apiVersion", "admission.k8s.io/v1"},
                      {"kind", "AdmissionReview"},
                      {"request", std::move(request)}};
}

bool matchesRule(const api::RuleWithOperations& rule, const AdmissionAttributes& a,
                 const Resource& resource, std::string_view version) {
  if (!rule.scope.empty() && rule.scope != "*" &&
      (rule.scope == "Namespaced") == a.namespace_.empty())
    return false;
  return listed(rule.operations, a.operation) && listed(rule.apiGroups, resource.group) &&
         listed(rule.apiVersions, version) &&
         matchesResource(rule.resources, resource.plural, a.subresource);
}

// The failure for a denial; the webhook may choose code, reason and message.
Failure denial(const std::string& webhook, const std::optional<api::Status>& status) {
  std::string why = "admission webhook \"" + webhook + "\" denied the request";
  ErrorCode code = ErrorCode::Forbidden;
  if (!status) return {code, why + " without explanation"};
  if (status->code != 0 || !status->reason.empty())
    code = codeOfReason(status->reason, status->code == 0 ? 403 : status->code);
  if (!status->message.empty()) return {code, why + ": " + status->message};
  if (!status->reason.empty()) return {code, why + ": " + status->reason};
  return {code, why + " without explanation"};
}

// What the user of a request may do.
class UserAuthorizer final : public cel::Authorizer {
 public:
  UserAuthorizer(const Webhooks::Authorize& authorize, const User& user)
      : authorize_(authorize), user_(user) {}
  cel::AuthorizationDecision authorize(const cel::AuthorizationRequest& request) const override {
    if (!authorize_) return {.allowed = true, .reason = {}, .error = {}};
    return authorize_(user_, request);
  }

 private:
  const Webhooks::Authorize& authorize_;
  const User& user_;
};

}  // namespace

void Webhooks::set(Hooks& hooks, const std::string& name, std::vector<api::Webhook> webhooks) {
  std::erase_if(hooks, [&](const Hook& hook) { return hook.configuration == name; });
  for (auto& webhook : webhooks) {
    Hook hook;
    hook.configuration = name;
    const auto selector = [&](const std::optional<api::LabelSelector>& in) {
      auto compiled = api::Selector::compile(in ? *in : api::LabelSelector{});
      if (compiled) return *std::move(compiled);
      hook.problem = compiled.error().message;
      return api::Selector{};
    };
    hook.namespaceSelector = selector(webhook.namespaceSelector);
    hook.objectSelector = selector(webhook.objectSelector);
    if (!webhook.clientConfig.caBundle.empty()) {
      if (auto pem = net::base64Decode(webhook.clientConfig.caBundle); pem) {
        hook.caPem = *std::move(pem);
      } else {
        hook.problem = "caBundle: " + pem.error().message;
      }
    }
    std::vector<MatchConditions::Condition> conditions;
    for (const auto& condition : webhook.matchConditions)
      conditions.push_back({condition.name, condition.expression});
    if (auto compiled = MatchConditions::compile(conditions); compiled) {
      hook.conditions = *std::move(compiled);
    } else {
      hook.problem = compiled.error().message;
    }
    hook.spec = std::move(webhook);
    hooks.push_back(std::move(hook));
  }
  std::ranges::stable_sort(hooks, {}, &Hook::configuration);
}

void Webhooks::setMutating(const std::string& name, const json::value* configuration) {
  auto decoded = configuration ? api::decode<api::MutatingWebhookConfiguration>(*configuration)
                               : Result<api::MutatingWebhookConfiguration>{};
  set(mutating_, name, decoded ? std::move(decoded->webhooks) : std::vector<api::Webhook>{});
}

void Webhooks::setValidating(const std::string& name, const json::value* configuration) {
  auto decoded = configuration ? api::decode<api::ValidatingWebhookConfiguration>(*configuration)
                               : Result<api::ValidatingWebhookConfiguration>{};
  set(validating_, name, decoded ? std::move(decoded->webhooks) : std::vector<api::Webhook>{});
}

std::optional<ResourceForm> Webhooks::formFor(const Hook& hook,
                                              const AdmissionAttributes& a) const {
  // Webhooks are not called for their own configuration, so that they cannot block its repair.
  if (a.resource->group == "admissionregistration.k8s.io") return std::nullopt;
  const auto& rules = hook.spec.rules;
  if (std::ranges::any_of(rules, [&](const api::RuleWithOperations& rule) {
        return matchesRule(rule, a, *a.resource, a.version);
      }))
    return ResourceForm{nullptr, a.version};
  if (!forms_ || (hook.spec.matchPolicy && *hook.spec.matchPolicy != "Equivalent"))
    return std::nullopt;
  const auto forms = forms_(*a.resource);
  for (const auto& rule : rules)
    for (const auto& form : forms)
      if (matchesRule(rule, a, *form.resource, form.version)) return form;
  return std::nullopt;
}

json::value Webhooks::converted(json::value object, const AdmissionAttributes& a,
                                const ResourceForm& form, bool back) const {
  // The object of a subresource that has a kind of its own is the same in all forms.
  if (form.resource && convert_ && a.objectKind.empty() && !object.is_null())
    convert_(object, *a.resource, a.version, form, back);
  return object;
}

bool Webhooks::selects(const Hook& hook, const AdmissionAttributes& a) const {
  if (!hook.namespaceSelector.empty()) {
    if (a.resource->isCore("namespaces")) {
      if (!hook.namespaceSelector.matches(labelsOf(a.object.is_null() ? a.oldObject : a.object)))
        return false;
    } else if (!a.namespace_.empty() && namespaceLabels_) {
      if (!hook.namespaceSelector.matches(namespaceLabels_(a.namespace_))) return false;
    }
  }
  if (hook.objectSelector.empty()) return true;
  return (!a.object.is_null() && hook.objectSelector.matches(labelsOf(a.object))) ||
         (!a.oldObject.is_null() && hook.objectSelector.matches(labelsOf(a.oldObject)));
}

Outcome<bool> Webhooks::meetsConditions(const Hook& hook, const AdmissionAttributes& a,
                                        const ResourceForm& form) const {
  if (hook.conditions.empty()) return true;
  const UserAuthorizer authorizer(authorize_, a.user);
  const json::value request = requestOf(a, form);
  const auto matched = hook.conditions.match({a.object, a.oldObject, request, authorizer});
  if (matched) return *matched;
  if (hook.spec.failurePolicy == "Ignore") return false;
  return refuse(ErrorCode::Forbidden,
                fmt::format("{} \"{}\" is forbidden: {}", a.resource->qualified(), a.name,
                            matched.error().message));
}

bool Webhooks::wants(const Hooks& hooks, const AdmissionAttributes& attributes) const {
  return std::ranges::any_of(
      hooks, [&](const Hook& hook) { return formFor(hook, attributes).has_value(); });
}

Task<Outcome<std::optional<api::AdmissionResponse>>> Webhooks::ask(
    const Hook& hook, const AdmissionAttributes& attributes, const ResourceForm& form) {
  using Answer = std::optional<api::AdmissionResponse>;
  const std::string name = hook.spec.name;
  const bool ignore = hook.spec.failurePolicy && *hook.spec.failurePolicy == "Ignore";
  const auto failed = [&](std::string_view why) -> Outcome<Answer> {
    if (ignore) return Answer{};
    return refuse(
        ErrorCode::Internal,
        fmt::format("Internal error occurred: failed calling webhook \"{}\": {}", name, why));
  };
  if (!hook.problem.empty()) co_return failed(hook.problem);
  if (attributes.dryRun && hook.spec.sideEffects != "None" &&
      hook.spec.sideEffects != "NoneOnDryRun")
    co_return refuse(ErrorCode::BadRequest,
                     fmt::format("admission webhook \"{}\" does not support dry run", name));
  if (!caller_) co_return failed("webhooks cannot be called from here");

  const std::string uid = newUid(random_);
  WebhookRequest request;
  if (hook.spec.clientConfig.url) {
    request.url = *hook.spec.clientConfig.url;
  } else if (hook.spec.clientConfig.service) {
    request.service = *hook.spec.clientConfig.service;
  } else {
    co_return failed("clientConfig has neither url nor service");
  }
  request.caPem = hook.caPem;
  const auto seconds = hook.spec.timeoutSeconds ? *hook.spec.timeoutSeconds : 10;
  request.timeout = std::chrono::seconds(seconds);
  request.body = toJson(reviewOf(attributes, form, uid));
  auto call = caller_(std::move(request));
  auto answer = co_await call;
  if (!answer) co_return failed(answer.error().message);
  auto review = api::decodeText<api::AdmissionReview>(*answer);
  if (!review) co_return failed("the answer is not an AdmissionReview: " + review.error().message);
  if (!review->response) co_return failed("the answer's response is missing");
  if (review->response->uid != uid)
    co_return failed("the answer is for another request: response.uid does not match");
  co_return Answer(std::move(review->response));
}

Task<Outcome<json::value>> Webhooks::mutate(AdmissionAttributes attributes,
                                            std::vector<std::string>& warnings) {
  // Configurations may change during a call: work on a copy.
  const Hooks hooks = mutating_;
  std::vector<bool> called(hooks.size());
  std::size_t lastChange = 0;
  bool again = false;
  // A second round for webhooks that want to see the changes of later ones.
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < hooks.size(); ++i) {
      const bool reinvoke =
          hooks[i].spec.reinvocationPolicy && *hooks[i].spec.reinvocationPolicy == "IfNeeded";
      if (round == 1 && called[i] && (!reinvoke || i >= lastChange)) continue;
      const auto form = formFor(hooks[i], attributes);
      if (!form || !selects(hooks[i], attributes)) continue;
      called[i] = true;
      AdmissionAttributes shown = attributes;
      shown.object = converted(std::move(shown.object), attributes, *form, false);
      shown.oldObject = converted(std::move(shown.oldObject), attributes, *form, false);
      const auto meets = meetsConditions(hooks[i], shown, *form);
      if (!meets) co_return std::unexpected(meets.error());
      if (!*meets) continue;
      auto asking = ask(hooks[i], shown, *form);
      auto answer = co_await asking;
      if (!answer) co_return std::unexpected(std::move(answer.error()));
      if (!*answer) continue;
      const auto& response = **answer;
      for (const auto& warning : response.warnings) warnings.push_back(warning);
      if (!response.allowed) co_return refuse(denial(hooks[i].spec.name, response.status));
      if (response.patch.empty()) continue;
      auto text = net::base64Decode(response.patch);
      auto patch = text ? parseJson(*text) : Result<json::value>(std::unexpected(text.error()));
      if (patch && patch->is_array() && patch->get_array().empty()) continue;
      if (patch && attributes.object.is_null())
        co_return refuse(
            ErrorCode::Internal,
            fmt::format("Internal error occurred: admission webhook \"{}\" attempted to "
                        "modify the object, which is not supported for this operation",
                        hooks[i].spec.name));
      auto patched = patch ? api::applyJsonPatch(shown.object, *patch) : patch;
      if (!patched)
        co_return refuse(ErrorCode::Internal,
                         fmt::format("Internal error occurred: admission webhook \"{}\": its patch "
                                     "cannot be applied: {}",
                                     hooks[i].spec.name, patched.error().message));
      *patched = converted(*std::move(patched), attributes, *form, true);
      if (*patched != attributes.object) {
        attributes.object = *std::move(patched);
        lastChange = i;
        again = true;
      }
    }
    if (!again) break;
  }
  co_return std::move(attributes.object);
}

Task<Outcome<>> Webhooks::validate(AdmissionAttributes attributes,
                                   std::vector<std::string>& warnings) {
  const Hooks hooks = validating_;
  for (const auto& hook : hooks) {
    const auto form = formFor(hook, attributes);
    if (!form || !selects(hook, attributes)) continue;
    AdmissionAttributes shown = attributes;
    shown.object = converted(std::move(shown.object), attributes, *form, false);
    shown.oldObject = converted(std::move(shown.oldObject), attributes, *form, false);
    const auto meets = meetsConditions(hook, shown, *form);
    if (!meets) co_return std::unexpected(meets.error());
    if (!*meets) continue;
    auto asking = ask(hook, shown, *form);
    auto answer = co_await asking;
    if (!answer) co_return std::unexpected(std::move(answer.error()));
    if (!*answer) continue;
    for (const auto& warning : (*answer)->warnings) warnings.push_back(warning);
    if (!(*answer)->allowed) co_return refuse(denial(hook.spec.name, (*answer)->status));
  }
  co_return Outcome<>{};
}

}  // namespace koord::apiserver
