#pragma once

// Puts this program on a machine, out of an image of it: an init container of koordlet's DaemonSet brings the proxy to the
// nodes in this way. It cannot itself be a pod, since kubelet starts pods through it.

#include <filesystem>

#include "base/result.h"

namespace koord::runtimeproxy {

// Copies the program, and the libraries that it runs with, into opt/koordinator/koord-runtime-proxy below `root`, where the
// machine's root is mounted, and writes its service, which starts with the machine. The same files are left alone, others
// replaced at once; what runs goes on with what it has. An error names the file.
Result<> installOnHost(const std::filesystem::path& root);

}  // namespace koord::runtimeproxy
