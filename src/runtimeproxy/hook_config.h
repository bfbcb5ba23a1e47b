#pragma once

// The configured hook servers: one JSON file each in a folder, /etc/runtime/hookserver.d.
//
//   {"remote-endpoint": "/var/run/koordlet/koordlet.sock", "failure-policy": "Ignore",
//    "runtime-hooks": ["PreRunPodSandbox", "PreCreateContainer"]}
//
// Files are read again as soon as they change. If a file cannot be read, its last content stays in
// force; if it is deleted, its hook server is removed.

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "net/rpc/io_loop.h"
#include "net/rpc/unix_socket.h"
#include "runtimeproxy/hook_type.h"

namespace koord::runtimeproxy {

struct HookServer {
  std::string name;      // of the file
  std::string endpoint;  // path of its socket
  bool failureIsFatal = false;
  std::set<HookType> hooks;
  bool operator==(const HookServer&) const = default;
};

// The error names the field. Unknown hook names are ignored.
Result<HookServer> parseHookServer(const std::string& name, std::string_view json);

class HookConfigs {
 public:
  HookConfigs(net::IoLoop& loop, std::string folder);

  // Creates the folder, reads it, and starts to watch it.
  Result<> start();
  // Sorted by file name, the order of calls. Shared, so that a running call keeps its list.
  using List = std::shared_ptr<const std::vector<HookServer>>;
  List servers() const { return servers_; }
  bool wants(HookType type) const;

  // Reads changed files. Runs automatically after changes and once a minute.
  void reload();

 private:
  struct File {
    std::uint64_t inode = 0;
    std::int64_t modified = 0;  // ns
    std::int64_t size = 0;
    HookServer server;
    bool valid = false;
    bool operator==(const File&) const = default;
  };

  void watchFolder();
  void onChange();
  void readFile(const std::string& name, const std::string& path);
  void scheduleReload();

  net::IoLoop& loop_;
  std::string folder_;
  std::vector<std::pair<std::string, File>> files_;  // by name
  List servers_ = std::make_shared<const std::vector<HookServer>>();
  Fd inotify_;
  std::unique_ptr<net::IoLoop::Watch> watch_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::runtimeproxy
