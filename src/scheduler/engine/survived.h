#pragma once

// Code of plugins that throws has a mistake. It costs what it was asked for and nothing else: the process
// goes on, with a line in the log.

#include <exception>
#include <string>
#include <string_view>

namespace koord::scheduler {

// Logs it; a text for people: "plugin NodePorts threw at Filter: vector::_M_range_check".
std::string toldOf(std::string_view who, std::string_view where, const std::exception* thrown);

// Calls it; false: it threw.
template <class Call>
bool survived(std::string_view who, std::string_view where, Call&& call) {
  try {
    call();
    return true;
  } catch (const std::exception& thrown) {
    (void)toldOf(who, where, &thrown);
  } catch (...) {
    (void)toldOf(who, where, nullptr);
  }
  return false;
}

}  // namespace koord::scheduler
