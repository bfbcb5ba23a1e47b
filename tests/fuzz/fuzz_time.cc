// Times and durations: no crash on any text, and what is accepted prints to text that means the
// same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/time.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto duration = koord::parseDuration(text)) {
    if (koord::parseDuration(koord::formatDuration(*duration)) != *duration) std::abort();
  }
  if (const auto time = koord::parseTime(text)) {
    const auto again = koord::parseTime(koord::formatMicroTime(*time));
    if (!again || *time - *again >= std::chrono::microseconds(1) || *again > *time) {
      // The microsecond that the earliest time falls in begins before it.
      if (*time != koord::WallTime::min()) std::abort();
    }
  }
  return 0;
}
