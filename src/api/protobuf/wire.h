#pragma once

// The wire format of protocol buffers: tags, varints, length-delimited fields.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::api::wire {

enum class Type : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

void putVarint(std::string& out, std::uint64_t number);
void putNumber(std::string& out, std::uint32_t field, std::uint64_t number);
void putBytes(std::string& out, std::uint32_t field, std::string_view bytes);
void putDouble(std::string& out, std::uint32_t field, double number);

struct Field {
  std::uint32_t number = 0;
  Type type = Type::Varint;
  std::uint64_t value = 0;  // of numbers
  std::string_view bytes;   // of Bytes
};

// Reads the fields of a message one after the other:
//
//   wire::Field field;
//   while (reader.next(field)) ...
//   if (reader.broken()) return fail(reader.error());
class Reader {
 public:
  explicit Reader(std::string_view message)
      : at_(message.data()), end_(message.data() + message.size()) {}

  bool atEnd() const { return at_ == end_; }
  // Returns false at the end, and if the next bytes are not a field.
  bool next(Field& field);
  // Reads a number without a tag, as in packed lists; false as above.
  bool varint(std::uint64_t& value);
  bool broken() const { return problem_ != nullptr; }
  Error error() const { return {ErrorCode::BadRequest, problem_, {}}; }

  // The number of fields with this number and type Bytes that follow each other directly.
  std::size_t following(std::uint32_t number) const;

 private:
  bool fixed(std::size_t size, std::uint64_t& value);
  bool longVarint(std::uint64_t& value);
  bool stop(const char* problem) {
    problem_ = problem;
    return false;
  }

  const char* at_;
  const char* end_;
  const char* problem_ = nullptr;
};

inline bool Reader::varint(std::uint64_t& value) {
  if (at_ != end_ && static_cast<unsigned char>(*at_) < 0x80) {
    value = static_cast<unsigned char>(*at_++);
    return true;
  }
  return longVarint(value);
}

}  // namespace koord::api::wire
