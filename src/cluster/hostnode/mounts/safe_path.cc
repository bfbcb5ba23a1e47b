#include "cluster/hostnode/mounts/safe_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>

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
  const auto removed = removeFolder(path, std::numeric_limits<int>::max());
  return removed ? Result<>{} : fail(removed.error());
}

}  // namespace koord::cluster
