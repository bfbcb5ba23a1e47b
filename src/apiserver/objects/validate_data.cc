// ConfigMaps and Secrets: keys are valid file names; the data are at most a megabyte (every node
// that mounts the object keeps it in memory); secrets of known types have the data that their
// readers need; immutable objects do not change.

#include <fmt/format.h>

#include "apiserver/objects/checks.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/validate_kinds.h"
#include "net/tls.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;

std::string keyPath(const char* field, std::string_view key) {
  return fmt::format("{}[{}]", field, key);
}

std::size_t decodedSize(std::string_view base64) {
  const auto bytes = net::base64Decode(base64);
  return bytes ? bytes->size() : base64.size();
}

// Calls fn(key, text) for each member of a map of strings.
template <class F>
void each(const json::value& object, const char* field, F fn) {
  const auto* data = find(object, field);
  if (!data || !data->is_object()) return;
  for (const auto& member : data->get_object())
    fn(std::string_view(member.key()), member.value().is_string()
                                           ? std::string_view(member.value().get_string())
                                           : std::string_view{});
}

// Users who mark it immutable can rely on that until it is deleted.
void validateImmutable(const json::value& object, const json::value& before, FieldErrors& errors) {
  constexpr const char* kWhy = "field is immutable when `immutable` is set";
  const auto isSet = [](const json::value* flag) { return flag && *flag == json::value(true); };
  if (!isSet(find(before, "immutable"))) return;
  if (!isSet(find(object, "immutable"))) errors.forbidden("immutable", kWhy);
  const json::value nothing = json::object();
  const auto orNothing = [&](const json::value* data) -> const json::value& {
    return data && data->is_object() ? *data : nothing;
  };
  for (const char* field : {"data", "binaryData"})
    if (orNothing(find(object, field)) != orNothing(find(before, field)))
      errors.forbidden(field, kWhy);
}

// Checks the data that secrets of known types need.
void validateType(const json::value& secret, FieldErrors& errors) {
  const auto type = textAt(secret, "type");
  const auto missing = [&](const char* key) { return !at(secret, "data", key); };
  const auto need = [&](const char* key) {
    if (missing(key)) errors.required(keyPath("data", key));
  };
  const auto needJson = [&](const char* key) {
    need(key);
    const auto bytes = net::base64Decode(textAt(secret, "data", key));
    if (!missing(key) && (!bytes || !parseJson(*bytes)))
      errors.invalid(keyPath("data", key), "<secret contents redacted>", "is not a JSON document");
  };
  if (type == "kubernetes.io/service-account-token") {
    if (textAt(secret, "metadata", "annotations", "kubernetes.io/service-account.name").empty())
      errors.required("metadata.annotations[kubernetes.io/service-account.name]");
  } else if (type == "kubernetes.io/dockercfg") {
    needJson(".dockercfg");
  } else if (type == "kubernetes.io/dockerconfigjson") {
    needJson(".dockerconfigjson");
  } else if (type == "kubernetes.io/basic-auth") {
    if (missing("username") && missing("password")) {
      need("username");
      need("password");
    }
  } else if (type == "kubernetes.io/ssh-auth") {
    if (textAt(secret, "data", "ssh-privatekey").empty())
      errors.required(keyPath("data", "ssh-privatekey"));
  } else if (type == "kubernetes.io/tls") {
    need("tls.crt");
    need("tls.key");
  }
}

}  // namespace

void validateConfigMap(const json::value& map, const json::value* before, FieldErrors& errors) {
  std::size_t size = 0;
  each(map, "data", [&](std::string_view key, std::string_view text) {
    validateDataKey(key, keyPath("data", key), errors);
    if (at(map, "binaryData", key))
      errors.invalid(keyPath("data", key), key, "duplicate of key present in binaryData");
    size += text.size();
  });
  each(map, "binaryData", [&](std::string_view key, std::string_view base64) {
    validateDataKey(key, keyPath("binaryData", key), errors);
    if (at(map, "data", key))
      errors.invalid(keyPath("binaryData", key), key, "duplicate of key present in data");
    size += decodedSize(base64);
  });
  if (size > kMaxBytes) errors.tooLong("[]", kMaxBytes);
  if (before) validateImmutable(map, *before, errors);
}

void validateSecret(const json::value& secret, const json::value* before, FieldErrors& errors) {
  std::size_t size = 0;
  each(secret, "data", [&](std::string_view key, std::string_view base64) {
    validateDataKey(key, keyPath("data", key), errors);
    size += decodedSize(base64);
  });
  if (size > kMaxBytes) errors.tooLong("data", kMaxBytes);
  validateType(secret, errors);
  if (!before) return;
  if (const auto type = textAt(secret, "type"); type != textAt(*before, "type"))
    errors.invalid("type", type, "field is immutable");
  validateImmutable(secret, *before, errors);
}

}  // namespace koord::apiserver
