#pragma once

// Status: what a plugin answers for a pod as a whole (for single nodes see NodeFilter). Success unless it
// says otherwise; the reasons become the text that users read.

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "scheduler/engine/verdicts.h"

namespace koord::scheduler {

struct Status {
  Code code = Code::Success;
  std::vector<std::string> reasons;
  std::string plugin;  // who said so; set by the runner

  static Status skip() { return {Code::Skip, {}, {}}; }
  static Status unschedulable(std::string reason) {
    return {Code::Unschedulable, {std::move(reason)}, {}};
  }
  static Status unresolvable(std::string reason) {
    return {Code::UnschedulableAndUnresolvable, {std::move(reason)}, {}};
  }
  static Status pending(std::string reason) { return {Code::Pending, {std::move(reason)}, {}}; }
  static Status error(std::string message) { return {Code::Error, {std::move(message)}, {}}; }
  static Status of(const Error& error) { return Status::error(error.message); }

  bool ok() const { return code == Code::Success; }
  bool skipped() const { return code == Code::Skip; }
  bool rejected() const { return isRejection(code); }
  std::string message() const {
    std::string text;
    for (const auto& reason : reasons) {
      if (!text.empty()) text += ", ";
      text += reason;
    }
    return text;
  }
};

}  // namespace koord::scheduler
