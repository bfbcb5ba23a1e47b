#pragma once

// AbsentPlugin: a registry entry for a plugin of koord-scheduler that is not implemented, so that
// configurations that name it are valid. Its arguments and its extension points are checked; apart
// from that it does nothing.

#include <algorithm>
#include <string>
#include <vector>

#include "scheduler/framework/plugin.h"

namespace koord::scheduler {

class AbsentPlugin final : public Plugin {
 public:
  // points: the extension points that it will have, as in the configuration.
  AbsentPlugin(std::string name, std::vector<std::string_view> points)
      : name_(std::move(name)), points_(std::move(points)) {}
  std::string_view name() const override { return name_; }
  bool extends(std::string_view point) const {
    return std::ranges::find(points_, point) != points_.end();
  }

 private:
  std::string name_;
  std::vector<std::string_view> points_;
};

}  // namespace koord::scheduler
