#pragma once

// Reads a recording, item by item. Whatever the bytes are, it returns good items up to the first
// fault, and says what the fault is.

#include <memory>
#include <string>

#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"
#include "scheduler/recording/items.h"

namespace koord::scheduler::recording {

// Where the bytes of the items come from.
class Source {
 public:
  virtual ~Source() = default;
  // Appends more bytes; false: there are none. An error says where the source is damaged.
  virtual Result<bool> read(std::string& to) = 0;
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  Result<bool> read(std::string& to) override;

 private:
  std::string_view bytes_;
};

class FileSource final : public Source {
 public:
  // Invalid if the file is not a recording, or one of another version.
  static Result<std::unique_ptr<FileSource>> open(const std::string& path);

  const json::value& header() const { return header_; }
  Result<bool> read(std::string& to) override;

 private:
  FileSource(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}
  // Fewer at the end of the file.
  Result<std::string> readBytes(std::size_t count);
  Error damaged(std::string_view what) const;

  std::string path_;
  Fd file_;
  json::value header_;
  std::uint64_t place_ = 0;    // of the block in the file
  std::uint64_t content_ = 0;  // bytes of the blocks before it, decompressed
};

class Reader {
 public:
  enum class End {
    Open,      // there is more
    Complete,  // the recording was ended in good order
    Cut,       // it stops: the scheduler was killed, or still writes
    Damaged,
  };

  explicit Reader(Source& source) : source_(source) {}

  // The next item, which stays; nullptr at the end. Its bytes are valid until the next pop.
  const Record* peek();
  // After peek has returned an item.
  void pop();
  End end() const { return end_; }
  // Why a complete recording ended, or the fault of another one.
  const std::string& why() const { return why_; }

 private:
  // Makes so many bytes available from the current place; false at the end.
  bool need(std::size_t count);
  bool parse();
  bool damaged(std::string what);

  Source& source_;
  std::string buffer_;
  std::size_t place_ = 0;   // of the current item
  std::size_t length_ = 0;  // of the current item, once it is parsed
  std::uint64_t before_ = 0;
  bool parsed_ = false;
  Record record_;
  End end_ = End::Open;
  std::string why_;
};

}  // namespace koord::scheduler::recording
