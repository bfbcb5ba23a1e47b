#include "base/log_output.h"

#include <fmt/chrono.h>
#include <pwd.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/host_name.h"

namespace koord::log {

namespace {

constexpr std::array kTags{"INFO", "WARNING", "ERROR"};
// From there on, by klog's numbers of severities.
constexpr std::array kThresholds{spdlog::level::trace, spdlog::level::warn, spdlog::level::err,
                                 spdlog::level::off};
constexpr std::uint64_t kMegabyte = 1024 * 1024;
constexpr std::uint64_t kSeverityFileLimit = 1800 * kMegabyte;

std::size_t severityOf(spdlog::level::level_enum level) {
  return level >= spdlog::level::err ? 2 : level == spdlog::level::warn ? 1 : 0;
}

std::string userName() {
  const passwd* const user = ::getpwuid(::getuid());
  return user ? user->pw_name : std::to_string(::getuid());
}

// A log file that is truncated or rotated when it reaches its limit.
class File {
 public:
  // The next path is asked for whenever a file is opened; truncating = it may be the same again.
  File(std::function<std::string()> path, std::uint64_t limit)
      : path_(std::move(path)), limit_(limit) {}

  Result<> open(bool truncate) {
    const std::string path = path_();
    stream_.reset(std::fopen(path.c_str(), truncate ? "we" : "ae"));
    if (!stream_) return fail(errnoError("log file " + path, errno));
    std::fseek(stream_.get(), 0, SEEK_END);
    size_ = static_cast<std::uint64_t>(std::max(0L, std::ftell(stream_.get())));
    return {};
  }

  void write(const spdlog::memory_buf_t& line) {
    if (limit_ > 0 && size_ + line.size() > limit_ && !open(true)) return;
    if (!stream_) return;
    size_ += std::fwrite(line.data(), 1, line.size(), stream_.get());
    std::fflush(stream_.get());
  }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::function<std::string()> path_;
  std::uint64_t limit_;
  std::uint64_t size_ = 0;
  std::unique_ptr<std::FILE, Closer> stream_;
};

class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  static Result<std::shared_ptr<FileSink>> open(const std::string& program, const Output& output) {
    auto sink = std::make_shared<FileSink>();
    sink->cascading_ = output.file.empty() && !output.ownSeverityOnly;
    if (!output.file.empty()) {
      sink->files_.push_back(std::make_unique<File>([file = output.file] { return file; },
                                                    output.fileLimitMegabytes * kMegabyte));
    } else {
      const std::string folder =
          output.folder.empty() ? std::filesystem::temp_directory_path().string() : output.folder;
      for (const char* tag : kTags)
        sink->files_.push_back(std::make_unique<File>([=] { return nextOf(folder, program, tag); },
                                                      kSeverityFileLimit));
    }
    for (const auto& file : sink->files_)
      if (auto opened = file->open(false); !opened) return fail(std::move(opened.error()));
    return sink;
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (files_.size() == 1) return files_[0]->write(line);
    const std::size_t severity = severityOf(message.level);
    for (std::size_t i = cascading_ ? 0 : severity; i <= severity; ++i) files_[i]->write(line);
  }
  void flush_() override {}

 private:
  static std::string nextOf(const std::string& folder, const std::string& program,
                            const std::string& tag) {
    const std::string host = hostName();
    const std::string name =
        fmt::format("{}.{}.{}.log.{}.{:%Y%m%d-%H%M%S}.{}", program, host.substr(0, host.find('.')),
                    userName(), tag, fmt::localtime(std::time(nullptr)), ::getpid());
    const std::string link = folder + "/" + program + "." + tag;
    ::unlink(link.c_str());
    // Only a convenience: the file itself is what counts.
    [[maybe_unused]] const int linked = ::symlink(name.c_str(), link.c_str());
    return folder + "/" + name;
  }

  std::vector<std::unique_ptr<File>> files_;  // one, or by severity
  bool cascading_ = false;
};

}  // namespace

Result<> setup(const Options& options, const Output& output) {
  setup(options);  // verbosity and format
  std::vector<spdlog::sink_ptr> sinks;
  const auto stderrSink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (!output.alsoToStderr && (!output.toStderr || output.thresholdAlways))
    stderrSink->set_level(kThresholds.at(static_cast<std::size_t>(output.stderrThreshold)));
  sinks.push_back(stderrSink);
  if (!output.toStderr) {
    auto files = FileSink::open(options.program, output);
    if (!files) return fail(std::move(files.error()));
    sinks.push_back(*std::move(files));
  }
  auto logger = std::make_shared<spdlog::logger>(options.program, sinks.begin(), sinks.end());
  const bool plain = output.plain && options.format == Format::Text;
  logger->set_pattern(plain ? "%v" : patternOf(options.format));
  logger->set_level(options.quiet ? spdlog::level::warn : spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

}  // namespace koord::log
