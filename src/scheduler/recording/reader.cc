#include "scheduler/recording/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>

#include "scheduler/recording/file_format.h"

namespace koord::scheduler::recording {

namespace {

constexpr std::size_t kMaxNumber = 10;         // bytes of a number
constexpr std::size_t kForgetAfter = 1 << 20;  // bytes of past items in memory

}  // namespace

Result<bool> MemorySource::read(std::string& to) {
  const std::string_view part = bytes_.substr(0, kMaxBlock);
  to += part;
  bytes_.remove_prefix(part.size());
  return !part.empty();
}

Result<std::unique_ptr<FileSource>> FileSource::open(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return koord::fail(errnoError("open " + path, errno));
  std::unique_ptr<FileSource> source(new FileSource(path, std::move(file)));
  const auto head = source->readBytes(kFileHead);
  if (!head) return koord::fail(Error(head.error()));
  if (!head->starts_with(kMagic) || head->size() < kFileHead)
    return koord::fail(ErrorCode::Invalid, path + ": not a recording of koord-scheduler");
  if (const auto version = wordAt(*head, kMagic.size()); version != kFormatVersion)
    return koord::fail(ErrorCode::Invalid,
                       fmt::format("{}: format {}; this program reads format {}: use the koordctl "
                                   "of the scheduler's version",
                                   path, version, kFormatVersion));
  source->place_ = kFileHead;
  std::string text;
  auto read = source->read(text);
  if (!read) return koord::fail(std::move(read.error()));
  auto header = parseJson(text);
  if (!header || !header->is_object())
    return koord::fail(ErrorCode::Invalid, path + ": the recording has no header");
  source->header_ = *std::move(header);
  return source;
}

Result<std::string> FileSource::readBytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const ssize_t got = ::read(file_.get(), bytes.data() + have, count - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return koord::fail(errnoError("read " + path_, errno));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

Error FileSource::damaged(std::string_view what) const {
  return {ErrorCode::Invalid, fmt::format("{}: the block at byte {} {}", path_, place_, what), {}};
}

Result<bool> FileSource::read(std::string& to) {
  const auto head = readBytes(kBlockHead);
  if (!head) return koord::fail(Error(head.error()));
  if (head->size() < kBlockHead) return false;
  const BlockHead block{wordAt(*head, 0), wordAt(*head, 4), wordAt(*head, 8)};
  if (block.raw > kMaxBlock || block.packed > kMaxPacked)
    return koord::fail(damaged(fmt::format("has an impossible length: {}", block.packed)));
  if (content_ + block.raw > maxContent(place_ + kBlockHead + block.packed))
    return koord::fail(damaged(
        fmt::format("is refused: the file expands to more than {} MiB there, as no recording does",
                    maxContent(place_ + kBlockHead + block.packed) >> 20)));
  const auto packed = readBytes(block.packed);
  if (!packed) return koord::fail(Error(packed.error()));
  if (packed->size() < block.packed) return false;
  if (checksumOf(block.packed, block.raw, *packed) != block.checksum)
    return koord::fail(damaged("is damaged: its checksum is wrong"));
  const std::size_t before = to.size();
  to.resize(before + block.raw);
  const std::size_t raw =
      ZSTD_decompress(to.data() + before, block.raw, packed->data(), packed->size());
  if (ZSTD_isError(raw) || raw != block.raw) {
    to.resize(before);
    return koord::fail(damaged("is damaged: it cannot be decompressed"));
  }
  place_ += kBlockHead + block.packed;
  content_ += block.raw;
  return true;
}

bool Reader::need(std::size_t count) {
  while (buffer_.size() - place_ < count) {
    if (place_ > kForgetAfter) {
      buffer_.erase(0, place_);
      before_ += place_;
      place_ = 0;
    }
    const auto more = source_.read(buffer_);
    if (!more) return damaged(more.error().message);
    if (*more) continue;
    end_ = End::Cut;
    return false;
  }
  return true;
}

bool Reader::damaged(std::string what) {
  end_ = End::Damaged;
  why_ = std::move(what);
  return false;
}

// Numbers are read with as many bytes as there are, so the last item of the stream can be shorter
// than the longest number.
bool Reader::parse() {
  if (!need(1)) return false;
  const auto kind = static_cast<std::uint8_t>(buffer_[place_]);
  if (!isKnown(kind))
    return damaged(
        fmt::format("item {} at byte {} of the stream is unknown", kind, before_ + place_));
  std::size_t length = 1;
  std::uint64_t numbers[2] = {0, 0};
  const std::size_t count = hasBytes(static_cast<Item>(kind)) ? 2 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t bytes = 0;
    do {
      if (++bytes > kMaxNumber) return damaged("a number is too long");
      if (!need(length + bytes)) return false;
    } while (static_cast<unsigned char>(buffer_[place_ + length + bytes - 1]) >= 0x80);
    std::string_view text = std::string_view(buffer_).substr(place_ + length, bytes);
    const auto number = takeNumber(text);
    if (!number) return damaged("a number is too large");
    numbers[i] = *number;
    length += bytes;
  }
  if (numbers[1] > maxBytesOf(static_cast<Item>(kind)))
    return damaged(fmt::format("{} has an impossible length: {}", nameOf(static_cast<Item>(kind)),
                               numbers[1]));
  if (!need(length + numbers[1])) return false;
  record_ = {static_cast<Item>(kind), numbers[0],
             std::string_view(buffer_).substr(place_ + length, numbers[1])};
  length_ = length + numbers[1];
  return true;
}

const Record* Reader::peek() {
  if (parsed_) return &record_;
  if (end_ != End::Open) return nullptr;
  if (!parse()) return nullptr;
  if (record_.item == Item::End) {
    end_ = End::Complete;
    why_ = std::string(record_.bytes);
    return nullptr;
  }
  parsed_ = true;
  return &record_;
}

void Reader::pop() {
  parsed_ = false;
  place_ += length_;
}

}  // namespace koord::scheduler::recording
