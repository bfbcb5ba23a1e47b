#pragma once

// Logging for every program: levels, to standard error, as text or as one JSON object per line.
// log::info("bound pod {} to {}", pod, node). Formats a message only if it prints it. Verbose
// messages follow klog: log::v(4, "...") prints if --v is at least 4.

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace koord::log {

enum class Level { Debug, Info, Warning, Error };
enum class Format { Text, Json };

struct Options {
  std::string program;
  Format format = Format::Text;
  int verbosity = 0;
  bool quiet = false;  // warnings and errors only
  std::string file;    // append to this file instead of standard error
};

void setup(const Options& options);
int verbosity();
void setVerbosity(int verbosity);

void write(Level level, std::string_view message);
bool enabled(Level level);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::Debug)) write(Level::Debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::Info)) write(Level::Info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Error, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void v(int level, fmt::format_string<Args...> format, Args&&... args) {
  if (verbosity() >= level) write(Level::Info, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace koord::log
