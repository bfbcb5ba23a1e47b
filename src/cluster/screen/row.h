#pragma once

// A row of a list: values that are compared as what they are and formatted only if they are seen.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "cluster/screen/style.h"

namespace koord::cluster {

struct Value {
  enum class Kind : unsigned char {
    Text,
    Number,
    Cores,  // milli-cores
    Bytes,
    CoresOf,  // a part of a whole
    BytesOf,
    Bar,    // a part of a whole as ####......
    Since,  // nanoseconds since the Unix epoch; shown as an age
  };
  Kind kind = Kind::Text;
  bool known = true;  // unknown values are shown as "-" and sorted to the end
  std::int64_t number = 0;
  std::int64_t whole = 0;
  std::string text;
};

Value textValue(std::string text);
Value numberValue(std::int64_t number);
Value coresValue(std::optional<std::int64_t> milli);
Value bytesValue(std::optional<std::int64_t> bytes);
Value coresOfValue(std::optional<std::int64_t> milli, std::int64_t whole);
Value bytesOfValue(std::optional<std::int64_t> bytes, std::int64_t whole);
Value barValue(std::optional<std::int64_t> part, std::int64_t whole);
Value sinceValue(std::optional<WallTime> time);

std::string textOf(const Value& value, WallTime now);
// Less than 0 if `a` comes first. The youngest comes first.
int compare(const Value& a, const Value& b);

// The object that a row is about, and what details are asked for.
struct Subject {
  enum class Kind { Node, Pod, Move, Quota, Event };
  Kind kind = Kind::Node;
  std::string namespace_;
  std::string name;
  bool operator==(const Subject&) const = default;
};

struct Row {
  Subject subject;
  std::vector<Value> values;  // one a column
  Style style = Style::Normal;
};

struct Column {
  enum class Kind { Text, Amount, Age };
  std::string title;
  Kind kind = Kind::Text;
  int width = 0;  // usual; longer values make it wider

  // Its values end at its right edge.
  bool isRight() const { return kind != Kind::Text; }
};

}  // namespace koord::cluster
