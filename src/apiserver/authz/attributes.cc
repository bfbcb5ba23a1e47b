#include "apiserver/authz/attributes.h"

#include <fmt/format.h>

#include "kube/verb_name.h"

namespace koord::apiserver {
namespace {

// The value that a field selector requires for a field: "a=b,c==d". A view into the selector.
std::string_view selectedValue(std::string_view selector, std::string_view field) {
  while (!selector.empty()) {
    const auto comma = selector.find(',');
    auto term = selector.substr(0, comma);
    selector = comma == std::string_view::npos ? std::string_view{} : selector.substr(comma + 1);
    if (!term.starts_with(field)) continue;
    term.remove_prefix(field.size());
    if (!term.starts_with('=')) continue;
    term.remove_prefix(term.starts_with("==") ? 2 : 1);
    return term;
  }
  return {};
}

}  // namespace

Attributes attributesOf(const Call& call, bool asBindings) {
  const auto& request = call.request;
  Attributes out{.user = call.user,
                 .verb = kube::verbName(request.verb),
                 .path = {},
                 .group = request.group,
                 .resource = request.resource,
                 .subresource = request.subresource,
                 .namespace_ = request.namespace_,
                 .name = request.name,
                 .selectedNode = {}};
  if (request.group.empty() && request.resource == "namespaces") out.namespace_ = request.name;
  if (asBindings) {
    out.resource = "bindings";
    out.subresource = out.name = {};
  }
  const bool many = request.verb == kube::Verb::List || request.verb == kube::Verb::Watch ||
                    request.verb == kube::Verb::DeleteCollection;
  const auto selector = many ? request.query.find("fieldSelector") : request.query.end();
  if (selector != request.query.end()) {
    if (out.name.empty()) out.name = selectedValue(selector->second, "metadata.name");
    out.selectedNode = selectedValue(selector->second, "spec.nodeName");
  }
  return out;
}

std::string deniedText(const Attributes& a) {
  if (!a.isResource())
    return fmt::format("User \"{}\" cannot {} path \"{}\"", a.user.name, a.verb, a.path);
  const auto where = a.namespace_.empty() ? std::string("at the cluster scope")
                                          : fmt::format("in the namespace \"{}\"", a.namespace_);
  return fmt::format("User \"{}\" cannot {} resource \"{}{}{}\" in API group \"{}\" {}",
                     a.user.name, a.verb, a.resource, a.subresource.empty() ? "" : "/",
                     a.subresource, a.group, where);
}

Reply forbiddenReply(const Attributes& a, const std::string& reason) {
  std::string text = deniedText(a);
  if (!reason.empty()) text += ": " + reason;
  if (!a.isResource()) return failureReply(Failure(ErrorCode::Forbidden, "forbidden: " + text), {});
  std::string what(a.resource);
  if (!a.group.empty()) what += "." + std::string(a.group);
  if (!a.name.empty()) what += fmt::format(" \"{}\"", a.name);
  kube::Request about;
  about.group = a.group;
  about.resource = a.resource;
  about.name = a.name;
  return failureReply(Failure(ErrorCode::Forbidden, what + " is forbidden: " + text), about);
}

}  // namespace koord::apiserver
