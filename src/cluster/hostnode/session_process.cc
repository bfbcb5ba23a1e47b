#include "cluster/hostnode/session_process.h"

#include <signal.h>
#include <unistd.h>

#include "base/file.h"

namespace koord::cluster {

Result<pid_t> startSession(std::vector<std::string> argv, const ChildFiles& files) {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  std::vector<char*> arguments;
  for (auto& part : argv) arguments.push_back(part.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, arguments[0], files.get(), &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(errnoError("start " + argv[0], error));
  return pid;
}

}  // namespace koord::cluster
