#include "apiserver/protobuf/wire.h"

#include <bit>

namespace koord::apiserver::wire {
namespace {

std::unexpected<Error> cutShort() {
  return fail(ErrorCode::BadRequest, "the protobuf message ends in the middle of a field");
}

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

Result<std::uint64_t> Reader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (rest_.empty()) return cutShort();
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  return fail(ErrorCode::BadRequest, "a number in the protobuf message is too long");
}

Result<std::uint64_t> Reader::fixed(std::size_t size) {
  if (rest_.size() < size) return cutShort();
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  rest_.remove_prefix(size);
  return value;
}

Result<Field> Reader::next() {
  const auto tag = varint();
  if (!tag) return fail(tag.error());
  Field field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  if (field.number == 0 || *tag >> 32 != 0)
    return fail(ErrorCode::BadRequest, "a field of the protobuf message has no valid number");
  field.type = static_cast<Type>(*tag & 7);
  Result<std::uint64_t> value = 0;
  switch (field.type) {
    case Type::Varint:
      value = varint();
      break;
    case Type::Fixed64:
      value = fixed(8);
      break;
    case Type::Fixed32:
      value = fixed(4);
      break;
    case Type::Bytes:
      value = varint();
      if (value && *value > rest_.size()) return cutShort();
      if (value) {
        field.bytes = rest_.substr(0, *value);
        rest_.remove_prefix(*value);
      }
      break;
    default:
      return fail(ErrorCode::BadRequest,
                  "a field of the protobuf message has an unknown wire type");
  }
  if (!value) return fail(value.error());
  field.value = *value;
  return field;
}

}  // namespace koord::apiserver::wire
