#pragma once

// Installs this program from its image on a node. An init container of koordlet's DaemonSet
// installs the proxy in this way. The proxy cannot be a pod, because kubelet starts pods through
// it.

#include <filesystem>

#include "base/result.h"

namespace koord::runtimeproxy {

// Copies the program and its libraries into opt/koordinator/koord-runtime-proxy below `root`, where
// the host's root is mounted, and writes a systemd service that starts at boot. Does not touch
// files that are equal; replaces others atomically. A running proxy keeps its old files. An error
// names the file.
Result<> installOnHost(const std::filesystem::path& root);

}  // namespace koord::runtimeproxy
