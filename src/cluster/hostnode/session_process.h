#pragma once

// Starts a program in a session of its own: a signal to the terminal or the process group of
// koordctl does not reach it. Any thread.

#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace koord::cluster {

// The files of a child, in the order in which they are set.
class ChildFiles {
 public:
  ChildFiles() { ::posix_spawn_file_actions_init(&actions_); }
  ~ChildFiles() { ::posix_spawn_file_actions_destroy(&actions_); }
  ChildFiles(const ChildFiles&) = delete;
  ChildFiles& operator=(const ChildFiles&) = delete;

  // Descriptor `fd` of the child is a file.
  void open(int fd, const std::string& path, int flags, mode_t mode = 0) {
    ::posix_spawn_file_actions_addopen(&actions_, fd, path.c_str(), flags, mode);
  }
  // Descriptor `fd` of the child is the open file `from`.
  void take(int fd, int from) { ::posix_spawn_file_actions_adddup2(&actions_, from, fd); }
  // The child has no descriptors from `fd` on, also if a library opened them without close-on-exec.
  void closeFrom(int fd) { ::posix_spawn_file_actions_addclosefrom_np(&actions_, fd); }

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Returns the process id; the caller waits for the process. No signal is blocked in the child.
Result<pid_t> startSession(std::vector<std::string> argv, const ChildFiles& files);

}  // namespace koord::cluster
