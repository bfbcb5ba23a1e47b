#include "scheduler/framework/status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scheduler/engine/run_guarded.h"

namespace koord::scheduler {

Status::Status(Code what, std::vector<std::string> reasons, std::string plugin) : code(what) {
  if (!reasons.empty()) setReasons(std::move(reasons));
  if (!plugin.empty()) setPlugin(std::move(plugin));
}

Status Status::with(Code code, std::string& reason) {
  Status status(code);
  status.words().reasons.push_back(std::move(reason));
  return status;
}

Status::Words& Status::words() {
  return words_ ? *words_ : words_.emplace();
}

const std::vector<std::string>& Status::reasons() const {
  static const std::vector<std::string> kNone;
  return words_ ? words_->reasons : kNone;
}

std::vector<std::string> Status::takeReasons() {
  return words_ ? std::exchange(words_->reasons, {}) : std::vector<std::string>();
}

void Status::setReasons(std::vector<std::string> reasons) {
  words().reasons = std::move(reasons);
}

const std::string& Status::plugin() const {
  static const std::string kNobody;
  return words_ ? words_->plugin : kNobody;
}

void Status::setPlugin(std::string plugin) {
  words().plugin = std::move(plugin);
}

std::string Status::message() const {
  return fmt::format("{}", fmt::join(reasons(), ", "));
}

Status statusFromException() noexcept {
  try {
    throw;
  } catch (const std::exception& thrown) {
    return Status::error(describeException("a task of a plugin", "an attempt", &thrown));
  } catch (...) {
    return Status::error(describeException("a task of a plugin", "an attempt", nullptr));
  }
}

}  // namespace koord::scheduler
