#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <charconv>
#include <filesystem>
#include <limits>

#include "apiserver/store/storage.h"
#include "base/beneath.h"
#include "base/file.h"
#include "cluster/up/clusters.h"
#include "cluster/up/data_dir.h"
#include "koordctl/snapshot/take.h"

namespace koord::koordctl {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBatch = 2000;

// Returns 0 if the text is not a number.
std::uint64_t numberOf(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : 0;
}

// Writes the objects of a snapshot into a database, in batches.
class Objects {
 public:
  explicit Objects(std::unique_ptr<apiserver::Storage> storage) : storage_(std::move(storage)) {}

  // Before the first object. Folders of volumes move to the other data folder.
  Result<> begin(const cluster::SnapshotHeader& header, const std::string& dataDir) {
    version_ = numberOf(header.resourceVersion);
    if (version_ == 0)
      return fail(ErrorCode::Invalid,
                  fmt::format("{}: resourceVersion must be a number", cluster::kSnapshotHeader));
    from_ = header.dataDir + "/volumes/";
    to_ = dataDir + "/volumes/";
    return {};
  }

  Result<> add(std::string_view resource, std::string_view text) {
    auto object = parseJson(text);
    const auto name = object ? textAt(*object, "metadata", "name") : std::string_view();
    const auto version =
        object ? textAt(*object, "metadata", "resourceVersion") : std::string_view();
    apiserver::Change change;
    change.version = numberOf(version);
    if (name.empty() || change.version == 0)
      return fail(ErrorCode::Invalid,
                  fmt::format("the file is damaged: {}: an object without a name or a "
                              "resourceVersion",
                              resource));
    // The cluster counts from the version of the snapshot on: versions must not come twice.
    if (change.version > version_)
      return fail(
          ErrorCode::Invalid,
          fmt::format(
              "the file is damaged: {} \"{}\": its resourceVersion {} is later than that of the "
              "snapshot, {}",
              resource, name, version, version_));
    change.table = resource;
    change.key = apiserver::makeKey(textAt(*object, "metadata", "namespace"), name);
    auto entry = std::make_shared<apiserver::Entry>();
    entry->text =
        resource == "persistentvolumes" && move(*object) ? toJson(*object) : std::string(text);
    change.entry = std::move(entry);
    changes_.push_back(std::move(change));
    return changes_.size() < kBatch ? Result<>() : flush();
  }

  Result<> finish() {
    // The deletion of nothing, which only sets the version.
    changes_.push_back({version_, "", "", nullptr});
    auto flushed = flush();
    storage_.reset();
    return flushed;
  }

 private:
  Result<> flush() {
    auto applied = storage_->apply(changes_);
    changes_.clear();
    return applied;
  }

  // Returns true if the volume is a folder of the data folder; then its path is the new one.
  bool move(json::value& volume) const {
    for (const char* source : {"hostPath", "local"}) {
      const std::string path(textAt(volume, "spec", source, "path"));
      if (!path.starts_with(from_)) continue;
      find(*find(*find(volume, "spec"), source), "path")->emplace_string() =
          to_ + path.substr(from_.size());
      return true;
    }
    return false;
  }

  std::unique_ptr<apiserver::Storage> storage_;
  std::vector<apiserver::Change> changes_;
  std::uint64_t version_ = 0;  // of the snapshot
  std::string from_, to_;
};

Result<cluster::SnapshotCounts> extract(const std::string& file, const std::string& folder,
                                        const std::string& dataDir) {
  auto storage = apiserver::openSqlite(folder + "/cluster.db");
  if (!storage) return fail(std::move(storage.error()));
  Objects objects(*std::move(storage));
  cluster::SnapshotVisitor visitor;
  visitor.dataDir = folder;
  visitor.header = [&](const cluster::SnapshotHeader& header) -> Result<> {
    if (header.scope != cluster::SnapshotHeader::Scope::Complete || header.namesHashed)
      return fail(ErrorCode::Invalid,
                  fmt::format("{}: a support snapshot has neither Secrets nor keys, so that no "
                              "cluster can be made from it: take one with 'koordctl snapshot FILE "
                              "--name NAME'",
                              file));
    auto begun = objects.begin(header, dataDir);
    return begun ? begun : fail(std::move(begun.error()).within(file));
  };
  visitor.object = [&](std::string_view resource, std::string_view text) -> Result<> {
    auto added = objects.add(resource, text);
    return added ? added : fail(std::move(added.error()).within(file));
  };
  auto counts = cluster::readSnapshot(file, visitor);
  if (!counts) return counts;
  if (auto finished = objects.finish(); !finished) return fail(std::move(finished.error()));
  return counts;
}

// The database last: without it the folder has no cluster.
Result<> moveInto(const std::string& from, const std::string& to) {
  std::vector<std::string> names(std::begin(cluster::kSnapshotTrees),
                                 std::end(cluster::kSnapshotTrees));
  names.emplace_back("cluster.db");
  std::error_code failed;
  for (const auto& name : names) {
    if (!fs::exists(from + "/" + name, failed)) continue;
    fs::rename(from + "/" + name, to + "/" + name, failed);
    if (failed) return fail(ErrorCode::Io, fmt::format("{}/{}: {}", to, name, failed.message()));
  }
  return {};
}

}  // namespace

Result<cluster::SnapshotCounts> restore(const std::string& file, const std::string& dataDir) {
  // Before anything is made.
  if (::access(file.c_str(), R_OK) != 0) return fail(errnoError("read " + file, errno));
  const std::string full = cluster::fullDataDir(dataDir);
  // A failure deletes all that is in a new folder.
  if (auto free = cluster::checkNoOtherFiles(full); !free) return fail(std::move(free.error()));
  const bool existed = ::access((full + "/lock").c_str(), F_OK) == 0;
  Result<cluster::SnapshotCounts> counts;
  {
    const auto data = cluster::DataDir::open(full);
    if (!data) return fail(data.error());
    if (::access(data->file("cluster.db").c_str(), F_OK) == 0)
      return fail(ErrorCode::AlreadyExists,
                  fmt::format("{}: there is a cluster already: give another name, or delete it "
                              "first with 'koordctl delete'",
                              full));
    const std::string folder = data->file(cluster::kRestoring);
    constexpr int kAll = std::numeric_limits<int>::max();
    // Of a koordctl that was killed, which may have moved some parts already.
    if (::access(folder.c_str(), F_OK) == 0) {
      for (const char* tree : cluster::kSnapshotTrees)
        if (auto removed = removeFolder(data->file(tree), kAll); !removed)
          return fail(removed.error());
      if (auto removed = removeFolder(folder, kAll); !removed) return fail(removed.error());
    }
    if (auto made = makeDirs(folder); !made) return fail(std::move(made.error()));
    counts = extract(file, folder, full);
    if (counts)
      if (auto moved = moveInto(folder, full); !moved) counts = fail(std::move(moved.error()));
    if (auto removed = removeFolder(folder, kAll); !removed && counts)
      counts = fail(removed.error());
  }
  if (!counts && !existed)
    if (auto deleted = cluster::deleteData(full); !deleted)
      return fail(std::move(counts.error()).within(deleted.error().message));
  return counts;
}

}  // namespace koord::koordctl
