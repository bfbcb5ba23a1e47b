#include "apiserver/rules/policy_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cel/json_object.h"
#include "cel/library/all.h"
#include "cel/library/kubernetes_cost.h"
#include "cel/library/kubernetes_patch.h"

namespace koord::apiserver {

namespace {

using cel::JsonObjectType;
using cel::Type;

// The types of `request`. The request of a webhook also has a uid and the objects, expressions do
// not.
const Type& requestType() {
  static const Type kType = [] {
    const Type s = Type::string();
    static JsonObjectType kind("kubernetes.GroupVersionKind");
    for (const char* name : {"group", "version", "kind"}) kind.add(name, s);
    static JsonObjectType resource("kubernetes.GroupVersionResource");
    for (const char* name : {"group", "version", "resource"}) resource.add(name, s);
    static JsonObjectType user("kubernetes.UserInfo");
    user.add("username", s);
    user.add("uid", s);
    user.add("groups", Type::list(s));
    user.add("extra", Type::map(s, Type::list(s)));
    static JsonObjectType request("kubernetes.AdmissionRequest");
    request.add("kind", Type::object(kind));
    request.add("resource", Type::object(resource));
    request.add("subResource", s);
    request.add("requestKind", Type::object(kind));
    request.add("requestResource", Type::object(resource));
    request.add("requestSubResource", s);
    for (const char* name : {"name", "namespace", "operation"}) request.add(name, s);
    request.add("userInfo", Type::object(user));
    request.add("dryRun", Type::boolean());
    request.add("options", Type::dyn());
    return Type::object(request);
  }();
  return kType;
}

const Type& namespaceType() {
  static const Type kType = [] {
    const Type s = Type::string(), texts = Type::list(s), map = Type::map(s, s);
    static JsonObjectType condition("kubernetes.NamespaceCondition");
    for (const char* name : {"status", "type", "message", "reason"}) condition.add(name, s);
    condition.add("lastTransitionTime", Type::timestamp());
    static JsonObjectType status("kubernetes.NamespaceStatus");
    status.add("conditions", Type::list(Type::object(condition)));
    status.add("phase", s);
    static JsonObjectType spec("kubernetes.NamespaceSpec");
    spec.add("finalizers", texts);
    static JsonObjectType metadata("kubernetes.NamespaceMetadata");
    for (const char* name : {"name", "generateName", "namespace", "resourceVersion"})
      metadata.add(name, s);
    metadata.add("UID", s, "uid");  // so it is called there
    metadata.add("labels", map);
    metadata.add("annotations", map);
    for (const char* name : {"creationTimestamp", "deletionTimestamp"})
      metadata.add(name, Type::timestamp());
    for (const char* name : {"deletionGracePeriodSeconds", "generation"})
      metadata.add(name, Type::integer());
    metadata.add("finalizers", texts);
    static JsonObjectType space("kubernetes.Namespace");
    space.add("metadata", Type::object(metadata));
    space.add("spec", Type::object(spec));
    space.add("status", Type::object(status));
    return Type::object(space);
  }();
  return kType;
}

constexpr const char* kRequestResource = "authorizer.requestResource";

std::vector<cel::Variable> authorizerVariables() {
  return {{"authorizer", cel::authorizerType()}, {kRequestResource, cel::resourceCheckType()}};
}

std::string textIn(const json::value& request, std::string_view member, std::string_view name) {
  return std::string(textAt(memberOf(request, member), name));
}

}  // namespace

Result<PolicyEnvironment> PolicyEnvironment::create(const Options& given) {
  cel::EnvironmentOptions options;
  const Type object = given.object.value_or(Type::dyn());
  options.variables = {{"object", object},
                       {"oldObject", object},
                       {"request", requestType()},
                       {"namespaceObject", namespaceType()}};
  if (given.hasParams) options.variables.push_back({"params", given.params.value_or(Type::dyn())});
  if (given.variables) options.variables.push_back({"variables", Type::object(*given.variables)});
  options.libraries = cel::kubernetesLibraries();
  options.homogeneousLiterals = true;
  options.costModel = &cel::kubernetesCosts();
  auto plain = cel::Environment::create(options);
  if (!plain) return fail(std::move(plain).error());
  auto full = plain->extend(authorizerVariables());
  if (!full) return fail(std::move(full).error());
  PolicyEnvironment result(*std::move(plain), *std::move(full));
  if (given.patchTypes) {
    options.libraries.push_back(&cel::jsonPatchLibrary());
    options.resolver = given.patchTypes;
    for (cel::Variable& variable : authorizerVariables())
      options.variables.push_back(std::move(variable));
    auto patching = cel::Environment::create(std::move(options));
    if (!patching) return fail(std::move(patching).error());
    result.patching_ = *std::move(patching);
  }
  return result;
}

cel::Activation PolicyEnvironment::activate(const PolicyInputs& inputs) const {
  // The variables have the same numbers in all environments.
  cel::Activation activation(full_);
  activation.set("object", cel::Value::json(inputs.object));
  activation.set("oldObject", cel::Value::json(inputs.oldObject));
  activation.set("request", cel::Value::json(inputs.request, requestType()));
  activation.set("namespaceObject", cel::Value::json(inputs.namespaceObject, namespaceType()));
  activation.set("params", cel::Value::json(inputs.params));
  activation.set("authorizer", cel::authorizerValue(inputs.authorizer));
  cel::AuthorizationRequest resource;
  resource.group = textIn(inputs.request, "requestResource", "group");
  resource.resource = textIn(inputs.request, "requestResource", "resource");
  resource.subresource = textAt(inputs.request, "requestSubResource");
  resource.nameSpace = textAt(inputs.request, "namespace");
  resource.name = textAt(inputs.request, "name");
  activation.set(kRequestResource, cel::resourceCheckValue(inputs.authorizer, std::move(resource)));
  return activation;
}

Result<cel::Program> compilePolicyExpression(const cel::Environment& environment,
                                             std::string_view expression,
                                             const std::vector<Type>& types) {
  auto program = environment.compile(expression);
  if (!program) return fail(ErrorCode::Invalid, "compilation failed: " + program.error().message);
  const Type& found = program->resultType();
  if (types.empty() || std::ranges::find(types, found) != types.end()) return program;
  std::vector<std::string> names;
  for (const Type& type : types) names.push_back(type.toString());
  return fail(ErrorCode::Invalid,
              names.size() == 1
                  ? fmt::format("must evaluate to {} but got {}", names[0], found.toString())
                  : fmt::format("must evaluate to one of [{}] but got {}", fmt::join(names, " "),
                                found.toString()));
}

}  // namespace koord::apiserver
