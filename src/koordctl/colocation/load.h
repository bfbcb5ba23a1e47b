#pragma once

// Load: what the services of a run demand over time.

#include <cstddef>
#include <string>
#include <vector>

namespace koord::koordctl::colocation {

struct ServicePod {
  std::size_t service = 0;
  double cores = 0;       // requested
  double memoryGib = 0;   // requested
  double limit = 0;       // cores; 0 = none
  std::string node = {};  // "" = the scheduler places it
  std::string qos = "LS";
};

class Load {
 public:
  virtual ~Load() = default;
  virtual const std::vector<ServicePod>& pods() const = 0;
  // Moves to that time, in seconds since the start; steps must be equal and ascending.
  virtual void moveTo(double seconds) = 0;
  // The demand of a pod, in cores, and its memory, in GiB.
  virtual double demand(std::size_t pod) const = 0;
  virtual double memory(std::size_t pod) const = 0;
  // False while the pod's requests do not count for the slowdown.
  virtual bool counts(std::size_t) const { return true; }
};

}  // namespace koord::koordctl::colocation
