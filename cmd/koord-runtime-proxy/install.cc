#include "install.h"

#include <fmt/format.h>
#include <link.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace koord::runtimeproxy {

extern const std::string_view kServiceUnit;  // made from the file by CMake

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "koord-runtime-proxy";
constexpr std::string_view kFolder = "opt/koordinator/koord-runtime-proxy";
constexpr std::string_view kUnits = "etc/systemd/system";

// The shared objects of this process, with the names that programs request from the loader.
std::vector<fs::path> loadedLibraries() {
  std::vector<fs::path> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        const std::string_view name = info->dlpi_name ? info->dlpi_name : "";
        if (name.starts_with('/')) static_cast<std::vector<fs::path>*>(into)->emplace_back(name);
        return 0;
      },
      &paths);
  return paths;
}

std::string contentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<> put(const fs::path& path, const std::string& content, fs::perms mode) {
  std::error_code error;
  if (fs::exists(path, error) && contentOf(path) == content) return {};
  fs::create_directories(path.parent_path(), error);
  if (error) return fail(errnoError("create " + path.parent_path().string(), error.value()));
  const fs::path part = path.string() + ".new";
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) return fail(errnoError("write " + part.string(), errno));
  fs::permissions(part, mode, error);
  if (!error) fs::rename(part, path, error);
  if (error) return fail(errnoError("write " + path.string(), error.value()));
  return {};
}

Result<> bring(const fs::path& from, const fs::path& to) {
  const std::string content = contentOf(from);
  if (content.empty()) return fail(errnoError("read " + from.string(), errno));
  return put(to, content, fs::perms(0755));
}

// The shipped service with the path of the copy: the host's libraries have another version or are
// missing.
std::string unitFor(std::string_view loader) {
  constexpr std::string_view kShipped = "/usr/bin/koord-runtime-proxy";
  std::string unit(kServiceUnit);
  unit.replace(
      unit.find(kShipped), kShipped.size(),
      fmt::format("/{0}/lib/{1} --library-path /{0}/lib /{0}/{2}", kFolder, loader, kName));
  return unit;
}

Result<> switchOn(const fs::path& units, const std::string& unit) {
  const fs::path link = units / "multi-user.target.wants" / unit;
  std::error_code error;
  fs::create_directories(link.parent_path(), error);
  if (!error && !fs::is_symlink(link, error)) fs::create_symlink("../" + unit, link, error);
  if (error) return fail(errnoError("link " + link.string(), error.value()));
  return {};
}

}  // namespace

Result<> installOnHost(const fs::path& root) {
  const fs::path folder = root / kFolder;
  std::string loader;
  for (const auto& library : loadedLibraries()) {
    const std::string name = library.filename();
    if (name.starts_with("ld-")) loader = name;
    if (auto copied = bring(library, folder / "lib" / name); !copied) return copied;
  }
  if (loader.empty()) return fail(ErrorCode::Internal, "the loader of this program is not known");
  if (auto copied = bring("/proc/self/exe", folder / kName); !copied) return copied;
  const std::string unit = fmt::format("{}.service", kName);
  if (auto written = put(root / kUnits / unit, unitFor(loader), fs::perms(0644)); !written)
    return written;
  return switchOn(root / kUnits, unit);
}

}  // namespace koord::runtimeproxy
