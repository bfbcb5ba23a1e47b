#include "cluster/hostnode/volumes/atomic_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "cluster/hostnode/mounts/safe_path.h"

namespace koord::cluster {

namespace fs = std::filesystem;

namespace {

constexpr const char* kData = "..data";
constexpr std::uint32_t kGroupMayRead = 0440;

Result<> checkPath(const std::string& path) {
  bool bad = path.empty() || path.front() == '/' || path.starts_with("..");
  for (const auto& part : fs::path(path)) bad |= part == "..";
  if (!bad) return {};
  return fail(ErrorCode::Invalid, fmt::format("invalid path, must be relative path: {}", path));
}

std::uint32_t modeOf(const FileContent& file, std::optional<std::uint32_t> group) {
  return group ? file.mode | kGroupMayRead : file.mode;
}

// Returns true if the current folder has exactly these files with these modes.
bool isCurrent(const std::string& folder, const Payload& payload,
               std::optional<std::uint32_t> group) {
  std::error_code ec;
  const fs::path data = fs::path(folder) / kData;
  if (!fs::exists(data, ec)) return false;
  std::size_t found = 0;
  for (auto it = fs::recursive_directory_iterator(data / "", ec); !ec && it != fs::end(it);
       it.increment(ec)) {
    if (it->is_directory(ec)) continue;
    const auto name = it->path().lexically_relative(data).string();
    const auto wanted = payload.find(name);
    if (wanted == payload.end()) return false;
    struct stat info{};
    const auto text = readFile(it->path());
    if (::stat(it->path().c_str(), &info) != 0 || !text || *text != wanted->second.data ||
        (info.st_mode & 07777) != modeOf(wanted->second, group) ||
        info.st_uid != wanted->second.owner.value_or(::geteuid()))
      return false;
    ++found;
  }
  return !ec && found == payload.size();
}

Result<> setOwner(const std::string& path, std::optional<std::uint32_t> owner,
                  std::optional<std::uint32_t> group) {
  if (!owner && !group) return {};
  const auto keep = static_cast<std::uint32_t>(-1);
  if (::lchown(path.c_str(), owner.value_or(keep), group.value_or(keep)) != 0)
    return fail(errnoError("chown " + path, errno));
  return {};
}

Result<> writeAll(const std::string& folder, const Payload& payload,
                  std::optional<std::uint32_t> group) {
  if (auto given = setOwner(folder, std::nullopt, group); !given) return given;
  for (const auto& [name, file] : payload) {
    std::string parent = folder;
    for (std::size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      parent = folder + "/" + name.substr(0, slash);
      if (auto made = makeDirs(parent, 0755); !made) return made;
      if (auto given = setOwner(parent, std::nullopt, group); !given) return given;
    }
    const std::string path = folder + "/" + name;
    if (auto put = writeFileAtomic(path, file.data, modeOf(file, group)); !put) return put;
    if (auto given = setOwner(path, file.owner, group); !given) return given;
  }
  return {};
}

Result<std::string> newFolder(const std::string& folder, WallTime now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(seconds));
  const std::chrono::hh_mm_ss time(seconds - std::chrono::floor<std::chrono::days>(seconds));
  std::string name = fmt::format("{}/..{}_{:02}_{:02}_{:02}_{:02}_{:02}.XXXXXX", folder,
                                 static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                                 static_cast<unsigned>(day.day()), time.hours().count(),
                                 time.minutes().count(), time.seconds().count());
  if (!::mkdtemp(name.data()) || ::chmod(name.c_str(), 0755) != 0)
    return fail(errnoError("make folder in " + folder, errno));
  return name;
}

// Creates a symbolic link and replaces an existing entry of its name.
Result<> putLink(const std::string& target, const std::string& path) {
  const std::string temporary = path + "_tmp";
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0)
    return fail(errnoError("link " + path, errno));
  return {};
}

Result<> linkNames(const std::string& folder, const Payload& payload) {
  std::set<std::string> names;
  for (const auto& [name, file] : payload) names.insert(name.substr(0, name.find('/')));
  std::error_code ec;
  for (const auto& name : names) {
    const std::string path = folder + "/" + name;
    const std::string target = std::string(kData) + "/" + name;
    if (fs::read_symlink(path, ec) == target) continue;
    if (auto linked = putLink(target, path); !linked) return linked;
  }
  // Removes old names, and folders without a link.
  const std::string current = fs::read_symlink(folder + "/" + kData, ec);
  std::vector<std::string> old;
  for (auto it = fs::directory_iterator(folder, ec); !ec && it != fs::end(it); it.increment(ec)) {
    const std::string name = it->path().filename();
    if (name != kData && name != current && !names.contains(name)) old.push_back(it->path());
  }
  for (const auto& path : old) {
    if (fs::is_symlink(path, ec)) {
      ::unlink(path.c_str());
    } else if (auto removed = removeTree(path); !removed) {
      return removed;
    }
  }
  return {};
}

}  // namespace

Result<bool> writePayload(const std::string& folder, const Payload& payload,
                          std::optional<std::uint32_t> group, WallTime now) {
  for (const auto& [name, file] : payload)
    if (auto good = checkPath(name); !good) return fail(std::move(good.error()));
  if (auto made = makeDirs(folder, 0755); !made) return fail(std::move(made.error()));
  if (isCurrent(folder, payload, group)) return false;
  auto fresh = newFolder(folder, now);
  if (!fresh) return fail(std::move(fresh.error()));
  if (auto given = setOwner(folder, std::nullopt, group); !given)
    return fail(std::move(given.error()));
  if (auto written = writeAll(*fresh, payload, group); !written) {
    // On a full disk each attempt would leave another folder.
    if (auto removed = removeTree(*fresh); !removed) log::warn("{}", removed.error().message);
    return fail(std::move(written.error()));
  }
  if (auto linked = putLink(fresh->substr(folder.size() + 1), folder + "/" + kData); !linked)
    return fail(std::move(linked.error()));
  if (auto named = linkNames(folder, payload); !named) return fail(std::move(named.error()));
  return true;
}

}  // namespace koord::cluster
