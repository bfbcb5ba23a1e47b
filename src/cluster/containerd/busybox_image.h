#pragma once

// A container image made of the host's busybox-static, so that nothing must be pulled: as
// "busybox", and as the image of pod sandboxes.

#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::cluster {

inline constexpr std::string_view kBusyboxImage = "docker.io/library/busybox:latest";
inline constexpr std::string_view kSandboxImage = "koordctl.local/pause:1";

// The tar archive for `ctr images import`; `binary` is the content of the program.
Result<std::string> busyboxImageTar(std::string_view binary);
// The image of /bin/busybox; the error says which package has it.
Result<> writeBusyboxImage(const std::string& path);

}  // namespace koord::cluster
