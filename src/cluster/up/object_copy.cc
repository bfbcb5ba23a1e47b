#include "cluster/up/object_copy.h"

#include <unistd.h>

namespace koord::cluster {

namespace {

Result<> write(const std::string& path, const ObjectCopy& copy) {
  auto storage = apiserver::openSqlite(path);
  if (!storage) return fail(std::move(storage.error()));
  if (!copy.changes.empty())
    if (auto applied = (*storage)->apply(copy.changes); !applied) return applied;
  // The deletion of nothing: the version of the last change may be that of a deletion.
  const apiserver::Change last{copy.version, "", "", nullptr};
  return (*storage)->apply({&last, 1});
}

}  // namespace

Result<> writeObjects(const std::string& path, const ObjectCopy& copy) {
  auto written = write(path, copy);
  if (!written)
    for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
  return written;
}

}  // namespace koord::cluster
