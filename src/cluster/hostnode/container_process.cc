#include "cluster/hostnode/container_process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/file.h"
#include "cluster/hostnode/mounts/safe_path.h"

namespace koord::cluster {

namespace {

// By number.
constexpr std::string_view kCapabilities[] = {"CHOWN",
                                              "DAC_OVERRIDE",
                                              "DAC_READ_SEARCH",
                                              "FOWNER",
                                              "FSETID",
                                              "KILL",
                                              "SETGID",
                                              "SETUID",
                                              "SETPCAP",
                                              "LINUX_IMMUTABLE",
                                              "NET_BIND_SERVICE",
                                              "NET_BROADCAST",
                                              "NET_ADMIN",
                                              "NET_RAW",
                                              "IPC_LOCK",
                                              "IPC_OWNER",
                                              "SYS_MODULE",
                                              "SYS_RAWIO",
                                              "SYS_CHROOT",
                                              "SYS_PTRACE",
                                              "SYS_PACCT",
                                              "SYS_ADMIN",
                                              "SYS_BOOT",
                                              "SYS_NICE",
                                              "SYS_RESOURCE",
                                              "SYS_TIME",
                                              "SYS_TTY_CONFIG",
                                              "MKNOD",
                                              "LEASE",
                                              "AUDIT_WRITE",
                                              "AUDIT_CONTROL",
                                              "SETFCAP",
                                              "MAC_OVERRIDE",
                                              "MAC_ADMIN",
                                              "SYSLOG",
                                              "WAKE_ALARM",
                                              "BLOCK_SUSPEND",
                                              "AUDIT_READ",
                                              "PERFMON",
                                              "BPF",
                                              "CHECKPOINT_RESTORE"};

// The capabilities of a list of names as a set of bits.
std::uint64_t capabilitiesIn(const std::vector<std::string>& names) {
  std::uint64_t set = 0;
  for (const auto& given : names) {
    std::string_view name = given;
    if (name.starts_with("CAP_")) name.remove_prefix(4);
    for (std::size_t i = 0; i < std::size(kCapabilities); ++i)
      if (name == "ALL" || name == kCapabilities[i]) set |= std::uint64_t{1} << i;
  }
  return set;
}

Result<> dropCapabilities(std::uint64_t dropped) {
  for (int i = 0; i < static_cast<int>(std::size(kCapabilities)); ++i)
    if ((dropped >> i & 1) && ::prctl(PR_CAPBSET_READ, i) == 1 && ::prctl(PR_CAPBSET_DROP, i) != 0)
      return fail(errnoError("drop capabilities", errno));
  return {};
}

// Removes them from the process; the bounding set limits the programs that it executes.
Result<> restrictCapabilities(std::uint64_t dropped) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0)
    return fail(errnoError("capabilities", errno));
  for (std::size_t half = 0; half < sets.size(); ++half) {
    const auto keep = ~static_cast<std::uint32_t>(dropped >> (32 * half));
    sets[half].effective &= keep;
    sets[half].permitted &= keep;
    sets[half].inheritable &= keep;
  }
  if (::syscall(SYS_capset, &header, sets.data()) != 0)
    return fail(errnoError("drop capabilities", errno));
  return {};
}

// As runc does, so that the program may open /dev/stdout and its terminal.
Result<> ownStreams(uid_t user) {
  for (const int number : {0, 1, 2}) {
    struct stat stream{};
    if (::fstat(number, &stream) != 0 || !(S_ISFIFO(stream.st_mode) || ::isatty(number))) continue;
    if (::fchown(number, user, static_cast<gid_t>(-1)) != 0)
      return fail(errnoError("change the owner of standard streams", errno));
  }
  return {};
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<> joinCgroups(const ContainerRecord& record) {
  for (const auto& file : record.joinFiles) {
    const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), "0", 1) != 1) return fail(errnoError("join " + file, errno));
  }
  return {};
}

void resetSignals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Result<> enterFiles(const ContainerConfig& config, const std::string& staging) {
  if (config.mounts.empty() && !config.readOnlyRoot) return {};
  if (auto made = makeDirs(staging); !made) return made;
  return enterMountView({config.mounts, config.readOnlyRoot, staging});
}

Result<> enterFilesOf(int pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/mnt";
  const Fd theirs(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat a{};
  struct stat b{};
  if (!theirs || ::fstat(theirs.get(), &a) != 0 || ::stat("/proc/self/ns/mnt", &b) != 0)
    return fail(errnoError(path, errno));
  if (a.st_ino == b.st_ino) return {};
  if (::setns(theirs.get(), CLONE_NEWNS) != 0) return fail(errnoError("enter " + path, errno));
  return {};
}

Result<> switchUser(const ContainerUser& user) {
  const std::uint64_t dropped = user.privileged ? 0
                                                : capabilitiesIn(user.dropCapabilities) &
                                                      ~capabilitiesIn(user.addCapabilities);
  if (auto done = dropCapabilities(dropped); !done) return done;
  if (user.user)
    if (auto done = ownStreams(*user.user); !done) return done;
  if (!user.groups.empty() || user.user || user.group) {
    const std::vector<gid_t> groups(user.groups.begin(), user.groups.end());
    if (::setgroups(groups.size(), groups.data()) != 0) return fail(errnoError("groups", errno));
  }
  if (user.group && ::setgid(*user.group) != 0) return fail(errnoError("runAsGroup", errno));
  if (user.user && ::setuid(*user.user) != 0) return fail(errnoError("runAsUser", errno));
  if (dropped != 0)
    if (auto done = restrictCapabilities(dropped); !done) return done;
  if (user.noNewPrivileges && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return fail(errnoError("no new privileges", errno));
  return {};
}

Error execProgram(const ContainerConfig& config, std::vector<std::string> argv) {
  const std::string folder = config.workingDir.empty() ? "/" : config.workingDir;
  if (::chdir(folder.c_str()) != 0) return errnoError("working folder " + folder, errno);
  auto variables = config.env;
  auto arguments = pointersTo(argv);
  auto environment = pointersTo(variables);
  ::execvpe(arguments[0], arguments.data(), environment.data());
  return errnoError("exec " + argv[0], errno);
}

}  // namespace koord::cluster
