#pragma once

// A vendor's shared library, opened in a child process (Runner::runIsolated). It is open until the
// process ends. Its log goes to the same place as this process's log.

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "devicedaemon/found.h"

namespace koord::devicedaemon {

class Library {
 public:
  // Opens the first library that can be opened. NotFound if none can.
  static Result<Library> open(const std::vector<std::string>& paths) {
    std::string why = "no library has a name";
    for (const auto& path : paths) {
      if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
        return Library(handle, path);
      if (const char* said = ::dlerror(); said && &path == &paths.front()) why = said;
    }
    return fail(ErrorCode::NotFound, why);
  }

  // Sets a required function; the first missing one fails complete().
  template <class Fn>
  Library& need(Fn*& function, const char* name) {
    function = reinterpret_cast<Fn*>(::dlsym(handle_, name));
    if (!function && missing_.empty()) missing_ = name;
    return *this;
  }
  // Sets an optional function; nullptr in older versions without it.
  template <class Fn>
  Library& require(Fn*& function, const char* name) {
    function = reinterpret_cast<Fn*>(::dlsym(handle_, name));
    return *this;
  }
  Result<> complete() const {
    if (missing_.empty()) return {};
    return fail(ErrorCode::Internal, path_ + " has no " + missing_);
  }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  void* handle_;
  std::string path_, missing_;
};

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
