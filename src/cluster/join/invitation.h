#pragma once

// An invitation lets another host join a cluster as one node. It has the address and authority of
// the API server and three certificates for this node: of its kubelet (user system:node:NAME), of
// its koordlet, and of the kubelet's port. A program that reads it can
// act as this node: keep it private.

#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/result.h"
#include "net/tls.h"

namespace koord::cluster {

struct Invitation {
  std::string node;       // name of the node
  std::string server;     // "https://192.0.2.1:6443"
  std::string authority;  // PEM
  net::CertKey kubelet;   // for requests to the API server
  net::CertKey koordlet;  // likewise
  net::CertKey serving;   // of the kubelet's port, for the name of the node
};

// Signs the certificates with the authority in the data folder of `koordctl up`. NotFound if there
// is none. They are valid for a year.
Result<Invitation> makeInvitation(const std::string& dataDir, const std::string& node,
                                  const std::string& server, WallTime now);

std::string toYaml(const Invitation& invitation);
// The error names the field.
Result<Invitation> parseInvitation(std::string_view yaml);

}  // namespace koord::cluster
