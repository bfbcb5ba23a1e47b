// Recordings of koord-scheduler: a stream of items, and the file around it. What is read is written
// again to the same bytes, up to the first fault.

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/fd.h"
#include "fuzz.h"
#include "scheduler/recording/reader.h"
#include "scheduler/recording/writer.h"

namespace koord::fuzz {

namespace {

using scheduler::recording::Item;
using scheduler::recording::MemorySource;
using scheduler::recording::MemoryWriter;
using scheduler::recording::Reader;
using scheduler::recording::Record;

void readRecording(scheduler::recording::Source& source, MemoryWriter& again) {
  Reader reader(source);
  while (const Record* record = reader.peek()) {
    (void)describe(*record);
    (void)scheduler::recording::decodeResult(record->bytes);
    if (const auto decision = scheduler::recording::decodeDecision(record->bytes))
      check(scheduler::recording::decodeDecision(encodeDecision(*decision)).has_value(),
            "decisions survive");
    if (hasBytes(record->item)) {
      again.add(record->item, record->number, record->bytes);
    } else {
      again.add(record->item, record->number);
    }
    reader.pop();
  }
  check(reader.end() != Reader::End::Open, "reading ends");
  check(reader.end() != Reader::End::Damaged || !reader.why().empty(), "a fault is named");
}

std::vector<std::string> itemsOf(std::string_view bytes) {
  MemorySource source(bytes);
  Reader reader(source);
  std::vector<std::string> items;
  for (; const Record* record = reader.peek(); reader.pop())
    items.push_back(
        fmt::format("{} {} {}", static_cast<int>(record->item), record->number, record->bytes));
  return items;
}

}  // namespace

void recordings(std::string_view input) {
  MemorySource source(input);
  MemoryWriter again;
  readRecording(source, again);
  check(itemsOf(again.bytes()) == itemsOf(input), "items survive writing");

  const Fd file(::memfd_create("recording", MFD_CLOEXEC));
  check(::write(file.get(), input.data(), input.size()) == static_cast<ssize_t>(input.size()),
        "the input can be written");
  const auto opened =
      scheduler::recording::FileSource::open(fmt::format("/proc/self/fd/{}", file.get()));
  if (!opened) return;
  MemoryWriter fromFile;
  readRecording(**opened, fromFile);
}

}  // namespace koord::fuzz
