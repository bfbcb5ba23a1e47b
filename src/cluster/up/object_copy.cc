#include "cluster/up/object_copy.h"

#include <unistd.h>

#include <filesystem>

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
  if (!written) removeCopy(path);
  return written;
}

void removeCopy(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
}

void removeCopies(const std::string& dataDir) {
  std::error_code ended;
  for (const auto& entry : std::filesystem::directory_iterator(dataDir, ended))
    if (entry.path().filename().string().starts_with(kCopyPrefix)) ::unlink(entry.path().c_str());
}

}  // namespace koord::cluster
