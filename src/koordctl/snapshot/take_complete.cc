#include <unistd.h>

#include <optional>

#include "apiserver/store/storage.h"
#include "cluster/snapshot/snapshot_writer.h"
#include "cluster/up/clusters.h"
#include "cluster/up/control.h"
#include "cluster/up/data_dir.h"
#include "cluster/up/object_copy.h"
#include "koordctl/snapshot/take.h"

namespace koord::koordctl {

namespace {

Result<apiserver::StoredState> load(const std::string& database) {
  auto storage = apiserver::openSqlite(database);
  if (!storage) return fail(std::move(storage.error()));
  return (*storage)->load();
}

// A cluster that runs copies its objects, all of one moment, for us.
Result<apiserver::StoredState> loadRunning(const std::string& dataDir) {
  const auto reply = cluster::askCluster(dataDir, "POST", "/copy");
  if (!reply) return fail(reply.error());
  const std::string copy(textAt(*reply, "file"));
  auto state = load(copy);
  cluster::removeCopy(copy);
  return state;
}

}  // namespace

Result<cluster::SnapshotCounts> takeComplete(const std::string& folder, const std::string& file,
                                             cluster::SnapshotHeader header) {
  const std::string dataDir = cluster::fullDataDir(folder);  // as volumes have it
  const bool runs = cluster::runningProcess(dataDir) != 0;
  const std::string database = dataDir + "/cluster.db";
  std::optional<cluster::DataDir> held;  // no 'koordctl up' starts meanwhile
  if (!runs) {
    if (auto whole = cluster::checkRestored(dataDir); !whole) return fail(std::move(whole.error()));
    if (::access(database.c_str(), F_OK) != 0)
      return fail(ErrorCode::NotFound, dataDir + ": there is no cluster: 'koordctl ls' shows all");
    auto data = cluster::DataDir::open(dataDir);
    if (!data) return fail(std::move(data.error()));
    held.emplace(*std::move(data));
  }
  auto state = runs ? loadRunning(dataDir) : load(database);
  if (!state) return fail(std::move(state.error()));
  header.cluster = cluster::clusterNameOf(dataDir);
  header.dataDir = dataDir;
  header.resourceVersion = std::to_string(state->version);
  auto writer = cluster::SnapshotWriter::create(file, header);
  if (!writer) return fail(std::move(writer.error()));
  for (const auto& object : state->objects)
    if (auto added = (*writer)->addObject(object.table, object.text); !added)
      return fail(std::move(added.error()));
  for (const char* tree : cluster::kSnapshotTrees)
    if (auto added = (*writer)->addTree(dataDir, tree); !added)
      return fail(std::move(added.error()));
  if (auto finished = (*writer)->finish(); !finished) return fail(std::move(finished.error()));
  return cluster::SnapshotCounts{(*writer)->objects(), (*writer)->files()};
}

}  // namespace koord::koordctl
