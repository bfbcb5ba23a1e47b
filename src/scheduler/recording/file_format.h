#pragma once

// The frame of a recording's file: README.md describes it.

#include <cstdint>
#include <string>
#include <string_view>

namespace koord::scheduler::recording {

inline constexpr std::string_view kMagic = "KOORDREC";
inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kFileHead = 12;   // magic and version
inline constexpr std::size_t kBlockHead = 12;  // see BlockHead
inline constexpr std::size_t kMaxBlock = 1 << 20;
// A compressed block is at most this long.
inline constexpr std::size_t kMaxPacked = kMaxBlock + (kMaxBlock >> 7);

// The most bytes of content in the first `stored` bytes of a file, at the end of any block. Without
// it a small hostile file would expand to gigabytes. Objects of one kind resemble each other, so
// real recordings expand 10 to 50 times. Writers and readers keep to it.
constexpr std::uint64_t maxContent(std::uint64_t stored) {
  return (16ULL << 20) + 256 * stored;
}

// Before each block: three numbers of 32 bits, the lowest byte first.
struct BlockHead {
  std::uint32_t packed = 0;    // length of the block as stored
  std::uint32_t raw = 0;       // and of what it has
  std::uint32_t checksum = 0;  // CRC-32 of the two numbers and the stored block
};

void putWord(std::string& to, std::uint32_t word);
// The word at this place, which must be there.
std::uint32_t wordAt(std::string_view from, std::size_t place);
std::uint32_t checksumOf(std::uint32_t packed, std::uint32_t raw, std::string_view block);

}  // namespace koord::scheduler::recording
