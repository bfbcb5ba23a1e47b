#include "apiserver/admission/webhooks.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "api/patch/json_patch.h"
#include "apiserver/admission/matching.h"
#include "apiserver/server/body.h"
#include "base/brief_json.h"
#include "base/json_equal.h"
#include "net/tls.h"

namespace koord::apiserver {
namespace {

// The text of an AdmissionReview. The objects are written into it without a copy of their trees.
std::string reviewOf(const AdmissionAttributes& a, const ResourceForm& form,
                     const std::string& uid) {
  json::object request = requestOf(a, form);
  request["uid"] = uid;
  std::string members = toJson(request);
  members.pop_back();  // the brace that ends the request
  return fmt::format(R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
                     R"("request":{},"object":{},"oldObject":{}}}}})",
                     members, toJson(a.object), toJson(a.oldObject));
}

Result<api::AdmissionReview> reviewIn(std::string_view text) {
  const BriefJson document(text);
  if (!document) return fail(document.error());
  return api::decode<api::AdmissionReview>(*document);
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
  std::vector<Hook> next = *hooks;
  std::erase_if(next, [&](const Hook& hook) { return hook.configuration == name; });
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
    for (const auto& rule : webhook.rules) hook.rules.push_back({rule});
    hook.spec = std::move(webhook);
    next.push_back(std::move(hook));
  }
  std::ranges::stable_sort(next, {}, &Hook::configuration);
  hooks = std::make_shared<const std::vector<Hook>>(std::move(next));
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

std::optional<ResourceForm> Webhooks::formFor(const Hook& hook, const AdmissionAttributes& a,
                                              const RequestForms& forms) {
  // Webhooks are not called for their own configuration, so that they cannot block its repair.
  if (a.resource->group == "admissionregistration.k8s.io") return std::nullopt;
  const bool equivalent = !hook.spec.matchPolicy || *hook.spec.matchPolicy == "Equivalent";
  return matchedForm(hook.rules, equivalent, a, forms);
}

const AdmissionAttributes& Webhooks::shownIn(const AdmissionAttributes& a,
                                             const RequestForms& forms, const ResourceForm& form,
                                             AdmissionAttributes& shown) {
  if (!form.resource) return a;
  shown = a;
  shown.object = forms.converted(std::move(shown.object), form, false);
  shown.oldObject = forms.converted(std::move(shown.oldObject), form, false);
  return shown;
}

bool Webhooks::selects(const Hook& hook, const AdmissionAttributes& a) const {
  return selectsNamespace(hook.namespaceSelector, a, host_.namespaceLabels) &&
         selectsObject(hook.objectSelector, a);
}

Outcome<bool> Webhooks::meetsConditions(const Hook& hook, const AdmissionAttributes& a,
                                        const ResourceForm& form) const {
  if (hook.conditions.empty()) return true;
  const UserAuthorizer authorizer(host_.authorize, a.user);
  const json::value request = requestOf(a, form);
  const auto matched = hook.conditions.match({a.object, a.oldObject, request, authorizer});
  if (matched) return *matched;
  if (hook.spec.failurePolicy == "Ignore") return false;
  return refuse(ErrorCode::Forbidden,
                fmt::format("{} \"{}\" is forbidden: {}", a.resource->qualified(), a.name,
                            matched.error().message));
}

bool Webhooks::wants(const Hooks& hooks, const AdmissionAttributes& attributes) const {
  const RequestForms forms(host_.forms, attributes);
  return std::ranges::any_of(
      *hooks, [&](const Hook& hook) { return formFor(hook, attributes, forms).has_value(); });
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
  if (!caller_) co_return failed("this server cannot call webhooks");

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
  request.body = reviewOf(attributes, form, uid);
  auto call = caller_(std::move(request));
  auto answer = co_await call;
  if (!answer) co_return failed(answer.error().message);
  auto review = reviewIn(*answer);
  if (!review)
    co_return failed("the response is not an AdmissionReview: " + review.error().message);
  if (!review->response) co_return failed("the field response is missing");
  if (review->response->uid != uid)
    co_return failed("the response is for another request: response.uid does not match");
  co_return Answer(std::move(review->response));
}

namespace {

std::string internal(std::string_view webhook, std::string_view why) {
  return fmt::format("Internal error occurred: admission webhook \"{}\"{}", webhook, why);
}

// The object after the patch of a response, which has one.
Outcome<json::value> patchedObject(const std::string& webhook, const json::value& object,
                                   const api::AdmissionResponse& response) {
  const auto text = net::base64Decode(response.patch);
  if (!text)
    return refuse(ErrorCode::Internal,
                  internal(webhook, ": its patch cannot be applied: " + text.error().message));
  const BriefJson patch(*text);
  if (patch && patch->is_array() && patch->get_array().empty()) return object;
  if (patch && object.is_null())
    return refuse(ErrorCode::Internal,
                  internal(webhook,
                           " attempted to modify the object, which is not supported for "
                           "this operation"));
  auto patched = patch ? api::applyJsonPatch(object, *patch) : fail(patch.error());
  if (patched) return *std::move(patched);
  return refuse(ErrorCode::Internal,
                internal(webhook, ": its patch cannot be applied: " + patched.error().message));
}

}  // namespace

Task<Outcome<>> Webhooks::mutate(AdmissionAttributes& attributes, Reinvocation& rounds,
                                 const CompleteObject& complete, AdmissionNotes& notes,
                                 bool& again) {
  const RequestForms forms(host_.forms, attributes);
  // Configurations may change during a call.
  const Hooks hooks = mutating_;
  for (const Hook& hook : *hooks) {
    const auto form = formFor(hook, attributes, forms);
    const std::string key = hook.configuration + "/" + hook.spec.name;
    if (!form || !selects(hook, attributes)) continue;
    AdmissionAttributes inForm;
    const AdmissionAttributes& shown = shownIn(attributes, forms, *form, inForm);
    const auto meets = meetsConditions(hook, shown, *form);
    if (!meets) co_return std::unexpected(meets.error());
    if (!*meets || !rounds.mayCall(key)) continue;
    auto asking = ask(hook, shown, *form);
    auto answer = co_await asking;
    if (!answer) co_return std::unexpected(std::move(answer.error()));
    const bool reinvocable =
        hook.spec.reinvocationPolicy && *hook.spec.reinvocationPolicy == "IfNeeded";
    if (!*answer) {  // the call failed
      if (reinvocable) rounds.onCalled(key);
      continue;
    }
    const auto& response = **answer;
    for (const auto& warning : response.warnings) notes.warnings.push_back(warning);
    if (!response.allowed) co_return refuse(denial(hook.spec.name, response.status));
    if (!response.patch.empty()) {
      auto patched = patchedObject(hook.spec.name, shown.object, response);
      if (!patched) co_return std::unexpected(std::move(patched.error()));
      json::value object = forms.converted(*std::move(patched), *form, true);
      if (!sameJson(object, attributes.object)) {
        if (auto good = complete(object, false); !good)
          co_return std::unexpected(std::move(good.error()));
        attributes.object = std::move(object);
        rounds.onChange();
        again = true;
      }
    }
    if (reinvocable) rounds.onCalled(key);
  }
  co_return Outcome<>{};
}

Task<Outcome<>> Webhooks::validate(const AdmissionAttributes& attributes, AdmissionNotes& notes) {
  const RequestForms forms(host_.forms, attributes);
  const Hooks hooks = validating_;
  for (const Hook& hook : *hooks) {
    const auto form = formFor(hook, attributes, forms);
    if (!form || !selects(hook, attributes)) continue;
    AdmissionAttributes inForm;
    const AdmissionAttributes& shown = shownIn(attributes, forms, *form, inForm);
    const auto meets = meetsConditions(hook, shown, *form);
    if (!meets) co_return std::unexpected(meets.error());
    if (!*meets) continue;
    auto asking = ask(hook, shown, *form);
    auto answer = co_await asking;
    if (!answer) co_return std::unexpected(std::move(answer.error()));
    if (!*answer) continue;
    for (const auto& warning : (*answer)->warnings) notes.warnings.push_back(warning);
    if (!(*answer)->allowed) co_return refuse(denial(hook.spec.name, (*answer)->status));
  }
  co_return Outcome<>{};
}

}  // namespace koord::apiserver
