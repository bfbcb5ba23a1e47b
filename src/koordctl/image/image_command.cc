#include "koordctl/image/image_command.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/run_program.h"
#include "cluster/containerd/containerd_daemon.h"
#include "cluster/containerd/image_import.h"
#include "cluster/hostnode/images/pull_credentials.h"
#include "cluster/up/host.h"
#include "koordctl/common/cluster_names.h"

namespace koord::koordctl {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::minutes kSaveLimit{30};

Result<cluster::ImageStore> storeOf(const ImageOptions& options) {
  const std::string data = fs::absolute(clusterFolder(options.name, options.dataDir)).string();
  cluster::ImageStore store{options.containerdSocket.empty() ? cluster::containerdSocketOf(data)
                                                             : options.containerdSocket,
                            cluster::loadedImagesFile(data)};
  struct stat info{};
  if (::stat(store.socket.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode))
    return fail(ErrorCode::NotFound,
                fmt::format("{}: no containerd listens there. Start the cluster with koordctl up "
                            "--runtime=containerd, and name it with --name or --data-dir",
                            store.socket));
  return store;
}

bool looksLikePath(const std::string& source) {
  return source.starts_with('/') || source.starts_with('.') || cluster::isImageArchive(source);
}

Result<> ranWell(const ProgramSpec& program) {
  const auto ran = runProgram(program, Interrupt());
  if (!ran) return fail(ran.error());
  if (ran->killed) return fail(*ran->killed);
  if (ran->status != 0)
    return fail(ErrorCode::Unavailable, fmt::format("{}: {}", program.argv[0], ran->err));
  return {};
}

// An archive of an image that a local docker or podman has; nullopt if none has it.
std::optional<std::string> savedByEngine(const std::string& image, const std::string& folder) {
  for (const char* engine : {"docker", "podman"}) {
    const std::string file = folder + "/image.tar";
    const auto known = ranWell({.argv = {engine, "image", "inspect", image},
                                .limit = std::chrono::seconds(20),
                                .dropsOutput = true});
    if (!known) continue;
    const auto saved = ranWell(
        {.argv = {engine, "save", "-o", file, image}, .limit = kSaveLimit, .dropsOutput = true});
    if (saved) return file;
    std::fprintf(stderr, "koordctl: %s\n", saved.error().message.c_str());
  }
  return std::nullopt;
}

Result<std::vector<std::string>> loadImage(const cluster::ImageStore& store,
                                           const std::string& image) {
  std::string folder = (fs::temp_directory_path() / "koordctl-image-XXXXXX").string();
  if (!::mkdtemp(folder.data())) return fail(errnoError("create " + folder, errno));
  const auto archive = savedByEngine(image, folder);
  auto loaded = archive ? cluster::importImages(store, *archive)
                        : Result<std::vector<std::string>>(std::vector<std::string>());
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (archive) return loaded;
  auto ctr = cluster::findProgram("ctr", "containerd");
  if (!ctr) return fail(std::move(ctr.error()));
  const std::string name = cluster::fullImageName(image);
  auto pulled = ranWell(
      {.argv = {*ctr, "--address", store.socket, "--namespace", "k8s.io", "images", "pull", name},
       .limit = kSaveLimit,
       .dropsOutput = true});
  if (!pulled)
    return fail(std::move(pulled.error())
                    .within(fmt::format("neither docker nor podman has {}, and its registry does "
                                        "not give it",
                                        image)));
  if (auto kept = cluster::rememberImages(store.namesFile, {name}); !kept)
    return fail(std::move(kept.error()));
  return std::vector<std::string>{name};
}

Result<std::vector<std::string>> load(const cluster::ImageStore& store, const std::string& source) {
  std::error_code ec;
  if (fs::exists(source, ec) || looksLikePath(source)) return cluster::importImages(store, source);
  if (source.starts_with('-') || source.empty())
    return fail(ErrorCode::Invalid, fmt::format("\"{}\" is not the name of an image", source));
  return loadImage(store, source);
}

int failed(const Error& error) {
  std::fprintf(stderr, "koordctl: %s\n", error.message.c_str());
  return 1;
}

int runImageLoad(const ImageOptions& options, const std::vector<std::string>& sources) {
  const auto store = storeOf(options);
  if (!store) return failed(store.error());
  int status = 0;
  for (const auto& source : sources) {
    const auto names = load(*store, source);
    if (!names) {
      status = failed(names.error());
      continue;
    }
    for (const auto& name : *names) std::printf("loaded %s\n", name.c_str());
  }
  return status;
}

int runImageList(const ImageOptions& options) {
  const auto store = storeOf(options);
  if (!store) return failed(store.error());
  for (const auto& name : cluster::importedImages(store->namesFile)) std::puts(name.c_str());
  return 0;
}

}  // namespace

void addImageCommands(flags::Commands& commands, ImageOptions& options) {
  const auto add = [&](const char* name, const char* summary) -> flags::Command& {
    auto& command = commands.add(name, summary);
    addClusterFlags(command.flags, options.name, options.dataDir);
    command.flags.text("containerd-socket", options.containerdSocket,
                       "With 'koordctl up --containerd-socket': the same socket");
    return command;
  };
  auto& load = add("image load", "Load images into a cluster with --runtime=containerd");
  load.arguments = "FILE|FOLDER|IMAGE...";
  load.details =
      "FILE is an archive of 'docker save' or of an OCI layout. FOLDER is an OCI layout or a "
      "folder\n"
      "of archives. IMAGE is read from docker or podman on this host, otherwise from its "
      "registry.\n"
      "The node does not pull loaded images, whatever their imagePullPolicy.";
  load.run = [&commands, &options](const std::vector<std::string>& sources) {
    if (sources.empty()) return commands.refuse("at least one FILE, FOLDER or IMAGE", "image load");
    return runImageLoad(options, sources);
  };
  add("image list", "List the images that were loaded").run = [&options](const auto&) {
    return runImageList(options);
  };
}

}  // namespace koord::koordctl
