#include "apiserver/server/write.h"

#include <fmt/format.h>

#include "api/patch/json_patch.h"
#include "api/patch/merge_patch.h"
#include "api/patch/strategic_patch.h"
#include "apiserver/admission/builtin.h"
#include "apiserver/admission/node_restriction.h"
#include "apiserver/admission/resource_claims.h"
#include "apiserver/admission/service_account.h"
#include "apiserver/admission/storage.h"
#include "apiserver/authz/escalation.h"
#include "apiserver/authz/param_access.h"
#include "apiserver/authz/validate.h"
#include "apiserver/objects/defaults_resource.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/resource_versions.h"
#include "apiserver/objects/service_fields.h"
#include "apiserver/objects/validate.h"
#include "apiserver/registry/crd.h"
#include "apiserver/server/body.h"
#include "apiserver/server/render.h"
#include "apiserver/server/scale.h"
#include "base/json_equal.h"
#include "base/json_measure.h"

namespace koord::apiserver {
namespace {

constexpr int kAttempts = 16;
// etcd's default limit.
constexpr std::size_t kMaxObjectBytes = 1'572'864;

}  // namespace

Task<Outcome<Written>> WriteCall::run() {
  auto target = findTarget(server_.registry_, server_.store_, call_.request, !call_.ofServer);
  if (!target) co_return std::unexpected(std::move(target.error()));
  target_ = *std::move(target);
  auto dryRun = isDryRun(call_.request);
  if (!dryRun) co_return std::unexpected(std::move(dryRun.error()));
  dryRun_ = *dryRun;
  if (const auto& failure = server_.store_.failure()) co_return refuse(storageFailure(*failure));
  if (!target_.version->deprecationWarning.empty())
    warnings_.push_back(target_.version->deprecationWarning);

  const auto& request = call_.request;
  if (request.subresource == "scale") {
    auto task = scale();
    co_return co_await task;
  }
  switch (request.verb) {
    case kube::Verb::Create: {
      auto task = request.subresource == "binding"    ? bind()
                  : request.subresource == "eviction" ? evict()
                  : request.subresource == "token"    ? issueToken()
                                                      : create();
      co_return co_await task;
    }
    case kube::Verb::Update: {
      auto task = update();
      co_return co_await task;
    }
    case kube::Verb::Patch: {
      auto task = patch();
      co_return co_await task;
    }
    case kube::Verb::Delete: {
      auto task = remove();
      co_return co_await task;
    }
    case kube::Verb::DeleteCollection: {
      auto task = removeAll();
      co_return co_await task;
    }
    default:
      co_return refuse(ErrorCode::MethodNotAllowed,
                       "the server does not allow this method on the requested resource");
  }
}

Task<Outcome<Written>> WriteCall::create() {
  if (!call_.request.subresource.empty() || !call_.request.name.empty())
    co_return refuse(ErrorCode::MethodNotAllowed,
                     "the server does not allow this method on the requested resource");
  auto object = readBody(call_.request, target_, warnings_);
  if (!object) co_return std::unexpected(std::move(object.error()));
  auto task = createObject(*std::move(object));
  co_return co_await task;
}

Task<Outcome<Written>> WriteCall::createObject(json::value object) {
  if (auto good = admitCreation(); !good) co_return std::unexpected(std::move(good.error()));
  const auto givenManaged = takeManagedFields(object);
  if (auto good = completeName(object, call_.request, target_, server_.random_); !good)
    co_return std::unexpected(std::move(good.error()));
  track(nullptr, object, givenManaged);
  newName_ = textAt(object, "metadata", "name");
  const std::string namespace_(textAt(object, "metadata", "namespace"));
  if (auto good = checkDefinition(); !good) co_return std::unexpected(std::move(good.error()));
  if (auto good = admitToNamespace(namespace_, target_, newName_, server_.store_); !good)
    co_return std::unexpected(std::move(good.error()));
  auto mutating = mutate(std::move(object), nullptr);
  auto mutated = co_await mutating;
  if (!mutated) co_return std::unexpected(std::move(mutated.error()));
  object = *std::move(mutated);
  // Admission may give the object another name, but not another namespace.
  if (auto good = completeName(object, call_.request, target_, server_.random_); !good)
    co_return std::unexpected(std::move(good.error()));
  if (textAt(object, "metadata", "namespace") != namespace_)
    co_return refuse(
        ErrorCode::BadRequest,
        "the namespace of the provided object does not match the namespace sent on the request");
  const std::string name(textAt(object, "metadata", "name"));
  newName_ = name;
  if (auto good = admitGrantOf(object, nullptr); !good)
    co_return std::unexpected(std::move(good.error()));
  if (auto good = prepareCreate(object, target_, server_.executor_.wallNow(), server_.random_);
      !good)
    co_return std::unexpected(std::move(good.error()));
  const auto held = allocateAddresses(object, nullptr);
  if (!held) co_return std::unexpected(held.error());
  auto validating = validate(object, nullptr);
  if (auto good = co_await validating; !good) co_return std::unexpected(std::move(good.error()));

  if (auto good = checkDefinition(); !good) co_return std::unexpected(std::move(good.error()));
  const auto key = makeKey(target_.resource->namespaced ? namespace_ : "", name);
  if (target_.table->find(key)) co_return refuse(alreadyExists(*target_.resource, name));
  if (auto good = server_.quotas_.admit(object, *target_.stored); !good)
    co_return std::unexpected(std::move(good.error()));
  if (auto good = checkSize(object, 0); !good) co_return std::unexpected(std::move(good.error()));
  if (dryRun_) co_return answer(object, 201);
  const auto entry = put(object);
  if (auto done = followUp(&object, name); !done)
    co_return std::unexpected(std::move(done.error()));
  co_return answer(*entry, 201);
}

Task<Outcome<Written>> WriteCall::update() {
  auto object = readBody(call_.request, target_, warnings_);
  if (!object) co_return std::unexpected(std::move(object.error()));
  const auto& request = call_.request;
  const auto version = textAt(*object, "metadata", "resourceVersion");
  if (const auto name = textAt(*object, "metadata", "name"); name != request.name)
    co_return refuse(
        ErrorCode::BadRequest,
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                    request.name));
  const auto key = makeKey(target_.resource->namespaced ? request.namespace_ : "", request.name);
  if (!target_.table->find(key) && target_.resource->createOnUpdate && version.empty() &&
      request.subresource.empty()) {
    auto creating = createObject(*std::move(object));
    co_return co_await creating;
  }
  if (version.empty() && target_.resource->conditionalUpdatesOnly)
    co_return refuse(
        FieldErrors()
            .invalid("metadata.resourceVersion", std::int64_t{0}, "must be specified for an update")
            .failure(target_.kindName(), request.name));
  auto changing = modify([body = *std::move(object)](const json::value&, WriteCall&) {
    return Outcome<json::value>(body);
  });
  co_return co_await changing;
}

Task<Outcome<Written>> WriteCall::patch() {
  const auto& request = call_.request;
  if (request.patchType == kube::PatchType::Apply) {
    auto applying = apply();
    co_return co_await applying;
  }
  if (!queryOf(request, "force").empty())
    co_return refuse(FieldErrors()
                         .forbidden("force", "may not be specified for non-apply patch")
                         .failure("PatchOptions.meta.k8s.io", ""));
  auto body = parseJson(request.body);
  if (!body) co_return refuse(std::move(body.error()).within("error decoding patch"));
  if (request.patchType == kube::PatchType::Strategic && target_.resource->custom)
    co_return refuse(ErrorCode::UnsupportedMediaType,
                     "the body of the request was in an unknown format - accepted media types "
                     "include: application/json-patch+json, "
                     "application/merge-patch+json, application/apply-patch+yaml");
  auto changing = modify(
      [patch = *std::move(body)](const json::value& old, WriteCall& call) -> Outcome<json::value> {
        const auto type = call.call_.request.patchType;
        json::value form = old;
        toRequestedForm(form, call.target_);
        if (call.call_.request.body.find("managedFields") != std::string::npos)
          if (auto managed = parseJson(call.managed_))
            form.get_object()["metadata"].get_object()["managedFields"] = *std::move(managed);
        auto next = type == kube::PatchType::Json ? api::applyJsonPatch(form, patch)
                    : type == kube::PatchType::Merge
                        ? api::applyMergePatch(form, patch)
                        : api::applyStrategicPatch(form, patch, *call.target_.version->schema);
        if (!next) {
          if (type == kube::PatchType::Json && next.error().code == ErrorCode::Invalid)
            return refuse(ErrorCode::Invalid,
                          "the server rejected our request due to an error in our request: " +
                              next.error().message);
          return refuse(std::move(next.error()));
        }
        call.warnings_.clear();
        if (auto good = admitObject(*next, call.call_.request, call.target_, call.warnings_); !good)
          return std::unexpected(std::move(good.error()));
        return *std::move(next);
      });
  auto outcome = co_await changing;
  co_return outcome;
}

Task<Outcome<Written>> WriteCall::modify(Change change) {
  const auto& request = call_.request;
  const auto key = makeKey(target_.resource->namespaced ? request.namespace_ : "", request.name);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto entry = target_.table->find(key);
    if (!entry) co_return refuse(notFound(*target_.resource, request.name));
    auto old = readOld(*entry);
    if (!old) co_return std::unexpected(std::move(old.error()));
    managed_ = oldManaged_ = entry->managedFields();
    auto changed = change(*old, *this);
    if (!changed) co_return std::unexpected(std::move(changed.error()));
    json::value next = *std::move(changed);
    const auto givenManaged = takeManagedFields(next);
    const std::string wanted(textAt(next, "metadata", "resourceVersion"));
    if (!wanted.empty() && wanted != "0" && wanted != std::to_string(entry->version))
      co_return refuse(modified(*target_.resource, request.name));
    if (auto good = prepareUpdate(next, *old, target_, request.subresource); !good)
      co_return std::unexpected(std::move(good.error()));
    track(&*old, next, givenManaged);

    auto mutating = mutate(std::move(next), &*old);
    auto mutated = co_await mutating;
    if (!mutated) co_return std::unexpected(std::move(mutated.error()));
    next = *std::move(mutated);
    // Built-in admission changes no status.
    if (mutated_ || request.subresource != "status")
      if (auto good = prepareUpdate(next, *old, target_, request.subresource); !good)
        co_return std::unexpected(std::move(good.error()));
    if (auto good = admitGrantOf(next, &*old); !good)
      co_return std::unexpected(std::move(good.error()));
    const auto held = allocateAddresses(next, &*old);
    if (!held) co_return std::unexpected(held.error());
    auto validating = validate(next, &*old);
    if (auto good = co_await validating; !good) co_return std::unexpected(std::move(good.error()));
    if (target_.table->find(key) != entry) continue;  // another write came during the webhook calls

    if (!newOwners_ && sameObject(next, *old)) co_return answer(*entry, 200);
    const bool pods = target_.stored->isCore("pods");
    if (pods ? request.subresource == "resize" : request.subresource.empty())
      if (auto good = server_.quotas_.admit(next, *target_.stored); !good)
        co_return std::unexpected(std::move(good.error()));
    if (auto good = checkSize(next, entry->text.size()); !good)
      co_return std::unexpected(std::move(good.error()));
    if (dryRun_) co_return answer(next, 200);
    const bool gone = isDeletable(next);
    if (gone) {
      erase(entry);
      if (auto done = followUp(nullptr, request.name); !done)
        co_return std::unexpected(std::move(done.error()));
      co_return answer(next, 200);
    }
    const auto stored = put(next);
    if (auto done = followUp(&next, request.name); !done)
      co_return std::unexpected(std::move(done.error()));
    co_return answer(*stored, 200);
  }
  co_return refuse(modified(*target_.resource, request.name));
}

Outcome<json::value> WriteCall::readOld(const Entry& entry) const {
  auto old = parseJson(entry.bareText());
  if (!old)
    return refuse(ErrorCode::Internal, fmt::format("{}: the stored object cannot be read: {}",
                                                   entry.key, old.error().message));
  return *std::move(old);
}

AdmissionAttributes WriteCall::attributes(std::string operation, const json::value* object,
                                          const json::value* old) const {
  AdmissionAttributes out;
  out.resource = target_.resource.get();
  out.version = target_.version->name;
  out.subresource = call_.request.subresource;
  const json::value* named = object ? object : old;
  out.name = named ? textAt(*named, "metadata", "name") : std::string_view(call_.request.name);
  out.namespace_ = target_.resource->namespaced ? call_.request.namespace_ : "";
  if (out.namespace_.empty() && target_.resource->namespaced && named)
    out.namespace_ = textAt(*named, "metadata", "namespace");
  out.operation = std::move(operation);
  out.user = call_.user;
  out.dryRun = dryRun_;
  return out;
}

Task<Outcome<json::value>> WriteCall::mutate(json::value object, const json::value* old) {
  const bool creating = old == nullptr;
  if (auto good = admitBuiltin(object, old); !good)
    co_return std::unexpected(std::move(good.error()));
  auto a = attributes(creating ? "CREATE" : "UPDATE", &object, old);
  if (call_.ofServer || !server_.admission_.wantsMutating(a)) co_return std::move(object);
  if (call_.request.subresource == "scale") {
    auto scaling = mutateScale(std::move(a), std::move(object), *old);
    co_return co_await scaling;
  }

  // An object in its stored form is lent to admission, others are copied.
  const bool lent = target_.sameForm();
  a.object = webhookForm(lent ? std::move(object) : object, managed_);
  if (old) a.oldObject = webhookForm(*old, oldManaged_);
  auto asking = server_.admission_.mutateInPlace(
      a, [this](json::value& changed, bool strict) { return completeMutated(changed, strict); },
      notes());
  const auto changed = co_await asking;
  if (!changed) co_return std::unexpected(changed.error());
  if (!*changed) co_return lent ? ownForm(std::move(a.object)) : std::move(object);
  mutated_ = true;
  json::value mutated = std::move(a.object);
  // Sets the owners before the webhook's changes are known: these have no owner unless the webhook
  // sets one.
  takeManagers(takeManagedFields(mutated));
  // The result is a new object: completed and admitted like an object from a client.
  toStoredForm(mutated, target_);
  if (auto good = admitBuiltin(mutated, old); !good)
    co_return std::unexpected(std::move(good.error()));
  co_return std::move(mutated);
}

Outcome<> WriteCall::completeMutated(json::value& object, bool strict) {
  if (!object.is_object() || !find(object, "metadata"))
    return refuse(ErrorCode::Internal, "admission removed the object's metadata");
  kube::Request how;
  how.query["fieldValidation"] = strict ? "Strict" : "Ignore";
  if (auto good = admitObject(object, how, target_, warnings_); !good)
    return refuse(ErrorCode::Internal,
                  "Internal error occurred: admission produced an invalid object: " +
                      good.error().error.message);
  toRequestedForm(object, target_);
  return {};
}

Task<Outcome<>> WriteCall::validate(json::value& object, const json::value* old) {
  if (auto good = validateObject(
          object, old, *target_.stored,
          target_.resource->custom ? *target_.version : target_.stored->storageVersion(),
          call_.request.subresource, server_.options_.loopbackEndpoints);
      !good)
    co_return std::unexpected(std::move(good.error()));
  if (auto good = validateRbac(object, old, *target_.stored); !good)
    co_return std::unexpected(std::move(good.error()));
  if (auto good = checkKindRules(object, old); !good)
    co_return std::unexpected(std::move(good.error()));
  // Limits apply to new pods and to resized pods.
  const bool resized = call_.request.subresource == "resize";
  if (auto good = checkAdmission(object, resized ? nullptr : old, *target_.stored, server_.store_);
      !good)
    co_return std::unexpected(std::move(good.error()));
  if (auto good = admitAdminAccess(object, old, *target_.stored, server_.store_); !good)
    co_return std::unexpected(std::move(good.error()));
  if (auto* authorizer = server_.authorizer();
      authorizer && old && target_.stored->is(kResourceGroup, "resourceclaims") &&
      call_.request.subresource == "status")
    if (auto good = admitClaimStatus(call_, object, *old, *authorizer); !good)
      co_return std::unexpected(std::move(good.error()));
  if (auto good = admitNode(old ? "UPDATE" : "CREATE", &object, old); !good)
    co_return std::unexpected(std::move(good.error()));
  auto a = attributes(old ? "UPDATE" : "CREATE", &object, old);
  if (call_.ofServer || !server_.admission_.wantsValidating(a)) co_return Outcome<>{};
  const bool scales = old && call_.request.subresource == "scale";
  const bool lent = !scales && target_.sameForm();
  if (scales) {
    showScale(a, object, *old);
  } else {
    a.object = webhookForm(lent ? std::move(object) : object, managed_);
    if (old) a.oldObject = webhookForm(*old, oldManaged_);
  }
  auto asking = server_.admission_.validate(a, notes());
  auto good = co_await asking;
  if (lent) object = ownForm(std::move(a.object));
  co_return std::move(good);
}

Outcome<> WriteCall::admitBuiltin(json::value& object, const json::value* old) {
  const bool creating = old == nullptr;
  completeRbac(object, *target_.stored);
  if (target_.stored->group == kResourceGroup && call_.request.subresource.empty())
    setTaintTimes(object, old, target_.stored->plural, server_.executor_.wallNow());
  if (creating && target_.stored->isCore("pods")) {
    if (server_.options_.serviceAccounts)
      if (auto good = admitServiceAccount(object, server_.store_, server_.random_); !good)
        return good;
    return completePod(object, server_.store_);
  }
  if (target_.stored->isCore("pods") && call_.request.subresource.empty())
    completeTolerations(object);
  if (creating) completeStorage(object, *target_.stored, server_.store_);
  return {};
}

Outcome<ServiceAddresses::Hold> WriteCall::allocateAddresses(json::value& object,
                                                             const json::value* old) {
  if (!target_.stored->isCore("services") || !call_.request.subresource.empty())
    return ServiceAddresses::Hold();
  completeService(object, old);
  const auto key =
      makeKey(textAt(object, "metadata", "namespace"), textAt(object, "metadata", "name"));
  return server_.addresses_.complete(object, key, server_.random_);
}

Outcome<> WriteCall::admitNode(std::string_view operation, const json::value* object,
                               const json::value* old) const {
  if (!isNodeUser(call_.user)) return {};
  const auto& named = object ? *object : *old;
  return admitNodeWrite({call_.user, *target_.resource, operation, call_.request.subresource,
                         textAt(named, "metadata", "namespace"), textAt(named, "metadata", "name"),
                         object, old});
}

Outcome<> WriteCall::admitGrantOf(const json::value& object, const json::value* old) {
  auto* authorizer = server_.authorizer();
  if (!authorizer) return {};
  if (auto good = admitParamAccess(*authorizer, server_.registry_, server_.store_, call_.user,
                                   *target_.resource, object, old);
      !good)
    return good;
  return admitGrant(*authorizer, call_.user, *target_.resource, object, old);
}

Outcome<> WriteCall::admitCreation() {
  auto* authorizer = server_.authorizer();
  if (!authorizer || call_.request.verb == kube::Verb::Create) return {};
  auto attributes = attributesOf(call_);
  attributes.verb = "create";
  return authorizer->require(attributes);
}

// The definition of a custom resource may have been deleted meanwhile, or be terminating.
Outcome<> WriteCall::checkDefinition() const {
  if (!target_.resource->custom) return {};
  const auto now = server_.registry_.findByTable(target_.table->name());
  if (!now) return refuse(ErrorCode::NotFound, "the server could not find the requested resource");
  if (!now->terminating) return {};
  return refuse(ErrorCode::MethodNotAllowed,
                "create not allowed while custom resource definition is terminating");
}

// A CustomResourceDefinition must define a valid resource, unless it was stored in this form.
Outcome<> WriteCall::checkKindRules(const json::value& object, const json::value* old) {
  if (!isCrd(*target_.resource)) return {};
  const auto resource = resourceOfCrd(object);
  if (!resource && old && sameJson(memberOf(object, "spec"), memberOf(*old, "spec"))) return {};
  const auto good =
      resource ? checkCrd(object, server_.registry_, old) : Result<>(fail(resource.error()));
  FieldErrors errors;
  if (!good) {
    errors.addText(good.error().message);
  } else {
    for (const std::string& problem : checkRules(*resource, object, old)) errors.addText(problem);
  }
  return errors.verdict(target_.kindName(), textAt(object, "metadata", "name"));
}

// Updates the parts of the server that depend on an object; null when it was deleted.
Outcome<> WriteCall::followUp(const json::value* object, std::string_view name) {
  const auto& resource = *target_.resource;
  if (resource.group == "admissionregistration.k8s.io") {
    server_.admission_.follow(resource.plural, std::string(name), object);
    if (object && resource.plural == "validatingadmissionpolicies")
      server_.policyChecks_->start(std::string(name));
  } else if (isCrd(resource)) {
    if (object) {
      // A stored definition that violates a newer rule is not served, but may still be changed and
      // deleted.
      if (auto learnt = resourceOfCrd(*object)) server_.registry_.put(*std::move(learnt));
      if (waitsForCleanup(*object)) server_.crdCleanup_->start(std::string(name));
    } else if (const auto known = server_.registry_.findByTable(name); !known || known->custom) {
      // Objects of a built-in kind stay if a leftover definition of its name is deleted.
      server_.store_.eraseAll(server_.store_.table(name));
      server_.quotas_.tableRemoved(std::string(name));
      server_.registry_.remove(name);
    }
  }
  return {};
}

// A single request cannot create an object that is too large, but many small ones could. An object
// that is nested too deeply would break every list that contains it.
Outcome<> WriteCall::checkSize(const json::value& object, std::size_t before) const {
  const auto size = measureJson(object);
  if (size.depth > kMaxJsonDepth)
    return refuse(
        ErrorCode::BadRequest,
        fmt::format("{} \"{}\" is nested {} levels deep, more than the {} that can be stored",
                    target_.kindName(), textAt(object, "metadata", "name"), size.depth,
                    kMaxJsonDepth));
  const auto bytes = size.bytes + managed_.size();
  if (bytes <= std::max(kMaxObjectBytes, before)) return {};
  return refuse(
      ErrorCode::RequestEntityTooLarge,
      fmt::format("{} \"{}\" would have {} bytes, more than the {} that can be stored "
                  "(etcd: request is too large)",
                  target_.kindName(), textAt(object, "metadata", "name"), bytes, kMaxObjectBytes));
}

void WriteCall::stored() {
  earlierReverted_ = onReverted();
  storedEpoch_ = server_.store_.epoch();
  storedVersion_ = server_.store_.version() + 1;
}

bool WriteCall::onReverted() const {
  return earlierReverted_ ||
         (storedVersion_ != 0 && server_.store_.isReverted(storedEpoch_, storedVersion_));
}

EntryPtr WriteCall::put(const json::value& object) {
  stored();
  auto entry =
      server_.store_.put(*target_.table, draftOf(object, *target_.stored), object, managed_);
  server_.quotas_.changed(*target_.stored, entry->key, &object);
  if (target_.stored->isCore("services")) server_.addresses_.changed(entry->key, &object);
  return entry;
}

void WriteCall::erase(const EntryPtr& entry) {
  stored();
  server_.store_.erase(*target_.table, entry);
  server_.quotas_.changed(*target_.stored, entry->key, nullptr);
  if (target_.stored->isCore("services")) server_.addresses_.changed(entry->key, nullptr);
}

Written WriteCall::answer(const Entry& entry, int status) const {
  if (call_.request.subresource == "scale")
    if (const auto object = readOld(entry)) return answer(*object, status);
  return {bytesOf(renderOne(call_, target_, entry.text, server_.executor_.wallNow())), status};
}

Written WriteCall::answer(const json::value& object, int status) const {
  if (call_.request.subresource == "scale")
    return {bytesOf(toJson(scaleOf(object, *target_.version->scale))), status};
  json::value whole = object;
  if (auto managed = parseJson(managed_))
    objectAt(whole.get_object(), "metadata")["managedFields"] = *std::move(managed);
  return {bytesOf(renderOne(call_, target_, toJson(whole), server_.executor_.wallNow())), status};
}

}  // namespace koord::apiserver
