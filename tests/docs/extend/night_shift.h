#pragma once

// NightShift (deschedule): evicts pods with a label after they ran for some time, so that test
// environments do not stay over night.

#include "descheduler/framework/registry.h"

namespace koord::descheduler {

struct NightShiftArgs {
  std::string label;  // pods with this label are evicted
  Duration longest;   // since the pod was created

  static NightShiftArgs read(Fields& fields);
};

class NightShift final : public Plugin, public DeschedulePlugin {
 public:
  static constexpr std::string_view kName = "NightShift";
  static PluginKind kind();

  NightShift(Handle& handle, NightShiftArgs args) : handle_(handle), args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  Task<Result<>> deschedule(const Nodes& nodes) override;

 private:
  bool isOver(const Pod& pod) const;

  Handle& handle_;
  NightShiftArgs args_;
};

}  // namespace koord::descheduler
