#pragma once

// Tells when directories are made or removed in a directory, or files in it are written: inotify, on
// a thread of its own. cgroup file systems tell as others do. Where the kernel gives no more watches
// nothing is told; whoever listens looks by itself from time to time.

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/result.h"

namespace koord::koordlet {

class DirWatcher {
 public:
  enum class What { Made, Removed, Written, Lost };  // Lost: events of any directory may be missing
  struct Event {
    What what;
    std::string dir;   // as given to watch()
    std::string name;  // in it
  };
  using OnEvent = std::function<void(const Event&)>;

  // Events come on the executor, which outlives the watcher.
  DirWatcher(Executor& executor, OnEvent onEvent);
  ~DirWatcher();
  DirWatcher(const DirWatcher&) = delete;
  DirWatcher& operator=(const DirWatcher&) = delete;

  // What is made and removed, what is written, or both. Files in which the kernel counts events are left out.
  enum class Interest { Directories, Files, All };
  // Watching twice is watching once, for both interests. A directory that goes is forgotten.
  Result<> watch(const std::string& dir, Interest interest);
  bool watches(const std::string& dir) const;
  std::size_t size() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace koord::koordlet
