#include <fmt/format.h>

#include "apiserver/objects/edit.h"
#include "apiserver/server/body.h"
#include "apiserver/server/write.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

// The pod as bound: on its node, with the annotations and labels of the binding.
void applyBinding(json::object& pod, const json::value& binding, const std::string& node,
                  const std::string& now) {
  objectAt(pod, "spec")["nodeName"] = node;
  for (const auto* name : {"annotations", "labels"})
    if (const auto* extra = at(binding, "metadata", name); extra && extra->is_object())
      for (const auto& member : extra->get_object())
        objectAt(objectAt(pod, "metadata"), name)[member.key()] = member.value();
  auto& status = objectAt(pod, "status");
  eraseMember(status, "nominatedNodeName");  // done or obsolete
  setCondition(status, {{"type", "PodScheduled"}, {"status", "True"}, {"lastTransitionTime", now}});
}

}  // namespace

Task<Outcome<Written>> WriteCall::bind() {
  const auto& request = call_.request;
  auto body = readSubresourceKind("Binding");
  if (!body) co_return std::unexpected(std::move(body.error()));
  const std::string pod =
      request.name.empty() ? std::string(textAt(*body, "metadata", "name")) : request.name;
  const auto key = makeKey(request.namespace_, pod);

  auto a = attributes("CREATE", &*body, nullptr);
  a.name = pod;
  a.objectKind = "Binding";
  a.objectVersion = "v1";
  auto admitting = admitSubresourceKind(std::move(a), *std::move(body));
  body = co_await admitting;
  if (!body) co_return std::unexpected(std::move(body.error()));
  const std::string node(textAt(*body, "target", "name"));
  FieldErrors errors;
  if (const auto kind = textAt(*body, "target", "kind"); !kind.empty() && kind != "Node")
    errors.unsupported("target.kind", kind, {"Node", "<empty>"});
  if (node.empty()) errors.required("target.name");
  if (!errors.empty()) co_return refuse(errors.failure("Binding", pod));

  const auto entry = target_.table->find(key);
  if (!entry) co_return refuse(notFound(*target_.resource, pod));
  auto old = readOld(*entry);
  if (!old) co_return std::unexpected(std::move(old.error()));
  const auto refused = [&](std::string_view why) {
    return refuse(
        ErrorCode::Conflict,
        fmt::format("Operation cannot be fulfilled on pods/binding \"{}\": {}", pod, why));
  };
  const auto uid = textAt(*old, "metadata", "uid");
  if (const auto wanted = textAt(*body, "metadata", "uid"); !wanted.empty() && wanted != uid)
    co_return refused(fmt::format(
        "Precondition failed: UID in precondition: {}, UID in object meta: {}", wanted, uid));
  if (!textAt(*old, "metadata", "deletionTimestamp").empty())
    co_return refused(fmt::format("pod {} is being deleted, cannot be assigned to a host", pod));
  if (const auto bound = textAt(*old, "spec", "nodeName"); !bound.empty())
    co_return refused(fmt::format("pod {} is already assigned to node \"{}\"", pod, bound));
  if (const auto* gates = at(*old, "spec", "schedulingGates");
      gates && gates->is_array() && !gates->get_array().empty())
    co_return refused(fmt::format("pod {} has non-empty .spec.schedulingGates", pod));

  json::value next = *old;
  applyBinding(next.get_object(), *body, node, formatTime(server_.executor_.wallNow()));
  managed_ = entry->managedFields();  // a binding does not own fields
  if (!dryRun_) put(next);
  co_return Written{bytesOf(successText(request, "", "")), 201};
}

}  // namespace koord::apiserver
