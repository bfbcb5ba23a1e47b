#pragma once

// One object as the console sends it to a browser: an array of columns, a fraction of the object's
// size. The columns stand above each rowOf() in this folder; web/src/feed/rows.ts reads them. Only
// these leave the process: never environment variables, volumes or other annotations.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/meta.h"
#include "base/quantity.h"

namespace koord::console {

// Amounts for sums over all rows of a kind: thousandths of a core, MiB, hundredths of a device.
struct Figures {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t batchCpu = 0;
  std::int64_t batchMemory = 0;
  std::int64_t midCpu = 0;
  std::int64_t midMemory = 0;
  std::int64_t devices = 0;
  bool waits = false;  // a pod without a node that has not ended
  bool operator==(const Figures&) const = default;
};

struct Row {
  std::string key;      // "name", or "namespace/name"
  std::string columns;  // a JSON array
  Figures figures;
  // Of quotas: runtime and request of cpu and memory; empty for others.
  std::array<std::int64_t, 4> extra{};
};

// Writes the columns in order. Trailing empty ones ("" and 0) are left out.
class RowWriter {
 public:
  void text(std::string_view value);
  void number(std::int64_t value);
  void flag(bool value) { number(value ? 1 : 0); }
  void time(const api::Time& value);  // seconds since 1970
  // A JSON value; "" is an empty column.
  void json(std::string_view value);
  std::string finish() &&;

 private:
  void begin();
  std::string out_ = "[";
  std::size_t end_ = 1;  // behind the last column that is not empty
  bool first_ = true;
};

// The text as a JSON string, with quotes.
void appendJsonText(std::string& out, std::string_view text);

// MiB, rounded up.
std::int64_t mebibytes(const Quantity& bytes);
// {"cpu":1500,"memory":2048,"nvidia.com/gpu":8}: cpu in thousandths, memory in MiB.
std::string amountsJson(const api::ResourceList& list);

}  // namespace koord::console
