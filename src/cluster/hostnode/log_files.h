#pragma once

// The files of a container's log: the one that grows, and older parts of it, of which the oldest go:
// no more than 10 MiB in each of five, as kubelet has it by default. Readers begin with the one that
// grows.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::cluster {

struct LogLimits {
  std::int64_t bytes = 10 << 20;  // of a file, from which on it is put aside
  int files = 5;                  // with the one that grows
};

// Of a log that has grown: age 1 was put aside last. 0 is the log itself.
std::string agedLog(const std::string& path, int age);
// Puts the log aside and drops the oldest part. Whoever writes has to make the log anew.
Result<> rotateLog(const std::string& path, const LogLimits& limits = {});
void removeLog(const std::string& path, const LogLimits& limits = {});

std::int64_t fileSize(const std::string& path);  // -1 when there is none
// Up to so many bytes from the beginning, or of the end; "" when there is no file.
std::string readHead(const std::string& path, std::size_t bytes);
std::string readTail(const std::string& path, std::size_t bytes);

}  // namespace koord::cluster
