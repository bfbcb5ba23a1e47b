#pragma once

// AbsentPlugin: stands in the registry for a plugin of koord-scheduler that is not written yet, so that
// configurations which name it work. Its arguments are checked as they will be, a list that it does not
// belong in is an error, and other than that it does nothing: Profile::absent tells which a
// configuration asked for.

#include <algorithm>
#include <string>
#include <vector>

#include "scheduler/framework/plugin.h"

namespace koord::scheduler {

class AbsentPlugin final : public Plugin {
 public:
  // points: the extension points that it will be at, as in the configuration.
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
