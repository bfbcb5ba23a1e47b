#pragma once

// The folder with all state of a cluster on this host: the database, certificates, kubeconfigs,
// logs, containers. One koordctl at a time: the lock ends with the process.

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace koord::cluster {

// The path as DataDir has it, and as objects of the cluster name it: absolute, without "." or a
// slash at the end.
std::string fullDataDir(const std::string& path);

class DataDir {
 public:
  // Creates missing folders and takes the lock. Conflict if another koordctl uses the folder.
  static Result<DataDir> open(const std::string& path);
  // A new folder below the system's temporary one; the destructor removes it.
  static Result<DataDir> temporary();

  DataDir(DataDir&& other) noexcept;
  DataDir& operator=(DataDir&&) = delete;
  ~DataDir();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string log(const std::string& program) const { return path_ + "/logs/" + program + ".log"; }

 private:
  DataDir(std::string path, Fd lock, bool temporary)
      : path_(std::move(path)), lock_(std::move(lock)), temporary_(temporary) {}

  std::string path_;
  Fd lock_;
  bool temporary_;
};

// /var/lib/koordctl for root, ~/.local/share/koordctl for others.
std::string defaultDataDir();

}  // namespace koord::cluster
