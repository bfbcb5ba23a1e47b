#pragma once

// SharedLibrary: a library that is opened at run time, because the host need not have it, or
// because its licence does not allow to distribute programs that are linked with it.
//
//   auto library = SharedLibrary::open({"libfoo.so.2", "libfoo.so.1"});
//   library->need(call.init, "foo_init").find(call.news, "foo_since_2");
//   if (auto complete = library->complete(); !complete) ...
//
// The functions can be called as long as the object lives. Not thread-safe.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace koord {

class SharedLibrary {
 public:
  // Opens the first library that can be opened, by path or by a name that the loader searches.
  // NotFound if none can, with the loader's words about the first.
  static Result<SharedLibrary> open(const std::vector<std::string>& names);

  // Sets a function that every usable version has. complete() fails if it is absent.
  template <class Fn>
  SharedLibrary& need(Fn*& function, const char* name) {
    find(function, name);
    if (!function && missing_.empty()) missing_ = name;
    return *this;
  }
  // Sets a function that only some versions have; nullptr if it is absent.
  template <class Fn>
  SharedLibrary& find(Fn*& function, const char* name) {
    function = reinterpret_cast<Fn*>(addressOf(name));
    return *this;
  }
  // Internal if a needed function is absent; names the first one.
  Result<> complete() const;

  // Leaves the library open until the process ends.
  void keepOpen() { (void)handle_.release(); }

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* addressOf(const char* name) const;

  std::unique_ptr<void, Close> handle_;
  std::string name_;
  std::string missing_;
};

}  // namespace koord
