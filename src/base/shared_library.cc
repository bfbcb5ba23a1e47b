#include "base/shared_library.h"

#include <dlfcn.h>

namespace koord {

Result<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& names) {
  std::string why;
  for (const auto& name : names) {
    if (void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return SharedLibrary(handle, name);
    const char* const said = ::dlerror();
    if (why.empty()) why = said ? said : name + " cannot be opened";
  }
  return fail(ErrorCode::NotFound, why.empty() ? "no library has a name" : why);
}

void SharedLibrary::Close::operator()(void* handle) const {
  ::dlclose(handle);
}

void* SharedLibrary::addressOf(const char* name) const {
  return ::dlsym(handle_.get(), name);
}

Result<> SharedLibrary::complete() const {
  if (missing_.empty()) return {};
  return fail(ErrorCode::Internal, name_ + " has no " + missing_);
}

}  // namespace koord
