#pragma once

// Readings of the fake GPUs on the caller's stack, for components on virtual time.

#include "koordlet/devices/gpu_source.h"

namespace koord::koordlet {

class DirectGpuSource final : public GpuSource {
 public:
  DirectGpuSource(const Clock& clock, std::string library)
      : clock_(clock), reader_(std::move(library)) {}
  bool read(Done done) override {
    done(reader_.read(clock_.steadyNow()));
    return true;
  }

 private:
  const Clock& clock_;
  GpuReader reader_;
};

}  // namespace koord::koordlet
