#include "apiserver/admission/policy_params.h"

#include "api/codec.h"
#include "api/selector.h"

namespace koord::apiserver {

PolicyParam PolicyParams::parsed(const Target& kind, const EntryPtr& entry) {
  const auto [it, isNew] = parsed_.try_emplace({entry, kind.version});
  if (isNew)
    if (auto object = parseJson(requestedText(*entry, kind)))
      it->second = std::make_shared<const json::value>(*std::move(object));
  return it->second;
}

Result<std::vector<PolicyParam>> PolicyParams::find(const Target& kind, const json::value& paramRef,
                                                    const std::string& namespace_) {
  std::string space(textAt(paramRef, "namespace"));
  if (!kind.resource->namespaced && !space.empty())
    return fail(ErrorCode::Invalid,
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  if (kind.resource->namespaced && space.empty()) space = namespace_;
  if (kind.resource->namespaced && space.empty())
    return fail(ErrorCode::Invalid,
                "cannot use namespaced paramRef in policy binding that matches "
                "cluster-scoped resources");
  std::vector<PolicyParam> found;
  const auto add = [&](const EntryPtr& entry) {
    if (PolicyParam param = parsed(kind, entry)) found.push_back(std::move(param));
  };
  if (const auto name = textAt(paramRef, "name"); !name.empty()) {
    if (const auto entry = kind.table->find(makeKey(space, name))) add(entry);
    return found;
  }
  const auto decoded = api::decode<api::LabelSelector>(memberOf(paramRef, "selector"));
  const auto selector = decoded ? api::Selector::compile(*decoded)
                                : Result<api::Selector>(std::unexpected(decoded.error()));
  if (!selector) return fail(selector.error());
  const auto [first, last] = kind.table->range(space);
  for (auto it = first; it != last; ++it)
    if (selector->matches(it->second->labels)) add(it->second);
  return found;
}

}  // namespace koord::apiserver
