#include "scheduler/recording/file_format.h"

#include <zlib.h>

namespace koord::scheduler::recording {

void putWord(std::string& to, std::uint32_t word) {
  for (int i = 0; i < 4; ++i) to.push_back(static_cast<char>(word >> (8 * i)));
}

std::uint32_t wordAt(std::string_view from, std::size_t place) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i)
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(from[place + i])) << (8 * i);
  return word;
}

std::uint32_t checksumOf(std::uint32_t packed, std::uint32_t raw, std::string_view block) {
  std::string head;
  putWord(head, packed);
  putWord(head, raw);
  const auto sum = [](uLong before, std::string_view text) {
    return crc32_z(before, reinterpret_cast<const Bytef*>(text.data()), text.size());
  };
  return static_cast<std::uint32_t>(sum(sum(0, head), block));
}

}  // namespace koord::scheduler::recording
