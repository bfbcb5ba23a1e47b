#pragma once

// The result type of the vendors' readers, and their common functions.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devicedaemon/machine.h"

namespace koord::devicedaemon {

struct Reading {
  std::vector<Found> devices;
  std::string source;                 // "libcndev.so", "mx-smi"
  std::vector<std::string> problems;  // of single devices, which are left out
};

// A supported vendor.
struct Vendor {
  std::string_view name;
  bool (*made)(const PciId& device);
  // NotFound if neither its library nor its tool is installed. place() adds the devices' location
  // later.
  Result<Reading> (*read)(const Machine& machine);
};
std::span<const Vendor> vendors();

// Reads by the library or, if it is missing or fails, by the tool.
Result<Reading> libraryOrTool(const Machine& machine, const std::string& library,
                              const std::function<Result<std::vector<Found>>()>& inLibrary,
                              const std::function<Result<Reading>()>& byTool);

// Text of tools
// -------------------------------------------------------------------------------------

std::vector<std::string_view> wordsOf(std::string_view line);
// A line "key : value", trimmed; nullopt if there is no colon.
struct Field {
  std::string_view key, value;
};
std::optional<Field> fieldIn(std::string_view line);
// A whole number of up to nine digits and nothing else.
std::optional<int> countIn(std::string_view text);
// "P800 OAM" as a label value: "P800-OAM".
std::string modelName(std::string_view name);
std::string mebibytes(std::int64_t amount);

}  // namespace koord::devicedaemon
