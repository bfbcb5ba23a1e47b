#include "cluster/containerd/busybox_image.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstring>

#include "base/file.h"
#include "base/json.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kBlock = 512;

// The programs of busybox that manifests use; busybox is each of them by its name.
constexpr std::string_view kApplets[] = {
    "[",      "ash",   "awk", "base64", "basename", "cat",     "chmod", "cp",    "cut",
    "date",   "dd",    "df",  "diff",   "env",      "expr",    "false", "find",  "grep",
    "head",   "httpd", "id",  "kill",   "ls",       "mkdir",   "mv",    "nc",    "nproc",
    "printf", "ps",    "pwd", "rm",     "sed",      "seq",     "sh",    "sleep", "sort",
    "stat",   "tail",  "tee", "test",   "time",     "timeout", "touch", "tr",    "true",
    "uname",  "uniq",  "wc",  "wget",   "xargs",    "yes",     "echo"};

enum class TarType : char { File = '0', Symlink = '2', Folder = '5' };

void addEntry(std::string& tar, std::string_view name, TarType type, int mode,
              std::string_view content, std::string_view target = {}) {
  char header[kBlock] = {};
  const auto put = [&](std::size_t offset, std::size_t size, std::string_view text) {
    std::memcpy(header + offset, text.data(), std::min(size, text.size()));
  };
  put(0, 100, name);
  put(100, 8, fmt::format("{:07o}", mode));
  put(108, 8, "0000000");
  put(116, 8, "0000000");
  put(124, 12, fmt::format("{:011o}", content.size()));
  put(136, 12, "00000000000");
  put(148, 8, "        ");
  header[156] = static_cast<char>(type);
  put(157, 100, target);
  put(257, 8,
      std::string_view("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  tar.append(header, kBlock);
  tar.append(content);
  tar.append((kBlock - content.size() % kBlock) % kBlock, '\0');
}

void endTar(std::string& tar) {
  tar.append(2 * kBlock, '\0');
}

std::string sha256(std::string_view data) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string layerTar(std::string_view binary) {
  std::string tar;
  for (const char* folder : {"bin/", "etc/", "tmp/", "root/"})
    addEntry(tar, folder, TarType::Folder, 0755, {});
  addEntry(tar, "bin/busybox", TarType::File, 0755, binary);
  for (const auto applet : kApplets)
    addEntry(tar, fmt::format("bin/{}", applet), TarType::Symlink, 0777, {}, "busybox");
  addEntry(tar, "etc/passwd", TarType::File, 0644, "root:x:0:0:root:/root:/bin/sh\n");
  endTar(tar);
  return tar;
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

std::string busyboxImageTar(std::string_view binary) {
  const std::string layer = layerTar(binary);
  const std::string digest = sha256(layer);
  const std::string shell = configJson(digest, {"sh"});
  const std::string pause = configJson(digest, {"/bin/busybox", "sleep", "2147483647"});
  const std::string layerName = digest + ".tar";
  json::array manifest;
  std::string tar;
  for (const auto& [config, tag] :
       {std::pair{&shell, kBusyboxImage}, std::pair{&pause, kSandboxImage}}) {
    const std::string name = sha256(*config) + ".json";
    addEntry(tar, name, TarType::File, 0644, *config);
    manifest.push_back(
        json::object{{"Config", name}, {"RepoTags", {std::string(tag)}}, {"Layers", {layerName}}});
  }
  addEntry(tar, layerName, TarType::File, 0644, layer);
  addEntry(tar, "manifest.json", TarType::File, 0644, toJson(manifest));
  endTar(tar);
  return tar;
}

Result<> writeBusyboxImage(const std::string& path) {
  for (const char* program : {"/bin/busybox", "/usr/bin/busybox"})
    if (const auto binary = readFile(program))
      return writeFileAtomic(path, busyboxImageTar(*binary));
  return fail(ErrorCode::NotFound,
              "/bin/busybox is not there: install the Debian package busybox-static");
}

}  // namespace koord::cluster
