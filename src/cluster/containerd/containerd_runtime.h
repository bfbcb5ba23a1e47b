#pragma once

// Runs containers through containerd, over its CRI socket. Pods share the host's network. Images
// come from registries, or were imported (image_import.h).

#include <map>
#include <memory>
#include <set>
#include <string>

#include "cluster/hostnode/runtime.h"
#include "cluster/streaming/stream_io.h"

namespace koord::cluster {

class ContainerdRuntime final : public Runtime {
 public:
  struct Options {
    std::string socket;             // "/run/containerd/containerd.sock"
    std::string logDir;             // of the containers' logs
    std::string loadedImages = {};  // a file, see image_import.h
  };

  // Asks containerd for its version and the folder of its images. Blocks for at most `patience`,
  // the wait for the socket included. The error names the socket.
  static Result<std::unique_ptr<ContainerdRuntime>> connect(Executor& executor, Options options,
                                                            Duration patience);
  ~ContainerdRuntime() override;

  std::string version() const override { return version_; }
  // The folder of the images; "" if containerd does not say.
  const std::string& imageDir() const { return imageDir_; }
  RuntimeAbilities abilities() const override { return {.images = true}; }
  bool resolvesSubPaths() const override { return false; }
  Task<Result<std::optional<ImageInfo>>> image(std::string name) override;
  Task<Result<>> pullImage(std::string name, std::vector<ImageCredentials> credentials) override;
  Task<Result<>> preparePod(PodRef pod, SandboxOptions options) override;
  Task<Result<std::string>> startContainer(ContainerConfig config) override;
  Task<Result<>> stopContainer(std::string id, Duration grace) override;
  Task<Result<ExecResult>> exec(std::string id, std::vector<std::string> command,
                                Duration timeout) override;
  Task<Result<std::shared_ptr<StreamedCommand>>> openCommand(std::string id,
                                                             std::vector<std::string> command,
                                                             CommandStreams streams) override;
  Task<Result<std::shared_ptr<StreamedCommand>>> attach(std::string id,
                                                        CommandStreams streams) override;
  Task<Result<>> removeContainer(std::string id) override;
  Task<Result<>> releasePod(PodRef pod) override;
  Task<Result<>> removePod(PodRef pod) override;
  Task<Result<std::vector<RuntimeContainer>>> list() override;

 private:
  class Client;
  struct Sandbox {
    std::string id;
    PodRef pod;
    std::uint32_t attempt = 0;
    bool ready = false;
  };

  ContainerdRuntime(Executor& executor, Options options, std::shared_ptr<Client> client,
                    std::string version, std::string imageDir);
  Task<Result<std::vector<Sandbox>>> sandboxes();
  Task<Result<>> stopSandbox(std::string id);
  // Rotates the log of a running container when it is full.
  Task<Result<>> rotate(std::string id, std::string log);
  Task<void> rotateLogs(const std::vector<RuntimeContainer>* containers);
  Task<Result<std::string>> createAndStart(ContainerConfig config, Sandbox sandbox);
  Task<Result<std::string>> createContainer(ContainerConfig config, Sandbox sandbox);

  Executor& executor_;
  Options options_;
  std::shared_ptr<Client> client_;
  std::string version_;
  std::string imageDir_;
  StreamIo io_;       // of connections to containerd's streaming server
  int starting_ = 0;  // pending startContainer calls
  std::map<std::string, RuntimeContainer> exited_;  // by id: exited containers do not change
};

}  // namespace koord::cluster
