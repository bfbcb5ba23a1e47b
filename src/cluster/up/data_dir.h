#pragma once

// The folder that holds everything a cluster on this machine keeps: the database, certificates,
// kubeconfigs, logs, containers. One koordctl at a time: the lock goes with the process.

#include <string>

#include "base/result.h"

namespace koord::cluster {

class DataDir {
 public:
  // Makes what is missing and takes the lock. Conflict when another koordctl uses the folder.
  static Result<DataDir> open(const std::string& path);
  // A new folder of its own below the system's temporary one; removed by the destructor.
  static Result<DataDir> temporary();

  DataDir(DataDir&& other) noexcept;
  DataDir& operator=(DataDir&&) = delete;
  ~DataDir();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string log(const std::string& program) const { return path_ + "/logs/" + program + ".log"; }

 private:
  DataDir(std::string path, int lock, bool temporary)
      : path_(std::move(path)), lock_(lock), temporary_(temporary) {}

  std::string path_;
  int lock_;
  bool temporary_;
};

// /var/lib/koordctl for root, ~/.local/share/koordctl for others.
std::string defaultDataDir();

}  // namespace koord::cluster
