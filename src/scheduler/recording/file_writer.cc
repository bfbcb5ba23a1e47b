#include "scheduler/recording/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>

#include "scheduler/recording/file_format.h"

namespace koord::scheduler::recording {

namespace {

// Of bytes that wait for the disk. A cluster's first lists come faster than a slow disk takes them.
constexpr std::size_t kMaxWaiting = 512 << 20;
constexpr int kLevel = 1;

Result<> writeAll(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return koord::fail(errnoError("write " + path, errno));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

struct FileWriter::Compression {
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context{ZSTD_createCCtx()};
  std::string out;
};

bool isWritten(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return file && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Result<std::unique_ptr<FileWriter>> FileWriter::create(const std::string& path,
                                                       const json::value& header) {
  // Not through a link or into a file that others have open: it has all pods of the cluster.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return koord::fail(errnoError("remove " + path, errno));
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return koord::fail(errnoError("create " + path, errno));
  (void)::flock(file.get(), LOCK_EX | LOCK_NB);  // see isWritten()
  return create(std::move(file), path, header);
}

Result<std::unique_ptr<FileWriter>> FileWriter::create(Fd file, const std::string& path,
                                                       const json::value& header) {
  const std::string text = toJson(header);
  if (text.size() > kMaxBlock)
    return koord::fail(ErrorCode::Invalid, path + ": the configuration is too long to be recorded");
  std::string head(kMagic);
  putWord(head, kFormatVersion);
  std::unique_ptr<FileWriter> writer(new FileWriter(path, std::move(file)));
  auto written = writeAll(writer->file_.get(), head, path);
  writer->size_ = head.size();
  if (written) written = writer->writeBlock(text);
  if (!written) writer->failure_ = std::move(written.error().message);
  writer->thread_ = std::thread([self = writer.get()] { self->run(); });
  pthread_setname_np(writer->thread_.native_handle(), "recording");
  return writer;
}

FileWriter::FileWriter(std::string path, Fd file)
    : path_(std::move(path)),
      file_(std::move(file)),
      compression_(std::make_unique<Compression>()) {}

FileWriter::~FileWriter() {
  if (!thread_.joinable()) return;
  end("");
  thread_.join();
}

void FileWriter::end(std::string_view why) {
  if (!why.empty()) add(Item::End, 0, why);
  flush();
  const std::lock_guard lock(mutex_);
  ended_ = true;
  wake_.notify_one();
}

bool FileWriter::waits() const {
  const std::lock_guard lock(mutex_);
  return waitingBytes_ > 0;
}

std::string FileWriter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void FileWriter::take(std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (ended_ || !failure_.empty()) return;
  if (waitingBytes_ > kMaxWaiting) {
    return giveUp(fmt::format("{}: the disk is too slow: {} MiB wait to be written", path_,
                              waitingBytes_ >> 20));
  }
  waitingBytes_ += bytes.size();
  waiting_.push_back(std::move(bytes));
  wake_.notify_one();
}

void FileWriter::refuse(Item item, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) giveUp(fmt::format("{}: {} has {} bytes", path_, nameOf(item), bytes));
}

void FileWriter::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::string bytes = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    auto written = writeBlocks(bytes);
    lock.lock();
    waitingBytes_ -= bytes.size();
    if (!written && failure_.empty()) giveUp(std::move(written.error().message));
  }
}

void FileWriter::giveUp(std::string why) {
  failure_ = std::move(why);
  for (const std::string& piece : std::exchange(waiting_, {})) waitingBytes_ -= piece.size();
}

Result<> FileWriter::writeBlocks(std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kMaxBlock)))
    if (auto written = writeBlock(bytes.substr(0, kMaxBlock)); !written) return written;
  return {};
}

Result<> FileWriter::writeBlock(std::string_view bytes) {
  std::string& out = compression_->out;
  out.resize(kBlockHead + ZSTD_compressBound(bytes.size()));
  const std::size_t packed =
      ZSTD_compressCCtx(compression_->context.get(), out.data() + kBlockHead,
                        out.size() - kBlockHead, bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(packed))
    return koord::fail(ErrorCode::Internal,
                       fmt::format("compress for {}: {}", path_, ZSTD_getErrorName(packed)));
  out.resize(kBlockHead + packed);
  if (content_ + bytes.size() > maxContent(size_ + out.size()))
    return koord::fail(ErrorCode::Internal,
                       path_ + ": the content compresses better than readers accept");
  const auto stored = static_cast<std::uint32_t>(packed);
  const auto raw = static_cast<std::uint32_t>(bytes.size());
  std::string head;
  putWord(head, stored);
  putWord(head, raw);
  putWord(head, checksumOf(stored, raw, std::string_view(out).substr(kBlockHead)));
  out.replace(0, kBlockHead, head);
  auto written = writeAll(file_.get(), out, path_);
  if (!written) return written;
  size_ += out.size();
  content_ += bytes.size();
  return {};
}

}  // namespace koord::scheduler::recording
