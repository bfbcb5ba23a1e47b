#include "koordctl/common/runtime_flags.h"

namespace koord::koordctl {

void addRuntimeFlags(flags::FlagSet& set, cluster::RuntimeOptions& options) {
  set.text("runtime", options.kind,
           "How the host node runs containers: process (runs the command on this host's files "
           "and ignores images), containerd, or auto (containerd if it is installed, otherwise "
           "process)")
      .oneOf({"process", "containerd", "auto"});
  set.text("images", options.images,
           "With containerd: an archive of images (docker save), or a folder of archives or of an "
           "OCI layout, to load at start");
  set.text("containerd-socket", options.containerdSocket,
           "With --runtime=containerd: the socket of a running containerd; default: koordctl "
           "starts its own, with an image of busybox-static");
  set.boolean("runtime-proxy", options.proxy,
              "With --runtime=containerd: koord-runtime-proxy in front of it, so that koordlet's "
              "values apply before containers start");
  set.text("eviction-hard", options.evictionHard,
           "Thresholds of MemoryPressure, DiskPressure and PIDPressure of the host node, as "
           "kubelet's flag; \"\" for none. They keep new pods away; running pods are not evicted");
}

std::string checkRuntimeFlags(const cluster::RuntimeOptions& options) {
  if (!options.images.empty() && options.kind == "process")
    return "--images needs --runtime=containerd or auto";
  if (options.proxy && options.kind != "containerd")
    return "--runtime-proxy needs --runtime=containerd";
  return {};
}

}  // namespace koord::koordctl
