#pragma once

// The files of a container's log: the current file, and older parts, of which the oldest are
// deleted: five files of at most 10 MiB, kubelet's default. Readers begin with the current file.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::cluster {

struct LogLimits {
  std::int64_t bytes = 10 << 20;  // size at which a file is rotated
  int files = 5;                  // including the current one
};

// The path of an old part: age 1 was rotated last. 0 is the log itself.
std::string rotatedLog(const std::string& path, int age);
// Rotates the log and deletes the oldest part. The writer must create the new file.
Result<> rotateLog(const std::string& path, const LogLimits& limits = {});
void removeLog(const std::string& path, const LogLimits& limits = {});

std::int64_t fileSize(const std::string& path);  // -1 when there is none
// The first or last bytes of a file, at most so many; "" if there is no file.
std::string readHead(const std::string& path, std::size_t bytes);
std::string readTail(const std::string& path, std::size_t bytes);

}  // namespace koord::cluster
