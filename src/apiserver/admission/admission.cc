#include "apiserver/admission/admission.h"

namespace koord::apiserver {

void Admission::follow(std::string_view plural, const std::string& name,
                       const json::value* object) {
  if (plural == "mutatingwebhookconfigurations") webhooks_.setMutating(name, object);
  if (plural == "validatingwebhookconfigurations") webhooks_.setValidating(name, object);
  if (plural == "validatingadmissionpolicies") validating_.setPolicy(name, object);
  if (plural == "validatingadmissionpolicybindings") validating_.setBinding(name, object);
  if (plural == "mutatingadmissionpolicies") mutating_.setPolicy(name, object);
  if (plural == "mutatingadmissionpolicybindings") mutating_.setBinding(name, object);
}

bool Admission::wantsMutating(const AdmissionAttributes& a) const {
  return mutating_.mayMatch(a, RequestForms(host_.forms, a)) || webhooks_.wantsMutating(a);
}

bool Admission::wantsValidating(const AdmissionAttributes& a) const {
  return validating_.mayMatch(a, RequestForms(host_.forms, a)) || webhooks_.wantsValidating(a);
}

Task<Outcome<Admission::Mutated>> Admission::mutate(AdmissionAttributes attributes,
                                                    CompleteObject complete, AdmissionNotes notes) {
  auto mutating = mutateInPlace(attributes, std::move(complete), notes);
  const auto changed = co_await mutating;
  if (!changed) co_return std::unexpected(changed.error());
  if (!*changed) co_return Mutated();
  co_return Mutated(std::move(attributes.object));
}

Task<Outcome<bool>> Admission::mutateInPlace(AdmissionAttributes& attributes,
                                             CompleteObject complete, AdmissionNotes notes) {
  Reinvocation policies, webhooks;
  Pauses pauses(executor_);
  bool again = true;
  bool isChanged = false;
  for (const bool second : {false, true}) {
    if (!std::exchange(again, false)) break;
    policies.begin(second, attributes.object);
    auto mutating = mutating_.mutate(attributes, host_, policies, complete, again, pauses);
    if (auto good = co_await mutating; !good) co_return std::unexpected(std::move(good.error()));
    policies.end(attributes.object);
    webhooks.begin(second, attributes.object);
    auto calling = webhooks_.mutate(attributes, webhooks, complete, notes, again);
    if (auto good = co_await calling; !good) co_return std::unexpected(std::move(good.error()));
    webhooks.end(attributes.object);
    isChanged = isChanged || again;
  }
  co_return isChanged;
}

Task<Outcome<>> Admission::validate(const AdmissionAttributes& attributes, AdmissionNotes notes) {
  Pauses pauses(executor_);
  auto checking = validating_.check(attributes, host_, notes, pauses);
  if (auto good = co_await checking; !good) co_return good;
  auto calling = webhooks_.validate(attributes, notes);
  co_return co_await calling;
}

}  // namespace koord::apiserver
