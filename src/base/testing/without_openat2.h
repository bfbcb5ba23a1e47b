#pragma once

// Runs a part of a test in a child process whose kernel lacks openat2, as under the seccomp
// profiles of old container runtimes. Returns true if `body` returned true there; the child prints
// to the same stderr.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>

namespace koord {

inline bool refuseOpenat2(int error) {
  const std::array<sock_filter, 4> filter{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{filter.size(), const_cast<sock_filter*>(filter.data())};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
         ::syscall(SYS_openat2, -1, "", nullptr, 0) == -1 && errno == error;
}

inline bool withoutOpenat2(int error, const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(refuseOpenat2(error) && body() ? 0 : 1);
  int status = 1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace koord
