#include "kube/kubeconfig_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/yaml.h"

namespace koord::kube {
namespace {

// Reads the fields of one mapping. The first thing that is wrong is kept in `error`, shared by all
// readers of a file; fields read after that are empty.
class Fields {
 public:
  Fields(const json::value* value, std::string path, std::optional<Error>& error)
      : path_(std::move(path)), error_(error) {
    if (value == nullptr || value->is_null()) return;
    if (!value->is_object()) {
      addProblem("", "must be a mapping");
      return;
    }
    object_ = value;
  }

  const std::string& path() const { return path_; }

  std::string text(std::string_view key) {
    const auto* value = member(key);
    if (value == nullptr) return {};
    if (!value->is_string()) {
      addProblem(key, "must be a string (put it in quotes)");
      return {};
    }
    return std::string(value->get_string());
  }
  bool flag(std::string_view key) {
    const auto* value = member(key);
    if (value == nullptr) return false;
    if (!value->is_bool()) {
      addProblem(key, "must be true or false");
      return false;
    }
    return value->get_bool();
  }
  Fields sub(std::string_view key) { return {member(key), join(key), error_}; }
  // One reader per entry of a list.
  std::vector<Fields> entries(std::string_view key) {
    std::vector<Fields> found;
    for (const auto& [value, path] : list(key)) found.emplace_back(value, path, error_);
    return found;
  }
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> found;
    for (const auto& [value, path] : list(key)) {
      if (value->is_string()) {
        found.emplace_back(value->get_string());
      } else {
        addProblemAt(path, "must be a string (put it in quotes)");
      }
    }
    return found;
  }
  const json::value* member(std::string_view key) const {
    const auto* value = object_ ? find(*object_, key) : nullptr;
    return value && value->is_null() ? nullptr : value;
  }
  void addProblem(std::string_view key, std::string_view what) {
    addProblemAt(key.empty() ? path_ : join(key), what);
  }

 private:
  std::string join(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }
  std::vector<std::pair<const json::value*, std::string>> list(std::string_view key) {
    std::vector<std::pair<const json::value*, std::string>> found;
    const auto* value = member(key);
    if (value == nullptr) return found;
    if (!value->is_array()) {
      addProblem(key, "must be a list");
      return found;
    }
    for (const auto& entry : value->get_array()) {
      found.emplace_back(&entry, fmt::format("{}[{}]", join(key), found.size()));
    }
    return found;
  }
  void addProblemAt(const std::string& path, std::string_view what) {
    if (error_) return;
    error_ = Error{ErrorCode::Invalid,
                   path.empty() ? std::string(what) : fmt::format("{}: {}", path, what),
                   {}};
  }

  const json::value* object_ = nullptr;
  std::string path_;
  std::optional<Error>& error_;
};

// Paths in a kubeconfig are relative to the folder it is in.
std::string resolved(const std::string& path, const std::string& kubeconfig) {
  if (path.empty() || path.starts_with('/')) return path;
  const auto folder = std::filesystem::path(kubeconfig).parent_path();
  return (folder / path).lexically_normal().string();
}

ExecPlugin readExec(Fields exec, const std::string& file) {
  ExecPlugin plugin;
  plugin.command = exec.text("command");
  if (plugin.command.empty()) exec.addProblem("command", "must name the program to run");
  if (plugin.command.find('/') != std::string::npos)
    plugin.command = resolved(plugin.command, file);
  plugin.args = exec.texts("args");
  for (auto& variable : exec.entries("env")) {
    plugin.env.emplace_back(variable.text("name"), variable.text("value"));
  }
  plugin.apiVersion = exec.text("apiVersion");
  if (plugin.apiVersion != "client.authentication.k8s.io/v1" &&
      plugin.apiVersion != "client.authentication.k8s.io/v1beta1") {
    exec.addProblem("apiVersion", "must be client.authentication.k8s.io/v1 or .../v1beta1");
  }
  if (exec.text("interactiveMode") == "Always") {
    exec.addProblem("interactiveMode", "Always is not possible here: there is no terminal");
  }
  plugin.installHint = exec.text("installHint");
  return plugin;
}

KubeCluster readCluster(Fields cluster, const std::string& file) {
  KubeCluster read;
  read.server = cluster.text("server");
  read.caFile = resolved(cluster.text("certificate-authority"), file);
  read.caData = cluster.text("certificate-authority-data");
  read.tlsServerName = cluster.text("tls-server-name");
  read.proxyUrl = cluster.text("proxy-url");
  read.insecureSkipTlsVerify = cluster.flag("insecure-skip-tls-verify");
  read.disableCompression = cluster.flag("disable-compression");
  for (auto& entry : cluster.entries("extensions")) {
    if (entry.text("name") != "client.authentication.k8s.io/exec") continue;
    if (const auto* config = entry.member("extension")) read.execConfig = toJson(*config);
  }
  return read;
}

KubeUser readUser(Fields user, const std::string& file) {
  KubeUser read;
  read.certFile = resolved(user.text("client-certificate"), file);
  read.certData = user.text("client-certificate-data");
  read.keyFile = resolved(user.text("client-key"), file);
  read.keyData = user.text("client-key-data");
  read.token = user.text("token");
  read.tokenFile = resolved(user.text("tokenFile"), file);
  read.username = user.text("username");
  read.password = user.text("password");
  read.impersonate = {user.text("as"), user.text("as-uid"), user.texts("as-groups"), {}};
  Fields extra = user.sub("as-user-extra");
  if (const auto* keys = user.member("as-user-extra"); keys && keys->is_object()) {
    for (const auto& entry : keys->get_object()) {
      for (auto& value : extra.texts(entry.key())) {
        read.impersonate.extra.emplace_back(entry.key(), std::move(value));
      }
    }
  }
  if (user.member("exec")) {
    Fields exec = user.sub("exec");
    read.execWantsCluster = exec.flag("provideClusterInfo");
    read.exec = readExec(std::move(exec), file);
  }
  if (user.member("auth-provider")) {
    user.addProblem("auth-provider", "is not supported (nor by Kubernetes since 1.26); use exec");
  }
  return read;
}

}  // namespace

void Kubeconfig::mergeFrom(Kubeconfig other) {
  if (currentContext.empty()) {
    currentContext = std::move(other.currentContext);
    where = std::move(other.where);
  }
  clusters.merge(other.clusters);
  users.merge(other.users);
  contexts.merge(other.contexts);
}

Result<Kubeconfig> parseKubeconfig(const std::string& text, const std::string& path) {
  const std::string where = "kubeconfig " + path;
  const auto document = parseYaml(text);
  if (!document) return fail(Error(document.error()).within(where));

  std::optional<Error> error;
  Fields root(&*document, "", error);
  if (document->is_object()) {
    const auto kind = root.text("kind");
    if (!kind.empty() && kind != "Config") root.addProblem("kind", "must be Config");
  }
  Kubeconfig config{.where = where};
  config.currentContext = root.text("current-context");
  // Every list has entries {name: ..., <what>: {...}}.
  const auto readAll = [&](std::string_view list, std::string_view what, auto& into, auto readOne) {
    for (auto& entry : root.entries(list)) {
      const auto name = entry.text("name");
      if (name.empty()) entry.addProblem("name", "must not be empty");
      auto read = readOne(entry.sub(what));
      read.where = fmt::format("{}: {}.{}", where, entry.path(), what);
      into.emplace(name, std::move(read));
    }
  };
  readAll("clusters", "cluster", config.clusters,
          [&](Fields fields) { return readCluster(std::move(fields), path); });
  readAll("users", "user", config.users,
          [&](Fields fields) { return readUser(std::move(fields), path); });
  readAll("contexts", "context", config.contexts, [](Fields fields) {
    KubeContext context;
    context.cluster = fields.text("cluster");
    context.user = fields.text("user");
    context.namespace_ = fields.text("namespace");
    return context;
  });
  if (error) return fail(std::move(*error).within(where));
  return config;
}

}  // namespace koord::kube
