#include "cluster/containerd/busybox_image.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/archive.h"
#include "base/file.h"
#include "base/json.h"

namespace koord::cluster {

namespace {

// The applets that manifests and users at a terminal call, and tar for kubectl cp. busybox acts as
// the applet by whose name it is called.
constexpr std::string_view kApplets[] = {
    "[",     "ash",      "awk",  "base64", "basename", "cat",      "chmod", "clear", "cp",
    "cut",   "date",     "dd",   "df",     "diff",     "du",       "echo",  "env",   "expr",
    "false", "find",     "free", "grep",   "head",     "hostname", "httpd", "id",    "ip",
    "kill",  "less",     "ln",   "ls",     "mkdir",    "mount",    "mv",    "nc",    "netstat",
    "nproc", "nslookup", "ping", "printf", "ps",       "pwd",      "rm",    "sed",   "seq",
    "sh",    "sleep",    "sort", "stat",   "stty",     "tail",     "tar",   "tee",   "test",
    "time",  "timeout",  "top",  "touch",  "tr",       "true",     "tty",   "uname", "uniq",
    "vi",    "wc",       "wget", "which",  "whoami",   "xargs",    "yes"};

// An archive in memory. The bytes are the same each time: it has neither owners nor dates.
class Tar {
 public:
  Tar() : archive_(archive_write_new()) {
    archive_write_set_format_ustar(archive_.get());
    archive_write_open(archive_.get(), &bytes_, nullptr, append, nullptr);
  }

  void addFolder(const std::string& name) { add(name, AE_IFDIR, 0755, {}, {}); }
  void addFile(const std::string& name, int mode, std::string_view content) {
    add(name, AE_IFREG, mode, content, {});
  }
  void addLink(const std::string& name, const std::string& target) {
    add(name, AE_IFLNK, 0777, {}, target);
  }

  Result<std::string> finish() {
    if (archive_write_close(archive_.get()) != ARCHIVE_OK) note();
    if (!problem_.empty()) return fail(ErrorCode::Internal, "write tar: " + problem_);
    return std::move(bytes_);
  }

 private:
  void add(const std::string& name, unsigned type, int mode, std::string_view content,
           const std::string& target) {
    const ArchiveEntry entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), type);
    archive_entry_set_perm(entry.get(), static_cast<mode_t>(mode));
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
    archive_entry_set_mtime(entry.get(), 0, 0);
    if (!target.empty()) archive_entry_set_symlink(entry.get(), target.c_str());
    if (archive_write_header(archive_.get(), entry.get()) != ARCHIVE_OK ||
        archive_write_data(archive_.get(), content.data(), content.size()) !=
            static_cast<la_ssize_t>(content.size()))
      note();
  }

  // finish() reports the first problem.
  void note() {
    const char* why = archive_error_string(archive_.get());
    if (problem_.empty()) problem_ = why ? why : "no reason given";
  }

  static la_ssize_t append(archive*, void* bytes, const void* data, std::size_t size) {
    static_cast<std::string*>(bytes)->append(static_cast<const char*>(data), size);
    return static_cast<la_ssize_t>(size);
  }

  std::string bytes_;
  std::string problem_;
  ArchiveWriter archive_;
};

std::string sha256(std::string_view data) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

Result<std::string> layerTar(std::string_view binary) {
  Tar tar;
  for (const char* folder : {"bin/", "etc/", "tmp/", "root/"}) tar.addFolder(folder);
  tar.addFile("bin/busybox", 0755, binary);
  for (const auto applet : kApplets) tar.addLink(fmt::format("bin/{}", applet), "busybox");
  tar.addFile("etc/passwd", 0644, "root:x:0:0:root:/root:/bin/sh\n");
  return tar.finish();
}

std::string configJson(const std::string& layerDigest, json::array command) {
  return toJson(
      json::object{{"architecture", "amd64"},
                   {"os", "linux"},
                   {"config", {{"Env", {"PATH=/bin"}}, {"Cmd", std::move(command)}}},
                   {"rootfs", {{"type", "layers"}, {"diff_ids", {"sha256:" + layerDigest}}}},
                   {"history", json::array{json::object{{"created_by", "koordctl"}}}}});
}

}  // namespace

Result<std::string> busyboxImageTar(std::string_view binary) {
  const auto layer = layerTar(binary);
  if (!layer) return fail(layer.error());
  const std::string digest = sha256(*layer);
  const std::string shell = configJson(digest, {"sh"});
  const std::string pause = configJson(digest, {"/bin/busybox", "sleep", "2147483647"});
  const std::string layerName = digest + ".tar";
  json::array manifest;
  Tar tar;
  for (const auto& [config, tag] :
       {std::pair{&shell, kBusyboxImage}, std::pair{&pause, kSandboxImage}}) {
    const std::string name = sha256(*config) + ".json";
    tar.addFile(name, 0644, *config);
    manifest.push_back(
        json::object{{"Config", name}, {"RepoTags", {std::string(tag)}}, {"Layers", {layerName}}});
  }
  tar.addFile(layerName, 0644, *layer);
  tar.addFile("manifest.json", 0644, toJson(manifest));
  return tar.finish();
}

Result<> writeBusyboxImage(const std::string& path) {
  for (const char* program : {"/bin/busybox", "/usr/bin/busybox"})
    if (const auto binary = readFile(program)) {
      const auto tar = busyboxImageTar(*binary);
      return tar ? writeFileAtomic(path, *tar) : fail(tar.error());
    }
  return fail(ErrorCode::NotFound,
              "/bin/busybox is missing: install the Debian package busybox-static");
}

}  // namespace koord::cluster
