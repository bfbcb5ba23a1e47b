#pragma once

// What the readers of vendors' shared libraries (base/shared_library.h) have in common. They run in
// a child process (Runner::runIsolated) and keep the library open until it ends. A library's log
// goes to the same place as this process's log.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "devicedaemon/found.h"

namespace koord::devicedaemon {

// Collects the devices that answered. Fails only if none did.
class Answers {
 public:
  void take(Result<Found> device) {
    if (device) return found_.push_back(*std::move(device));
    log::warn("{}", device.error().message);
    lost_ = std::move(device.error());
  }
  Result<std::vector<Found>> all() && {
    if (found_.empty() && lost_) return fail(*std::move(lost_));
    return std::move(found_);
  }

 private:
  std::vector<Found> found_;
  std::optional<Error> lost_;
};

// A structure of the library with spare space behind it: a newer version may have more members.
template <class T>
struct Padded {
  T value{};
  std::array<std::byte, 4096> room{};
};

// The text in a buffer, which need not end in 0.
template <class Char, std::size_t N>
std::string textOf(const std::array<Char, N>& buffer) {
  std::string text;
  for (const auto c : buffer) {
    if (c == 0) break;
    text += static_cast<char>(c);
  }
  return text;
}

}  // namespace koord::devicedaemon
