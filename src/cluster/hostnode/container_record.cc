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
