#include "cluster/hostnode/mounts/safe_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/beneath.h"

namespace koord::cluster {

namespace {

Result<Fd> openIn(const Fd& folder, const std::string& folderName, const std::string& relative) {
  Fd found = koord::openBeneath(folder.get(), relative.c_str());
  if (found) return found;
  if (errno == EXDEV || errno == ELOOP)
    return fail(ErrorCode::Forbidden, fmt::format("{} leads out of {}", relative, folderName));
  return fail(errnoError(folderName + "/" + relative, errno));
}

Result<Fd> openFolder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd) return fail(errnoError(path, errno));
  return fd;
}

// Empties the folder of a descriptor, and takes ownership of it.
Result<> removeContent(Fd folder, const std::string& name) {
  const int number = ::dup(folder.get());
  std::unique_ptr<DIR, CloseDir> dir(::fdopendir(number));
  if (!dir) {
    const int error = errno;
    if (number >= 0) ::close(number);
    return fail(errnoError("read folder " + name, error));
  }
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string child = entry->d_name;
    if (child == "." || child == "..") continue;
    const std::string path = name + "/" + child;
    if (::unlinkat(folder.get(), child.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return fail(errnoError("remove " + path, errno));
    Fd inner = openFolderIn(folder.get(), child.c_str());
    if (!inner)
      return fail(errno == EXDEV
                      ? Error{ErrorCode::Conflict, path + ": something is mounted there", {}}
                      : errnoError("remove " + path, errno));
    if (auto emptied = removeContent(std::move(inner), path); !emptied) return emptied;
    if (::unlinkat(folder.get(), child.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      return fail(errnoError("remove " + path, errno));
  }
  return {};
}

}  // namespace

Result<Fd> openBeneath(const std::string& folder, const std::string& relative) {
  auto root = openFolder(folder);
  if (!root) return root;
  return openIn(*root, folder, relative);
}

Result<Fd> makeBeneath(const std::string& folder, const std::string& relative) {
  auto root = openFolder(folder);
  if (!root) return root;
  auto found = openIn(*root, folder, relative);
  if (found || found.error().code != ErrorCode::NotFound) return found;
  struct stat info{};
  if (::fstat(root->get(), &info) != 0) return fail(errnoError(folder, errno));
  // Component by component: each is resolved from the folder again, so that links on the way cannot
  // leave it.
  std::string done;
  for (std::size_t start = 0; start <= relative.size();) {
    const auto slash = std::min(relative.find('/', start), relative.size());
    const std::string part = relative.substr(start, slash - start);
    start = slash + 1;
    if (part.empty() || part == ".") continue;
    auto parent = openIn(*root, folder, done);
    if (!parent) return parent;
    done += (done.empty() ? "" : "/") + part;
    if (auto there = openIn(*root, folder, done)) continue;
    if (::mkdirat(parent->get(), part.c_str(), info.st_mode & 0777) != 0 && errno != EEXIST)
      return fail(errnoError("make folder " + folder + "/" + done, errno));
  }
  return openIn(*root, folder, relative);
}

Result<> removeTree(const std::string& path) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return errno == ENOENT ? Result<>{} : fail(errnoError("remove " + path, errno));
  if (auto emptied = removeContent(std::move(folder), path); !emptied) return emptied;
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT)
    return fail(errnoError("remove " + path, errno));
  return {};
}

}  // namespace koord::cluster
