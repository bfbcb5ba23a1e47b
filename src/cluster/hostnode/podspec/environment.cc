#include "cluster/hostnode/podspec/environment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "net/tls.h"

namespace koord::cluster {

namespace {

using Values = std::map<std::string, std::string>;

// The longest argument or variable that execve accepts. Expanded variables are cut a little above
// that, so that the start still fails by their length.
constexpr std::size_t kLongest = 128 << 10;

// Expands $(NAME) from the values; passes an unknown name to `missing` and keeps it unchanged.
template <class Missing>
std::string expand(const std::string& text, const Values& known, Missing missing) {
  std::string out;
  const auto lastClose = text.rfind(')');
  const std::size_t closes = lastClose == std::string::npos ? 0 : lastClose;
  for (std::size_t i = 0; i < text.size() && out.size() <= kLongest; ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[i + 1] == '$') {
      out += text[++i];
    } else if (text[i + 1] == '(' && i < closes) {
      const auto close = text.find(')', i);
      const std::string name = text.substr(i + 2, close - i - 2);
      const auto found = known.find(name);
      if (found == known.end()) missing(name);
      out += found == known.end() ? text.substr(i, close - i + 1) : found->second;
      i = close;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string expand(const std::string& text, const Values& known) {
  return expand(text, known, [](const std::string&) {});
}

Values valuesIn(const std::vector<std::string>& environment) {
  Values values;
  for (const auto& variable : environment) {
    const auto equals = variable.find('=');
    values[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return values;
}

std::unexpected<Error> missing(const char* kind, const std::string& name) {
  return fail(ErrorCode::Invalid, fmt::format("{} \"{}\" not found", kind, name));
}

template <class T>
const T* lookUp(const std::map<std::string, std::shared_ptr<const T>>& objects,
                const std::string& name) {
  const auto found = objects.find(name);
  return found == objects.end() ? nullptr : found->second.get();
}

// Everything of a ConfigMap or Secret, as variables.
template <class T, class Decode>
Result<> addAll(Values& values, const spec::EnvFrom& from, const spec::ObjectRef& reference,
                const char* kind, const T* object, Decode decode) {
  if (!object) {
    if (reference.optional) return {};
    return missing(kind, reference.name);
  }
  for (const auto& [key, data] : object->data) {
    auto value = decode(data);
    if (!value) return fail(std::move(value.error()).within(kind));
    const std::string name = from.prefix + key;
    if (name.empty() || name.find('=') != std::string::npos) {
      log::warn("{} {}: key {} is not a valid name of a variable", kind, reference.name, key);
      continue;
    }
    values[name] = *std::move(value);
  }
  return {};
}

// One key of a ConfigMap or Secret; nullopt if it is missing and optional.
template <class T, class Decode>
Result<std::optional<std::string>> oneOf(const api::ObjectMeta& pod, const spec::KeyRef& reference,
                                         const char* kind, const char* title, const T* object,
                                         Decode decode) {
  if (!object) {
    if (reference.optional) return std::nullopt;
    return missing(kind, reference.name);
  }
  const auto* data = api::findIn(object->data, reference.key);
  if (!data) {
    if (reference.optional) return std::nullopt;
    return fail(ErrorCode::Invalid, fmt::format("couldn't find key {} in {} {}/{}", reference.key,
                                                title, pod.namespace_, reference.name));
  }
  auto value = decode(*data);
  if (!value) return fail(std::move(value.error()));
  return *std::move(value);
}

Result<std::string> literalText(const std::string& text) {
  return text;
}

Result<std::optional<std::string>> valueFrom(const FieldContext& context,
                                             const spec::Container& container,
                                             const spec::EnvValueFrom& from,
                                             const ReferencedObjects& objects) {
  if (from.fieldRef) return fieldValue(context, from.fieldRef->fieldPath);
  if (from.resourceFieldRef) return resourceValue(context, *from.resourceFieldRef, container.name);
  const auto& meta = context.pod.metadata;
  if (from.configMapKeyRef)
    return oneOf(meta, *from.configMapKeyRef, "configmap", "ConfigMap",
                 lookUp(objects.configMaps, from.configMapKeyRef->name), literalText);
  if (from.secretKeyRef)
    return oneOf(meta, *from.secretKeyRef, "secret", "Secret",
                 lookUp(objects.secrets, from.secretKeyRef->name), net::base64Decode);
  return fail(ErrorCode::Invalid, "this kind of valueFrom is not supported");
}

}  // namespace

ReferencedNames environmentReferences(const spec::Container& container) {
  ReferencedNames names;
  for (const auto& from : container.envFrom) {
    if (from.configMapRef) names.configMaps.push_back(from.configMapRef->name);
    if (from.secretRef) names.secrets.push_back(from.secretRef->name);
  }
  for (const auto& variable : container.env) {
    if (!variable.valueFrom) continue;
    if (const auto& key = variable.valueFrom->configMapKeyRef)
      names.configMaps.push_back(key->name);
    if (const auto& key = variable.valueFrom->secretKeyRef) names.secrets.push_back(key->name);
  }
  return names;
}

Result<std::vector<std::string>> environmentOf(const FieldContext& context,
                                               const spec::Container& container,
                                               const ReferencedObjects& objects, Variables given) {
  const auto& details = context.pod.details;
  Values values = std::move(given);
  values["HOSTNAME"] = details.hostname.empty() ? context.pod.metadata.name : details.hostname;
  for (const auto& from : container.envFrom) {
    Result<> added;
    if (from.configMapRef)
      added = addAll(values, from, *from.configMapRef, "configmap",
                     lookUp(objects.configMaps, from.configMapRef->name), literalText);
    if (added && from.secretRef)
      added = addAll(values, from, *from.secretRef, "secret",
                     lookUp(objects.secrets, from.secretRef->name), net::base64Decode);
    if (!added) return fail(std::move(added.error()));
  }
  for (const auto& variable : container.env) {
    if (!variable.valueFrom) {
      values[variable.name] = expand(variable.value, values);
      continue;
    }
    const bool object = variable.valueFrom->configMapKeyRef || variable.valueFrom->secretKeyRef;
    auto value = valueFrom(context, container, *variable.valueFrom, objects);
    if (!value && object) return fail(std::move(value.error()));  // with kubelet's message
    if (!value)
      return fail(std::move(value.error())
                      .within(fmt::format("container {}: env {}", container.name, variable.name)));
    if (*value) values[variable.name] = **std::move(value);
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : values) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<std::string> expandVariables(const api::List<std::string>& texts,
                                         const std::vector<std::string>& environment) {
  const Values values = valuesIn(environment);
  std::vector<std::string> expanded;
  for (const auto& text : texts) expanded.push_back(expand(text, values));
  return expanded;
}

Result<std::string> expandPath(const std::string& text,
                               const std::vector<std::string>& environment) {
  std::string unknown;
  std::string path = expand(text, valuesIn(environment), [&](const std::string& name) {
    if (unknown.empty()) unknown = name;
  });
  if (!unknown.empty())
    return fail(ErrorCode::Invalid, fmt::format("missing value for \"{}\"", unknown));
  return path;
}

}  // namespace koord::cluster
