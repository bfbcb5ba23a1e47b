#pragma once

// The wire format of protocol buffers: tags, varints, length-delimited fields.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::apiserver::wire {

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

// Reads the fields of a message one after the other.
class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}

  bool atEnd() const { return rest_.empty(); }
  Result<Field> next();
  Result<std::uint64_t> varint();

 private:
  Result<std::uint64_t> fixed(std::size_t size);
  std::string_view rest_;
};

}  // namespace koord::apiserver::wire
