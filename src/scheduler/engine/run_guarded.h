#pragma once

// Isolates exceptions of plugin code. A throwing function loses its result only: the process logs
// the exception and continues.

#include <exception>
#include <string>
#include <string_view>

namespace koord::scheduler {

// Logs the exception and returns a text for users: "plugin NodePorts threw at Filter:
// vector::_M_range_check".
std::string describeException(std::string_view who, std::string_view where,
                              const std::exception* thrown);

// Calls it. Returns false if it threw; the exception is logged.
template <class Call>
bool runGuarded(std::string_view who, std::string_view where, Call&& call) {
  try {
    call();
    return true;
  } catch (const std::exception& thrown) {
    (void)describeException(who, where, &thrown);
  } catch (...) {
    (void)describeException(who, where, nullptr);
  }
  return false;
}

}  // namespace koord::scheduler
