#include "cluster/hostnode/container_record.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace koord::cluster {

namespace {

json::array arrayOf(const std::vector<std::string>& texts) {
  json::array array;
  for (const auto& text : texts) array.emplace_back(text);
  return array;
}

std::vector<std::string> textsAt(const json::value& from, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto* array = find(from, key); array && array->is_array())
    for (const auto& item : array->get_array())
      if (item.is_string()) texts.emplace_back(item.get_string());
  return texts;
}

std::int64_t numberAt(const json::value& from, std::string_view key) {
  const auto* number = find(from, key);
  return number && number->is_int64() ? number->get_int64() : 0;
}

bool flagAt(const json::value& from, std::string_view key) {
  const auto* flag = find(from, key);
  return flag && flag->is_bool() && flag->get_bool();
}

json::array mountsToJson(const std::vector<MountSpec>& mounts) {
  json::array array;
  for (const auto& mount : mounts)
    array.push_back(json::object{{"source", mount.source},
                                 {"subPath", mount.subPath},
                                 {"target", mount.target},
                                 {"readOnly", mount.readOnly},
                                 {"recursiveReadOnly", mount.recursiveReadOnly},
                                 {"propagation", static_cast<int>(mount.propagation)}});
  return array;
}

std::vector<MountSpec> mountsFrom(const json::value& record) {
  std::vector<MountSpec> mounts;
  const auto* array = find(record, "mounts");
  if (!array || !array->is_array()) return mounts;
  for (const auto& item : array->get_array()) {
    MountSpec mount{std::string(textAt(item, "source")), std::string(textAt(item, "subPath")),
                    std::string(textAt(item, "target"))};
    mount.readOnly = flagAt(item, "readOnly");
    mount.recursiveReadOnly = flagAt(item, "recursiveReadOnly");
    mount.propagation = static_cast<Propagation>(numberAt(item, "propagation"));
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

json::object userToJson(const ContainerUser& user) {
  json::object object{{"privileged", user.privileged},
                      {"noNewPrivileges", user.noNewPrivileges},
                      {"addCapabilities", arrayOf(user.addCapabilities)},
                      {"dropCapabilities", arrayOf(user.dropCapabilities)}};
  if (user.user) object["user"] = *user.user;
  if (user.group) object["group"] = *user.group;
  json::array groups;
  for (const auto group : user.groups) groups.emplace_back(static_cast<std::int64_t>(group));
  object["groups"] = std::move(groups);
  return object;
}

ContainerUser userFrom(const json::value& record) {
  ContainerUser user;
  const auto* object = find(record, "user");
  if (!object) return user;
  const auto id = [&](const char* key) -> std::optional<std::uint32_t> {
    if (!find(*object, key)) return std::nullopt;
    return static_cast<std::uint32_t>(numberAt(*object, key));
  };
  user.user = id("user");
  user.group = id("group");
  if (const auto* groups = find(*object, "groups"); groups && groups->is_array())
    for (const auto& group : groups->get_array())
      if (group.is_int64()) user.groups.push_back(static_cast<std::uint32_t>(group.get_int64()));
  user.privileged = flagAt(*object, "privileged");
  user.noNewPrivileges = flagAt(*object, "noNewPrivileges");
  user.addCapabilities = textsAt(*object, "addCapabilities");
  user.dropCapabilities = textsAt(*object, "dropCapabilities");
  return user;
}

std::int64_t nanosOf(WallTime time) {
  return time.time_since_epoch().count();
}
WallTime timeOf(std::int64_t nanos) {
  return WallTime(std::chrono::nanoseconds(nanos));
}

}  // namespace

std::string encodeRecord(const ContainerRecord& record) {
  const auto& config = record.config;
  return toJson(json::object{{"podUid", config.pod.uid},
                             {"podNamespace", config.pod.namespace_},
                             {"podName", config.pod.name},
                             {"cgroup", config.pod.cgroup},
                             {"name", config.name},
                             {"attempt", config.attempt},
                             {"image", config.image},
                             {"command", arrayOf(config.command)},
                             {"args", arrayOf(config.args)},
                             {"env", arrayOf(config.env)},
                             {"workingDir", config.workingDir},
                             {"user", userToJson(config.user)},
                             {"mounts", mountsToJson(config.mounts)},
                             {"readOnlyRoot", config.readOnlyRoot},
                             {"openStdin", config.openStdin},
                             {"stdinOnce", config.stdinOnce},
                             {"terminal", config.terminal},
                             {"joinFiles", arrayOf(record.joinFiles)},
                             {"oomFile", record.oomFile}});
}

std::string encodeRecord(const StartRecord& record) {
  return toJson(json::object{{"pid", record.pid}, {"startedAt", nanosOf(record.startedAt)}});
}

std::string encodeRecord(const ExitRecord& record) {
  return toJson(json::object{{"exitCode", record.exitCode},
                             {"signal", record.signal},
                             {"finishedAt", nanosOf(record.finishedAt)},
                             {"reason", record.reason},
                             {"message", record.message}});
}

Result<ContainerRecord> decodeContainerRecord(std::string_view text) {
  auto document = parseJson(text);
  if (!document) return fail(std::move(document.error()));
  ContainerRecord record;
  auto& config = record.config;
  config.pod = {
      std::string(textAt(*document, "podUid")), std::string(textAt(*document, "podNamespace")),
      std::string(textAt(*document, "podName")), std::string(textAt(*document, "cgroup"))};
  config.name = textAt(*document, "name");
  config.attempt = static_cast<int>(numberAt(*document, "attempt"));
  config.image = textAt(*document, "image");
  config.command = textsAt(*document, "command");
  config.args = textsAt(*document, "args");
  config.env = textsAt(*document, "env");
  config.workingDir = textAt(*document, "workingDir");
  config.user = userFrom(*document);
  config.mounts = mountsFrom(*document);
  config.readOnlyRoot = flagAt(*document, "readOnlyRoot");
  config.openStdin = flagAt(*document, "openStdin");
  config.stdinOnce = flagAt(*document, "stdinOnce");
  config.terminal = flagAt(*document, "terminal");
  record.joinFiles = textsAt(*document, "joinFiles");
  record.oomFile = textAt(*document, "oomFile");
  if (config.pod.uid.empty() || config.pod.cgroup.empty())
    return fail(ErrorCode::Invalid, "podUid and cgroup must not be empty");
  return record;
}

Result<StartRecord> decodeStartRecord(std::string_view text) {
  auto document = parseJson(text);
  if (!document) return fail(std::move(document.error()));
  return StartRecord{static_cast<int>(numberAt(*document, "pid")),
                     timeOf(numberAt(*document, "startedAt"))};
}

Result<ExitRecord> decodeExitRecord(std::string_view text) {
  auto document = parseJson(text);
  if (!document) return fail(std::move(document.error()));
  ExitRecord record;
  record.exitCode = static_cast<int>(numberAt(*document, "exitCode"));
  record.signal = static_cast<int>(numberAt(*document, "signal"));
  record.finishedAt = timeOf(numberAt(*document, "finishedAt"));
  record.reason = textAt(*document, "reason");
  record.message = textAt(*document, "message");
  return record;
}

}  // namespace koord::cluster
