#include "cluster/controllers/ownership.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "kube/client.h"

namespace koord::cluster {

json::array controlledBy(Owner owner) {
  const auto& kind = owner.type.kind;
  return {json::object{{"apiVersion", api::apiVersionOf(owner.type)},
                       {"kind", json::string_view(kind.data(), kind.size())},
                       {"name", owner.meta.name},
                       {"uid", owner.meta.uid},
                       {"controller", true},
                       {"blockOwnerDeletion", true}}};
}

Task<Result<bool>> Claims::claim(Meta object, bool matches) {
  const auto* controller = api::controllerOf(*object);
  const bool ending = owner_.meta.deletionTimestamp.has_value();
  if (controller) {
    if (controller->uid != owner_.meta.uid) co_return false;
    if (matches) co_return true;
    if (ending) co_return false;
    auto releasing = release(object);
    auto released = co_await releasing;
    if (!released) co_return fail(std::move(released.error()));
    co_return false;
  }
  if (ending || !matches || object->deletionTimestamp ||
      object->namespace_ != owner_.meta.namespace_)
    co_return false;
  auto adopting = adopt(object);
  auto adopted = co_await adopting;
  if (adopted) co_return true;
  if (adopted.error().code == ErrorCode::NotFound) co_return false;
  co_return fail(std::move(adopted.error()));
}

Task<Result<>> Claims::mayAdopt() {
  if (asked_) co_return Result<>{};
  const std::string what =
      fmt::format("{} {}", owner_.type.kind, api::keyOf(owner_.meta).toString());
  auto getting = kube::getObject(api_, owner_.type, api::keyOf(owner_.meta));
  auto current = co_await getting;
  if (!current && current.error().code != ErrorCode::NotFound)
    co_return fail(std::move(current.error()));
  const std::string uid(current ? textAt(*current, "metadata", "uid") : "");
  if (uid != owner_.meta.uid)
    co_return fail(ErrorCode::Conflict, fmt::format("original {} is gone: got uid {}, wanted {}",
                                                    what, uid, owner_.meta.uid));
  if (const auto since = textAt(*current, "metadata", "deletionTimestamp"); !since.empty())
    co_return fail(ErrorCode::Conflict, fmt::format("{} has just been deleted at {}", what, since));
  asked_ = true;
  co_return Result<>{};
}

Task<Result<>> Claims::adopt(Meta object) {
  auto asking = mayAdopt();
  auto may = co_await asking;
  if (!may) co_return may;
  json::object metadata{{"uid", object->uid}, {"ownerReferences", controlledBy(owner_)}};
  if (!finalizer_.empty()) metadata["finalizers"] = json::array{json::string(finalizer_)};
  json::value patch = json::object{{"metadata", std::move(metadata)}};
  auto patching = kube::strategicPatch(api_, type_, api::keyOf(*object), std::move(patch));
  auto patched = co_await patching;
  if (!patched) co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

Task<Result<>> Claims::release(Meta object) {
  json::object metadata{{"uid", object->uid},
                        {"ownerReferences", json::array{json::object{{"$patch", "delete"},
                                                                     {"uid", owner_.meta.uid}}}}};
  if (!finalizer_.empty())
    metadata["$deleteFromPrimitiveList/finalizers"] = json::array{json::string(finalizer_)};
  json::value patch = json::object{{"metadata", std::move(metadata)}};
  auto patching = kube::strategicPatch(api_, type_, api::keyOf(*object), std::move(patch));
  auto patched = co_await patching;
  if (patched) co_return Result<>{};
  // The object is gone, or was replaced by a new object of the same name.
  const auto code = patched.error().code;
  if (code == ErrorCode::NotFound || code == ErrorCode::Invalid || code == ErrorCode::Conflict)
    co_return Result<>{};
  co_return fail(std::move(patched.error()));
}

Result<api::Selector> ownSelector(const std::optional<api::LabelSelector>& selector) {
  if (!selector || *selector == api::LabelSelector{}) return api::Selector::nothing();
  return api::Selector::compile(selector);
}

bool selects(const std::optional<api::LabelSelector>& selector, const api::StringMap& labels) {
  const auto compiled = ownSelector(selector);
  return compiled && compiled->matches(labels);
}

Task<Result<Made>> createOrFind(kube::Api& api, Owner owner, const api::ResourceType& type,
                                json::value object) {
  const api::ObjectKey key{owner.meta.namespace_, std::string(textAt(object, "metadata", "name"))};
  const api::ObjectKey target{key.namespace_, ""};
  auto creating = kube::createObject(api, type, target, std::move(object));
  auto created = co_await creating;
  if (created) co_return Made{*std::move(created), true};
  if (created.error().code != ErrorCode::AlreadyExists) co_return fail(std::move(created.error()));
  auto getting = kube::getObject(api, type, key);
  auto found = co_await getting;
  if (!found) co_return fail(std::move(found.error()));
  if (const auto* owners = at(*found, "metadata", "ownerReferences"); owners && owners->is_array())
    for (const auto& one : owners->get_array())
      if (textAt(one, "uid") == owner.meta.uid) co_return Made{*std::move(found), false};
  co_return fail(std::move(created.error()));
}

bool namespaceEnds(const Error& error) {
  return error.code == ErrorCode::Forbidden &&
         error.message.find("is being terminated") != std::string::npos;
}

Task<Result<>> patchIfExists(kube::Api& api, const api::ResourceType& type, api::ObjectKey key,
                             json::value patch, std::string subresource) {
  auto patching =
      kube::mergePatch(api, type, std::move(key), std::move(patch), std::move(subresource));
  auto patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound)
    co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

Task<Result<>> patchIfUnchanged(kube::Api& api, const api::ResourceType& type, api::ObjectKey key,
                                json::value patch, std::string subresource) {
  auto patching =
      patchIfExists(api, type, std::move(key), std::move(patch), std::move(subresource));
  auto patched = co_await patching;
  if (!patched && patched.error().code == ErrorCode::Conflict) co_return Result<>{};
  co_return patched;
}

Task<Result<>> writeStatus(kube::Api& api, Owner owner, json::value status) {
  json::value patch =
      json::object{{"metadata", {{"uid", owner.meta.uid}}}, {"status", std::move(status)}};
  auto patching =
      patchIfUnchanged(api, owner.type, api::keyOf(owner.meta), std::move(patch), "status");
  co_return co_await patching;
}

Task<Result<>> deleteIfExists(kube::Api& api, const api::ResourceType& type,
                              const api::ObjectMeta& meta, std::string propagationPolicy) {
  kube::DeleteOptions options;
  options.uid = meta.uid;
  options.propagationPolicy = std::move(propagationPolicy);
  auto deleting = kube::deleteObject(api, type, api::keyOf(meta), std::move(options));
  auto deleted = co_await deleting;
  if (!deleted && deleted.error().code != ErrorCode::NotFound) co_return deleted;
  co_return Result<>{};
}

}  // namespace koord::cluster
