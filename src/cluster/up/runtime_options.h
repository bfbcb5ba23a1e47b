#pragma once

// How a host node runs containers and when it has pressure, of `koordctl up` and `koordctl join`.

#include <string>

namespace koord::cluster {

struct RuntimeOptions {
  std::string kind = "process";  // process, containerd, auto
  std::string images;            // a file or folder to import into containerd; "" = none
  std::string containerdSocket;  // "" = koordctl starts its own containerd
  bool proxy = false;            // koord-runtime-proxy in front of containerd
  // kubelet's format; "" = the node never has pressure.
  std::string evictionHard =
      "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,"
      "imagefs.inodesFree<5%";
};

}  // namespace koord::cluster
