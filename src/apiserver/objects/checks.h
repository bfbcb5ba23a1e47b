#pragma once

// Checks of values that several kinds have: ports, addresses, data keys. Each reports the field's
// path and the message of the Kubernetes API.

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// 1 to 65535.
void validatePortNumber(std::int64_t number, const std::string& path, FieldErrors& errors);
// The problems of a port name, which may be several; empty if it is valid.
std::vector<std::string> checkPortName(std::string_view name);
// A number or a name.
void validatePortNumberOrName(const json::value& port, const std::string& path,
                              FieldErrors& errors);
// The field must have one of the given values, which are sorted. A missing field or "" is reported
// as required.
void validateOneOf(const json::value& object, const std::string& path, const char* field,
                   const std::vector<std::string>& allowed, bool needed, FieldErrors& errors);
// An IPv4 or IPv6 address. Returns true if it is valid.
bool validateAddress(std::string_view address, const std::string& path, FieldErrors& errors);
// An address that other hosts can reach: not loopback, multicast or similar.
void validateReachable(std::string_view address, const std::string& path, FieldErrors& errors,
                       bool mayBeLoopback = false);
void validateNetwork(std::string_view network, const std::string& path, FieldErrors& errors);
// A key in a ConfigMap or Secret.
void validateDataKey(std::string_view key, const std::string& path, FieldErrors& errors);

}  // namespace koord::apiserver
