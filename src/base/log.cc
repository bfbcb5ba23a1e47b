#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <boost/json/serialize.hpp>

#include "base/log_output.h"
#include "base/log_silence.h"
#include "base/utf8.h"

namespace koord::log {
namespace {

std::atomic<int> gVerbosity{0};
std::atomic<bool> gJson{false};

spdlog::level::level_enum toSpdlog(Level level) {
  switch (level) {
    case Level::Debug:
      return spdlog::level::debug;
    case Level::Info:
      return spdlog::level::info;
    case Level::Warning:
      return spdlog::level::warn;
    case Level::Error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

const char* patternOf(Format format) {
  if (format == Format::Json)
    return R"({"ts":"%Y-%m-%dT%H:%M:%S.%f%z","level":"%l","logger":"%n","msg":%v})";
  return "%Y-%m-%d %H:%M:%S.%e %L %n: %v";
}

void setup(const Options& options) {
  std::shared_ptr<spdlog::logger> logger;
  if (options.file.empty()) {
    logger = std::make_shared<spdlog::logger>(options.program,
                                              std::make_shared<spdlog::sinks::stderr_sink_mt>());
  } else {
    logger = std::make_shared<spdlog::logger>(
        options.program, std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file));
  }
  gJson = options.format == Format::Json;
  logger->set_pattern(patternOf(options.format));
  logger->set_level(options.quiet ? spdlog::level::warn : spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  gVerbosity = options.verbosity;
  spdlog::set_default_logger(std::move(logger));
}

void silence() {
  spdlog::default_logger_raw()->set_level(spdlog::level::off);
  gVerbosity = -1;
}

int verbosity() {
  return gVerbosity.load(std::memory_order_relaxed);
}
void setVerbosity(int verbosity) {
  gVerbosity = verbosity;
}

bool enabled(Level level) {
  return spdlog::should_log(toSpdlog(level));
}

void write(Level level, std::string_view message) {
  if (gJson.load(std::memory_order_relaxed)) {
    // Texts from outside may have any bytes, and readers drop a line that is not valid JSON.
    const std::string text = asUtf8(message);
    const auto quoted = boost::json::serialize(boost::json::string_view(text));
    spdlog::log(toSpdlog(level), spdlog::string_view_t(quoted));
  } else {
    spdlog::log(toSpdlog(level), spdlog::string_view_t(message.data(), message.size()));
  }
}

}  // namespace koord::log
