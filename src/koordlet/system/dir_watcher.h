#pragma once

// Reports when directories are created or removed in a directory, or files in it are written. Uses
// inotify on a separate thread; it works on cgroup file systems, too. If the kernel grants no more
// watches there are no events, so callers must also poll from time to time.

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/result.h"

namespace koord::koordlet {

class DirWatcher {
 public:
  enum class ChangeKind {
    Created,
    Removed,
    Written,
    Lost
  };  // Lost: events of any directory may be missing
  struct Event {
    ChangeKind what;
    std::string dir;   // as given to watch()
    std::string name;  // in it
  };
  using OnEvent = std::function<void(const Event&)>;

  // Calls onEvent on the executor, which must outlive the watcher.
  DirWatcher(Executor& executor, OnEvent onEvent);
  ~DirWatcher();
  DirWatcher(const DirWatcher&) = delete;
  DirWatcher& operator=(const DirWatcher&) = delete;

  // Creation and removal of directories, writes to files, or both. Ignores files in which the
  // kernel counts events.
  enum class Interest { Directories, Files, All };
  // A second watch of a directory adds its interest to the first. A removed directory is forgotten.
  Result<> watch(const std::string& dir, Interest interest);
  bool watches(const std::string& dir) const;
  std::size_t size() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace koord::koordlet
