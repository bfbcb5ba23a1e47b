#include "apiserver/admission/webhooks.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "api/patch/json_patch.h"
#include "apiserver/admission/matching.h"
#include "apiserver/server/body.h"
#include "net/tls.h"

namespace koord::apiserver {
namespace {

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
  return selectsNamespace(hook.namespaceSelector, a, namespaceLabels_) &&
         selectsObject(hook.objectSelector, a);
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
  if (policies_.wants(attributes))
    if (auto good = policies_.check(attributes, warnings); !good) co_return good;
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
