#include "cluster/containerd/image_import.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/archive.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/run_program.h"
#include "cluster/containerd/containerd_daemon.h"

namespace koord::cluster {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::minutes kImportLimit{30};

// The names in what ctr says: "unpacking docker.io/library/web:1 (sha256:...)...done".
std::vector<std::string> namesIn(const std::string& output) {
  std::vector<std::string> names;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    std::string name;
    if (words >> first >> name && first == "unpacking") names.push_back(name);
  }
  return names;
}

// A file with the content of a folder, in the format that ctr reads. Removed with the object.
class FolderArchive {
 public:
  static Result<std::unique_ptr<FolderArchive>> of(const fs::path& folder) {
    auto self = std::unique_ptr<FolderArchive>(new FolderArchive());
    self->path_ = (fs::temp_directory_path() / "koordctl-image-XXXXXX").string();
    const int fd = ::mkstemp(self->path_.data());
    if (fd < 0) return fail(errnoError("create " + self->path_, errno));
    const Fd file(fd);
    const ArchiveWriter tar(archive_write_new());
    archive_write_set_format_pax_restricted(tar.get());
    if (archive_write_open_fd(tar.get(), fd) != ARCHIVE_OK)
      return fail(ErrorCode::Internal, "write " + self->path_);
    std::error_code ec;
    for (const auto& entry : fs::recursive_directory_iterator(folder, ec)) {
      if (!entry.is_regular_file(ec)) continue;
      if (auto added = add(tar.get(), entry.path(), entry.path().lexically_relative(folder));
          !added)
        return fail(std::move(added.error()));
    }
    if (ec) return fail(errnoError("read " + folder.string(), ec.value()));
    if (archive_write_close(tar.get()) != ARCHIVE_OK)
      return fail(ErrorCode::Internal,
                  fmt::format("write {}: {}", self->path_, archive_error_string(tar.get())));
    return self;
  }
  ~FolderArchive() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  FolderArchive() = default;

  static Result<> add(archive* tar, const fs::path& file, const fs::path& name) {
    const Fd source(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source) return fail(errnoError("read " + file.string(), errno));
    std::error_code ec;
    const ArchiveEntry entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(fs::file_size(file, ec)));
    bool good = archive_write_header(tar, entry.get()) == ARCHIVE_OK;
    std::vector<char> buffer(1 << 20);
    ssize_t size = 0;
    while (good && (size = ::read(source.get(), buffer.data(), buffer.size())) > 0)
      good = archive_write_data(tar, buffer.data(), static_cast<std::size_t>(size)) == size;
    if (size < 0) return fail(errnoError("read " + file.string(), errno));
    if (!good)
      return fail(ErrorCode::Internal,
                  fmt::format("pack {}: {}", file.string(), archive_error_string(tar)));
    return {};
  }

  std::string path_;
};

Result<std::vector<std::string>> importArchive(const ImageStore& store, const std::string& path) {
  auto ctr = findProgram("ctr", "containerd");
  if (!ctr) return fail(std::move(ctr.error()));
  const auto imported = runProgram(
      {.argv = {*ctr, "--address", store.socket, "--namespace", "k8s.io", "images", "import", path},
       .limit = kImportLimit,
       .dropsOutput = true},
      Interrupt());
  if (!imported) return fail(imported.error());
  if (imported->killed) return fail(Error(*imported->killed).within("import " + path));
  if (imported->status != 0)
    return fail(ErrorCode::Invalid,
                fmt::format("import {}: {}{}", path, imported->out, imported->err));
  auto names = namesIn(imported->out);
  if (names.empty())
    return fail(ErrorCode::Invalid, fmt::format("{}: contains no image with a name", path));
  if (auto kept = rememberImages(store.namesFile, names); !kept)
    return fail(std::move(kept.error()));
  return names;
}

}  // namespace

bool isImageArchive(const std::string& path) {
  return std::ranges::any_of(
      std::array<const char*, 5>{".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz"},
      [&](const char* ending) { return path.ends_with(ending); });
}

Result<std::vector<std::string>> importImages(const ImageStore& store, const std::string& path) {
  std::error_code ec;
  // An absolute path is never taken for an option.
  const fs::path place = fs::absolute(path, ec);
  if (!fs::exists(place, ec))
    return fail(ErrorCode::NotFound, fmt::format("{}: does not exist", path));
  if (!fs::is_directory(place, ec)) return importArchive(store, place);
  if (fs::exists(place / "oci-layout", ec)) {
    const auto packed = FolderArchive::of(place);
    if (!packed) return fail(packed.error());
    auto names = importArchive(store, (*packed)->path());
    if (!names) return fail(std::move(names.error()).within(path));
    return names;
  }
  std::vector<fs::path> archives;
  for (const auto& entry : fs::directory_iterator(place, ec))
    if (isImageArchive(entry.path())) archives.push_back(entry.path());
  if (archives.empty())
    return fail(
        ErrorCode::NotFound,
        fmt::format("{}: contains neither archives (.tar, .tar.gz, .tgz, .tar.zst, .tar.xz) "
                    "nor an oci-layout",
                    path));
  std::ranges::sort(archives);
  std::vector<std::string> all;
  for (const auto& archive : archives) {
    auto names = importArchive(store, archive);
    if (!names) return fail(std::move(names.error()));
    all.insert(all.end(), names->begin(), names->end());
  }
  return all;
}

Result<> rememberImages(const std::string& namesFile, const std::vector<std::string>& names) {
  std::set<std::string> known = importedImages(namesFile);
  known.insert(names.begin(), names.end());
  std::string text;
  for (const auto& name : known) text += name + "\n";
  return writeFileAtomic(namesFile, text);
}

std::set<std::string> importedImages(const std::string& namesFile) {
  std::set<std::string> names;
  std::istringstream lines(readFile(namesFile).value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) names.insert(line);
  return names;
}

}  // namespace koord::cluster
