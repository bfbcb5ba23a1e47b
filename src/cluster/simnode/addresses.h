#pragma once

// Addresses of simulated nodes and pods: from 10.0.0.0/8, reached by nothing, each given once.

#include <cstdint>
#include <string>

namespace koord::cluster {

class Addresses {
 public:
  // From 10.<block>.0.1 on; a hundred blocks of 65,536 addresses.
  explicit Addresses(std::uint32_t block) : first_((10U << 24) + (block << 16)) {}

  std::string next();
  // next() does not return this address, which an object has from an earlier run. Ignores addresses
  // of other blocks and invalid ones.
  void take(const std::string& address);

 private:
  std::uint32_t first_;
  std::uint32_t given_ = 0;  // the last one, counted from first_
};

}  // namespace koord::cluster
