#include "runtimeproxy/hook_config.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

namespace koord::runtimeproxy {
namespace {

constexpr std::string_view kSuffix = "json";
constexpr std::int64_t kMaxFile = 1 << 20;
constexpr Duration kRescan = std::chrono::minutes(1);
constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_MODIFY | IN_CREATE | IN_MOVED_TO |
                                   IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF;

Result<std::string> textField(const json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  if (!value || value->is_null()) return std::string();
  if (!value->is_string())
    return fail(ErrorCode::Invalid, fmt::format("{}: must be a string", name));
  return std::string(value->get_string());
}

std::vector<std::string> configNames(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const dir = ::opendir(folder.c_str());
  if (!dir) return names;
  while (const dirent* entry = ::readdir(dir))
    if (const std::string_view name = entry->d_name; name.ends_with(kSuffix))
      names.emplace_back(name);
  ::closedir(dir);
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<HookServer> parseHookServer(const std::string& name, std::string_view text) {
  const auto document = parseJson(text);
  if (!document) return fail(document.error());
  if (!document->is_object()) return fail(ErrorCode::Invalid, "must be a JSON object");
  const auto& object = document->get_object();
  HookServer server;
  server.name = name;
  auto endpoint = textField(object, "remote-endpoint");
  if (!endpoint) return fail(std::move(endpoint.error()));
  if (endpoint->empty())
    return fail(ErrorCode::Invalid, "remote-endpoint: must be the path of the server's socket");
  server.endpoint = *std::move(endpoint);
  const auto policy = textField(object, "failure-policy");
  if (!policy) return fail(policy.error());
  server.failureIsFatal = *policy == "Fail";
  const auto* hooks = object.if_contains("runtime-hooks");
  if (!hooks || hooks->is_null()) return server;
  if (!hooks->is_array())
    return fail(ErrorCode::Invalid, "runtime-hooks: must be a list of strings");
  for (const auto& hook : hooks->get_array()) {
    if (!hook.is_string())
      return fail(ErrorCode::Invalid, "runtime-hooks: must be a list of strings");
    if (const auto type = hookTypeOf(std::string_view(hook.get_string())))
      server.hooks.insert(*type);
  }
  return server;
}

HookConfigs::HookConfigs(net::IoLoop& loop, std::string folder)
    : loop_(loop), folder_(std::move(folder)) {}

Result<> HookConfigs::start() {
  if (auto made = makeDirs(folder_, 0755); !made) return made;
  inotify_ = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify_) return fail(errnoError("watch " + folder_, errno));
  watch_ = loop_.watch(inotify_.get(), [this](net::IoLoop::Ready) { onChange(); });
  watch_->want({.read = true});
  watchFolder();
  reload();
  scheduleReload();
  return {};
}

// Also once a minute: the folder may have been replaced.
void HookConfigs::watchFolder() {
  if (::inotify_add_watch(inotify_.get(), folder_.c_str(), kChanges) < 0)
    log::warn("changes in {} are read only once a minute: {}", folder_,
              errnoError("watch it", errno).message);
}

void HookConfigs::scheduleReload() {
  loop_.runAfter(kRescan, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    watchFolder();
    reload();
    scheduleReload();
  });
}

void HookConfigs::onChange() {
  std::array<char, 4096> events;
  while (::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
  reload();
}

void HookConfigs::reload() {
  const auto names = configNames(folder_);
  std::erase_if(files_, [&](const auto& file) {
    if (std::ranges::binary_search(names, file.first)) return false;
    log::info("hook server {}/{} was removed", folder_, file.first);
    return true;
  });
  for (const auto& name : names) readFile(name, folder_ + "/" + name);
  std::ranges::sort(files_, {}, [](const auto& file) { return file.first; });
  std::vector<HookServer> list;
  for (const auto& [name, file] : files_)
    if (file.valid) list.push_back(file.server);
  if (list != *servers_)
    servers_ = std::make_shared<const std::vector<HookServer>>(std::move(list));
}

void HookConfigs::readFile(const std::string& name, const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const auto known =
      std::ranges::find(files_, name, [](const auto& file) -> const auto& { return file.first; });
  File file{info.st_ino, info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec, info.st_size};
  if (known != files_.end()) {
    const File& old = known->second;
    if (old.inode == file.inode && old.modified == file.modified && old.size == file.size) return;
    file.server = old.server;
    file.valid = old.valid;
  }
  const auto text = info.st_size > kMaxFile
                        ? Result<std::string>(fail(ErrorCode::Invalid, "more than 1 MiB"))
                        : koord::readFile(path);
  auto server = text ? parseHookServer(name, *text) : Result<HookServer>(fail(text.error()));
  if (server) {
    file.server = *std::move(server);
    file.valid = true;
    log::info("hook server {}: {} hooks at {}, failure policy {}", path, file.server.hooks.size(),
              file.server.endpoint, file.server.failureIsFatal ? "Fail" : "Ignore");
  } else {
    log::warn(
        "hook server {}: {}; {}", path, server.error().message,
        file.valid ? "the previous content stays in force" : "no hook server is called for it");
  }
  if (known != files_.end())
    known->second = std::move(file);
  else
    files_.emplace_back(name, std::move(file));
}

bool HookConfigs::wants(HookType type) const {
  return std::ranges::any_of(*servers_,
                             [&](const HookServer& server) { return server.hooks.contains(type); });
}

}  // namespace koord::runtimeproxy
