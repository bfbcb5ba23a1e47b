#include "api/protobuf/wire.h"

#include <bit>

namespace koord::api::wire {
namespace {

constexpr const char* kTruncated = "the protobuf message ends in the middle of a field";

}  // namespace

void putVarint(std::string& out, std::uint64_t number) {
  while (number >= 0x80) {
    out += static_cast<char>(number | 0x80);
    number >>= 7;
  }
  out += static_cast<char>(number);
}

void putNumber(std::string& out, std::uint32_t field, std::uint64_t number) {
  putVarint(out, std::uint64_t{field} << 3);
  putVarint(out, number);
}

void putBytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  putVarint(out, std::uint64_t{field} << 3 | static_cast<std::uint64_t>(Type::Bytes));
  putVarint(out, bytes.size());
  out += bytes;
}

void putDouble(std::string& out, std::uint32_t field, double number) {
  putVarint(out, std::uint64_t{field} << 3 | static_cast<std::uint64_t>(Type::Fixed64));
  const auto bits = std::bit_cast<std::uint64_t>(number);
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(bits >> shift);
}

bool Reader::longVarint(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) return stop(kTruncated);
    const auto byte = static_cast<unsigned char>(*at_++);
    if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  return stop("a number in the protobuf message is too long");
}

bool Reader::fixed(std::size_t size, std::uint64_t& value) {
  if (static_cast<std::size_t>(end_ - at_) < size) return stop(kTruncated);
  value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(at_[i])} << (8 * i);
  at_ += size;
  return true;
}

bool Reader::next(Field& field) {
  if (atEnd() || broken()) return false;
  std::uint64_t tag = 0;
  if (!varint(tag)) return false;
  field.number = static_cast<std::uint32_t>(tag >> 3);
  if (field.number == 0 || tag >> 32 != 0)
    return stop("a field of the protobuf message has no valid number");
  field.type = static_cast<Type>(tag & 7);
  field.bytes = {};
  switch (field.type) {
    case Type::Varint:
      return varint(field.value);
    case Type::Fixed64:
      return fixed(8, field.value);
    case Type::Fixed32:
      return fixed(4, field.value);
    case Type::Bytes:
      if (!varint(field.value)) return false;
      if (field.value > static_cast<std::size_t>(end_ - at_)) return stop(kTruncated);
      field.bytes = {at_, field.value};
      at_ += field.value;
      return true;
  }
  return stop("a field of the protobuf message has an unknown wire type");
}

std::size_t Reader::following(std::uint32_t number) const {
  const auto tag = std::uint64_t{number} << 3 | static_cast<std::uint64_t>(Type::Bytes);
  Reader ahead = *this;
  std::size_t count = 0;
  std::uint64_t next = 0, size = 0;
  while (ahead.varint(next) && next == tag && ahead.varint(size) &&
         size <= static_cast<std::size_t>(ahead.end_ - ahead.at_)) {
    ahead.at_ += size;
    ++count;
  }
  return count;
}

}  // namespace koord::api::wire
