#pragma once

// FileWriter: writes a recording to a file (README.md), compressed by a thread of its own. A disk
// that is full or too slow ends the recording, never the scheduler.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"
#include "scheduler/recording/writer.h"

namespace koord::scheduler::recording {

class FileWriter final : public Writer {
 public:
  // Replaces the file, which only its user can read. The header is a JSON object. A disk that is
  // full is a failure() of the writer, as later.
  static Result<std::unique_ptr<FileWriter>> create(const std::string& path,
                                                    const json::value& header);
  // The same in this file, which has this name in messages.
  static Result<std::unique_ptr<FileWriter>> create(Fd file, const std::string& path,
                                                    const json::value& header);
  // Waits for the disk.
  ~FileWriter() override;

  // Ends the recording with this reason; does not wait for the disk. Later items are ignored.
  void end(std::string_view why);
  // Bytes in the file.
  std::uint64_t size() const { return size_; }
  // Whether something that was flushed is not in the file yet.
  bool waits() const;
  // Why nothing more is written; "" if all is well.
  std::string failure() const;

 private:
  FileWriter(std::string path, Fd file);
  void take(std::string bytes) override;
  void refuse(Item item, std::size_t bytes) override;
  void run();
  void giveUp(std::string why);  // with mutex_
  Result<> writeBlocks(std::string_view bytes);
  Result<> writeBlock(std::string_view bytes);

  struct Compression;
  const std::string path_;
  const Fd file_;
  std::unique_ptr<Compression> compression_;  // of the thread
  std::atomic<std::uint64_t> size_ = 0;
  std::uint64_t content_ = 0;  // bytes of the blocks, before compression; of the thread
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> waiting_;  // guarded by mutex_, as are the next three
  std::size_t waitingBytes_ = 0;
  std::string failure_;  // once it is set, nothing waits or comes: what follows a gap is of no use
  bool ended_ = false;
  std::thread thread_;
};

// Returns true if a writer of this or another process has the file open: it holds a lock, which
// ends with the process.
bool isWritten(const std::string& path);

}  // namespace koord::scheduler::recording
