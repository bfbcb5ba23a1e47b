#include "cluster/up/merged_kubeconfig.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/fd.h"
#include "base/file.h"
#include "base/yaml.h"
#include "cluster/up/clusters.h"
#include "kube/kubeconfig.h"

namespace koord::cluster {

namespace {

namespace fs = std::filesystem;

// Marks the entries that koordctl wrote; kubectl keeps extensions.
constexpr std::string_view kMark = "koordctl.koordinator.sh";
constexpr std::string_view kLists[] = {"clusters", "users", "contexts"};

// FILE.lock, as client-go takes it: it exists while a program writes the file.
class Lock {
 public:
  static Result<Lock> take(const std::string& file) {
    constexpr int kTries = 50;
    constexpr std::chrono::milliseconds kPause{20};
    const std::string path = file + ".lock";
    for (int i = 0; i < kTries; ++i) {
      const Fd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
      if (fd) return Lock(path);
      if (errno != EEXIST) return fail(errnoError(path, errno));
      std::this_thread::sleep_for(kPause);
    }
    return fail(ErrorCode::Conflict,
                path +
                    ": another program writes this kubeconfig, or was killed while it did: "
                    "remove the lock if none runs");
  }
  Lock(Lock&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  Lock& operator=(Lock&&) = delete;
  ~Lock() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

 private:
  explicit Lock(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Result<json::value> read(const std::string& file) {
  const auto text = readFile(file);
  if (!text && text.error().code == ErrorCode::NotFound)
    return json::value(json::object{{"apiVersion", "v1"}, {"kind", "Config"}});
  if (!text) return fail(text.error());
  auto config = parseYaml(*text);
  if (!config) return fail(std::move(config.error()).within("kubeconfig " + file));
  if (config->is_null()) return json::value(json::object{{"apiVersion", "v1"}, {"kind", "Config"}});
  if (!config->is_object())
    return fail(ErrorCode::Invalid, fmt::format("kubeconfig {}: must be a mapping", file));
  return config;
}

// The file that links lead to, also if it does not exist.
std::string targetOf(fs::path file) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::error_code failed;
  for (int i = 0; i < kMostLinks && fs::is_symlink(file, failed); ++i)
    file = file.parent_path() / fs::read_symlink(file, failed);
  return file;
}

// Keeps links, the owner and the permissions. Fails if the user may not write the file.
Result<> write(const std::string& file, const json::value& config) {
  const std::string real = targetOf(file);
  struct stat info{};
  const bool existed = ::stat(real.c_str(), &info) == 0;
  if (existed && ::faccessat(AT_FDCWD, real.c_str(), W_OK, AT_EACCESS) != 0)
    return fail(errnoError("write " + real, errno));
  auto written = writeFileAtomic(real, toYaml(config), existed ? info.st_mode & 0777 : 0600);
  if (!written) return fail(std::move(written.error()));
  if (existed && info.st_uid != ::geteuid() && ::chown(real.c_str(), info.st_uid, info.st_gid) != 0)
    return fail(errnoError("chown " + real, errno));
  return {};
}

json::array* listOf(json::value& config, std::string_view list) {
  json::value* found = find(config, list);
  return found ? found->if_array() : nullptr;
}

json::value* entryOf(json::value& config, std::string_view list, const std::string& name) {
  if (auto* entries = listOf(config, list))
    for (auto& entry : *entries)
      if (textAt(entry, "name") == name) return &entry;
  return nullptr;
}

// The mapping of an entry: {name: ..., cluster: {...}}.
std::string_view bodyName(std::string_view list) {
  return list.substr(0, list.size() - 1);
}

// The extension that koordctl gives a cluster: "dataDir", and "previous", the context that was
// current before; nullptr for entries of others.
json::value* markOf(json::value& cluster) {
  auto* extensions =
      find(cluster, "cluster") ? find(*find(cluster, "cluster"), "extensions") : nullptr;
  if (auto* array = extensions ? extensions->if_array() : nullptr)
    for (auto& extension : *array)
      if (textAt(extension, "name") == kMark) return find(extension, "extension");
  return nullptr;
}

json::value* markOf(json::value& config, const std::string& name) {
  auto* cluster = entryOf(config, "clusters", name);
  return cluster ? markOf(*cluster) : nullptr;
}

// A user has no extensions that kubectl keeps in all versions, so it is koordctl's with its
// cluster.
Result<> checkOurs(json::value& config, const std::string& file, const std::string& name,
                   const std::string& dataDir) {
  if (const auto* mark = markOf(config, name)) {
    const std::string other(textAt(*mark, "dataDir"));
    if (other == dataDir || runningProcess(other) == 0) return {};
    return fail(ErrorCode::Conflict,
                fmt::format("kubeconfig {}: the context \"{}\" belongs to the cluster in {}, which "
                            "runs: give this cluster a name with --name",
                            file, name, other));
  }
  for (const auto list : kLists)
    if (entryOf(config, list, name))
      return fail(
          ErrorCode::AlreadyExists,
          fmt::format("kubeconfig {}: koordctl did not write its entry \"{}\" in {}: give the "
                      "cluster another name",
                      file, name, list));
  return {};
}

void drop(json::value& config, const std::string& name) {
  for (const auto list : kLists) {
    if (auto* entries = listOf(config, list)) {
      json::array kept;
      for (auto& entry : *entries)
        if (textAt(entry, "name") != name) kept.push_back(std::move(entry));
      *entries = std::move(kept);
    }
  }
}

// Clusters that were added later return to `previous` instead of the context that goes.
void replacePrevious(json::value& config, const std::string& name, const std::string& previous) {
  auto* clusters = listOf(config, "clusters");
  if (!clusters) return;
  for (auto& cluster : *clusters)
    if (auto* mark = markOf(cluster); mark && textAt(*mark, "previous") == name)
      find(*mark, "previous")->emplace_string() = previous;
}

// `dataDir`: "" = whatever the entries say.
Result<> removeFrom(const std::string& file, const std::string& name, const std::string& dataDir) {
  std::error_code failed;
  if (!fs::exists(file, failed)) return {};
  const auto lock = Lock::take(file);
  if (!lock) return fail(lock.error());
  auto config = read(file);
  if (!config) return fail(std::move(config.error()));
  const auto* mark = markOf(*config, name);
  if (!mark || (!dataDir.empty() && textAt(*mark, "dataDir") != dataDir)) return {};
  const std::string previous(textAt(*mark, "previous"));
  drop(*config, name);
  replacePrevious(*config, name, previous);
  if (textAt(*config, "current-context") == name)
    config->get_object()["current-context"] =
        entryOf(*config, "contexts", previous) ? previous : "";
  return write(file, *config);
}

}  // namespace

std::string userKubeconfig() {
  const char* list = std::getenv("KUBECONFIG");
  const auto files = kube::kubeconfigFiles(list ? list : "");
  return files.empty() ? kube::homeKubeconfig() : files.front();
}

Result<MergedKubeconfig> MergedKubeconfig::add(const std::string& file,
                                               const std::string& kubeconfig,
                                               const std::string& name,
                                               const std::string& dataDir) {
  const std::string folder = fs::absolute(file).parent_path();
  if (auto made = makeDirs(folder); !made) return fail(std::move(made.error()));
  const auto lock = Lock::take(file);
  if (!lock) return fail(lock.error());
  auto config = read(file);
  if (!config) return fail(std::move(config.error()));
  auto own = parseYaml(kubeconfig);
  if (!own) return fail(std::move(own.error()));
  if (auto ours = checkOurs(*config, file, name, dataDir); !ours)
    return fail(std::move(ours.error()));
  std::string previous(textAt(*config, "current-context"));
  // A koordctl that was killed left its context as the current one.
  if (const auto* mark = markOf(*config, name); previous == name)
    previous = mark ? std::string(textAt(*mark, "previous")) : std::string();
  drop(*config, name);
  const json::value mark = json::array{json::object{
      {"name", kMark}, {"extension", json::object{{"dataDir", dataDir}, {"previous", previous}}}}};
  for (const auto list : kLists) {
    auto* entries = listOf(*own, list);
    if (!entries || entries->size() != 1)
      return fail(ErrorCode::Internal,
                  fmt::format("merge kubeconfig: no single entry in {}", list));
    json::object entry = entries->front().get_object();
    entry["name"] = name;
    json::object& body = entry[bodyName(list)].get_object();
    if (list == "clusters") body["extensions"] = mark;
    if (list == "contexts") body = {{"cluster", name}, {"user", name}};
    json::value& into = config->get_object()[list];
    if (!into.is_array()) into = json::array();
    into.get_array().push_back(std::move(entry));
  }
  config->get_object()["current-context"] = name;
  if (auto written = write(file, *config); !written) return fail(std::move(written.error()));
  return MergedKubeconfig(file, name, dataDir);
}

Result<> MergedKubeconfig::remove() const {
  return removeFrom(file_, name_, dataDir_);
}

Result<> removeMerged(const std::string& file, const std::string& name) {
  return removeFrom(file, name, "");
}

}  // namespace koord::cluster
