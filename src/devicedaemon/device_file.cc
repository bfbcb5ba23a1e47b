#include "devicedaemon/device_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/file.h"

namespace koord::devicedaemon {
namespace {

constexpr unsigned kFileMode = 0644, kFolderMode = 0755;

}  // namespace

std::string DeviceFile::temporaryFolder() const {
  return std::filesystem::path(path_).parent_path() / "ic-device-tmp";
}

Result<> DeviceFile::write(const std::vector<Found>& devices) const {
  const std::string text = fileText(devices);
  if (path_.empty()) {
    std::puts(text.c_str());
    std::fflush(stdout);
    return {};
  }
  if (auto made = makeDirs(temporaryFolder(), kFolderMode); !made) return made;
  const std::string half =
      temporaryFolder() + "/" + std::filesystem::path(path_).filename().string();
  if (auto written = writeFileAtomic(half, text, kFileMode); !written) return written;
  if (std::rename(half.c_str(), path_.c_str()) != 0)
    return fail(errnoError("write " + path_, errno));
  return {};
}

Result<> DeviceFile::remove() const {
  if (path_.empty()) return {};
  std::error_code error;
  std::filesystem::remove_all(temporaryFolder(), error);
  std::filesystem::remove(path_, error);
  if (error) return fail(errnoError("remove " + path_, error.value()));
  return {};
}

}  // namespace koord::devicedaemon
