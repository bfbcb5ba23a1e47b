#pragma once

// Checks of small things that several kinds hold: ports, addresses, keys of data. Each names the
// field's path and speaks in the words of the Kubernetes API.

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// 1 to 65535.
void validatePortNumber(std::int64_t number, const std::string& path, FieldErrors& errors);
// What is wrong with the name of a port; "" when nothing is. It may be wrong in several ways.
std::vector<std::string> checkPortName(std::string_view name);
// A number or a name.
void validatePortNumberOrName(const json::value& port, const std::string& path,
                              FieldErrors& errors);
// One of the given values, which are in order; what is missing or "" is required.
void validateOneOf(const json::value& object, const std::string& path, const char* field,
                   const std::vector<std::string>& allowed, bool needed, FieldErrors& errors);
// An IPv4 or IPv6 address. Returns whether it is one.
bool validateAddress(std::string_view address, const std::string& path, FieldErrors& errors);
// An address that reaches another machine: not of loopback, multicast and the like.
void validateReachable(std::string_view address, const std::string& path, FieldErrors& errors);
void validateNetwork(std::string_view network, const std::string& path, FieldErrors& errors);
// A key in a ConfigMap or Secret.
void validateDataKey(std::string_view key, const std::string& path, FieldErrors& errors);

}  // namespace koord::apiserver
