#include "cluster/up/clusters.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <limits>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/file.h"
#include "cluster/up/data_dir.h"

namespace koord::cluster {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 40;
constexpr const char* kNamed = "clusters";

bool isLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// A folder that 'koordctl up' or 'koordctl restore' has used.
bool isDataDir(const std::string& folder) {
  return ::access((folder + "/lock").c_str(), F_OK) == 0;
}

// True if another process holds a lock of this file.
bool isLocked(const std::string& file) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// A container whose shim lives, as its folder; "" if there is none.
std::string livingContainer(const std::string& dataDir) {
  std::error_code ended;
  for (const auto& container : fs::directory_iterator(dataDir + "/containers", ended))
    if (isLocked(container.path().string() + "/lock")) return container.path();
  return {};
}

Result<> removeAll(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_directory(fs::symlink_status(path, failed))) {
    fs::remove(path, failed);
    if (failed) return fail(ErrorCode::Io, path.string() + ": " + failed.message());
    return {};
  }
  const auto done = removeFolder(path, std::numeric_limits<int>::max());
  if (!done) return fail(done.error());
  return {};
}

// What is in a data folder beside the lock. Other clusters are not part of "default".
Result<std::vector<fs::path>> entriesOf(const std::string& dataDir) {
  const bool isDefault = clusterNameOf(dataDir) == kDefaultCluster;
  std::vector<fs::path> entries;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(dataDir, failed)) {
    const auto name = entry.path().filename();
    if (name != "lock" && !(isDefault && name == kNamed)) entries.push_back(entry.path());
  }
  if (failed) return fail(ErrorCode::Io, dataDir + ": " + failed.message());
  return entries;
}

// True if a server can listen on that port of loopback.
bool isFreePort(int port) {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return fd && ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

constexpr std::string_view kLoopback = "127.0.0.1:";

}  // namespace

Result<> checkClusterName(const std::string& name) {
  const bool letters =
      std::ranges::all_of(name, [](char c) { return isLetterOrDigit(c) || c == '-'; });
  if (name.empty() || name.size() > kLongestName || !letters || !isLetterOrDigit(name.front()) ||
      !isLetterOrDigit(name.back()))
    return fail(ErrorCode::Invalid,
                fmt::format("must consist of at most {} lower-case letters, digits and dashes, and "
                            "begin and end with a letter or digit",
                            kLongestName));
  return {};
}

std::string dataDirOf(const std::string& name) {
  if (name.empty() || name == kDefaultCluster) return defaultDataDir();
  return defaultDataDir() + "/" + kNamed + "/" + name;
}

std::string clusterNameOf(const std::string& dataDir) {
  const std::string folder = fullDataDir(dataDir);
  if (folder == fullDataDir(defaultDataDir())) return kDefaultCluster;
  std::string name = fs::path(folder).filename();
  const bool named = checkClusterName(name) && folder == fullDataDir(dataDirOf(name));
  return named ? name : std::string();
}

std::vector<std::string> clusterNames() {
  std::vector<std::string> names;
  std::error_code ended;
  for (const auto& entry : fs::directory_iterator(defaultDataDir() + "/" + kNamed, ended))
    if (isDataDir(entry.path()) && checkClusterName(entry.path().filename()))
      names.push_back(entry.path().filename());
  std::ranges::sort(names);
  if (isDataDir(defaultDataDir())) names.insert(names.begin(), kDefaultCluster);
  return names;
}

int runningProcess(const std::string& dataDir) {
  if (!isLocked(dataDir + "/lock")) return 0;
  const auto text = readFile(dataDir + "/lock");
  int process = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), process);
  return process;
}

std::string readPreferredListen(const std::string& dataDir) {
  const auto text = readFile(dataDir + "/listen");
  int port = 0;
  if (text && text->starts_with(kLoopback))
    std::from_chars(text->data() + kLoopback.size(), text->data() + text->size(), port);
  const bool usable = port > 0 && port <= std::numeric_limits<std::uint16_t>::max();
  return std::string(kLoopback) + std::to_string(usable && isFreePort(port) ? port : 0);
}

Result<> writePreferredListen(const std::string& dataDir, const std::string& address) {
  return writeFileAtomic(dataDir + "/listen", address);
}

std::string startCommand(const std::string& dataDir) {
  const std::string name = clusterNameOf(dataDir);
  if (name == kDefaultCluster) return "koordctl up";
  return name.empty() ? "koordctl up --data-dir " + dataDir : "koordctl up --name " + name;
}

Result<> checkRestored(const std::string& dataDir) {
  const bool begun = ::access((dataDir + "/" + kRestoring).c_str(), F_OK) == 0;
  if (!begun || ::access((dataDir + "/cluster.db").c_str(), F_OK) == 0) return {};
  return fail(
      ErrorCode::Conflict,
      fmt::format("{}: 'koordctl restore' was interrupted: repeat it, or delete the cluster "
                  "with 'koordctl delete'",
                  dataDir));
}

Result<> checkNoOtherFiles(const std::string& dataDir) {
  std::error_code failed;
  if (isDataDir(dataDir) || !fs::exists(dataDir, failed)) return {};
  const auto entries = entriesOf(dataDir);
  if (!entries) return fail(entries.error());
  if (entries->empty()) return {};
  return fail(ErrorCode::AlreadyExists,
              fmt::format("{}: the folder has files that are not a cluster's, for example {}: give "
                          "a new folder",
                          dataDir, entries->front().filename().string()));
}

Result<> deleteData(const std::string& dataDir) {
  // Takes the lock, so that no 'koordctl up' starts meanwhile.
  const auto data = DataDir::open(dataDir);
  if (!data) return fail(data.error());
  if (const auto container = livingContainer(dataDir); !container.empty())
    return fail(ErrorCode::Conflict,
                fmt::format("{}: this container runs since its koordctl was killed: start the "
                            "cluster again ('{}') and stop it first",
                            container, startCommand(dataDir)));
  const auto entries = entriesOf(dataDir);
  if (!entries) return fail(entries.error());
  for (const auto& entry : *entries)
    if (auto removed = removeAll(entry); !removed) return removed;
  // The lock last: without it the folder is not a cluster.
  if (auto removed = removeAll(dataDir + "/lock"); !removed) return removed;
  std::error_code notEmpty;
  if (clusterNameOf(dataDir) != kDefaultCluster) fs::remove(dataDir, notEmpty);
  return {};
}

}  // namespace koord::cluster
