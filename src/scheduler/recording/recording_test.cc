#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/random.h"
#include "base/testing/test_folder.h"
#include "base/virtual_loop.h"
#include "kube/fake_api.h"
#include "scheduler/recording/file_format.h"
#include "scheduler/recording/file_writer.h"
#include "scheduler/recording/recorder.h"
#include "scheduler/recording/replayer.h"

namespace koord::scheduler::recording {
namespace {

using namespace std::chrono_literals;

std::string pathOfRecording(const std::string& name) {
  return testMemoryFolder() + "/" + name;
}

struct Items {
  std::vector<std::string> items;
  Reader::End end = Reader::End::Open;
  std::string why;
};

Items readItems(Source& source) {
  Reader reader(source);
  Items all;
  while (const Record* record = reader.peek()) {
    all.items.push_back(
        fmt::format("{} {} {}", static_cast<int>(record->item), record->number, record->bytes));
    reader.pop();
  }
  all.end = reader.end();
  all.why = reader.why();
  return all;
}

std::vector<std::string> writeSample(const std::string& path) {
  auto writer = FileWriter::create(path, json::object{{"version", "v1"}}).value();
  std::vector<std::string> items;
  for (std::uint64_t i = 0; i < 16; ++i) {
    writer->add(Item::Steady, i * 1000003);
    items.push_back(fmt::format("1 {} ", i * 1000003));
    const std::string text = "event " + std::to_string(i * i);
    writer->add(Item::Event, i, text);
    items.push_back(fmt::format("36 {} {}", i, text));
    if (i % 4 == 0) writer->flush();  // several blocks
  }
  writer->end("the test is over");
  return items;
}

TEST(Recording, numbers_keep_their_value) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::vector<std::int64_t> numbers{
      0, 1, -1, 127, -300, 1LL << 62, Limits::min(), Limits::max()};
  for (const std::int64_t number : numbers) {
    std::string text;
    putNumber(text, zigzag(number));
    std::string_view rest = text;
    EXPECT_EQ(unzigzag(takeNumber(rest).value()), number);
    EXPECT_TRUE(rest.empty());
    std::string_view cut = std::string_view(text).substr(0, text.size() - 1);
    EXPECT_FALSE(takeNumber(cut));
  }
  std::string_view endless = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
  EXPECT_FALSE(takeNumber(endless));
}

TEST(Recording, a_file_has_what_was_written_and_only_its_user_reads_it) {
  const std::string path = pathOfRecording("whole");
  std::ofstream(path) << "what was there before";
  const auto items = writeSample(path);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  auto source = FileSource::open(path).value();
  EXPECT_EQ(source->header(), (json::object{{"version", "v1"}}));
  const Items read = readItems(*source);
  EXPECT_EQ(read.items, items);
  EXPECT_EQ(read.end, Reader::End::Complete);
  EXPECT_EQ(read.why, "the test is over");
}

TEST(Recording, a_link_is_replaced_and_not_followed) {
  const std::string target = pathOfRecording("target"), link = pathOfRecording("link");
  std::ofstream(target) << "precious";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(target, link);
  writeSample(link);
  EXPECT_EQ(readFile(target).value(), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(link));
}

TEST(Recording, a_disk_that_takes_nothing_does_not_block_the_end) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  Fd reading(ends[0]);
  auto writer = FileWriter::create(Fd(ends[1]), "pipe", json::object{}).value();
  Random random(3);
  std::string noise(1 << 20, '\0');
  for (char& c : noise) c = static_cast<char>(random.below(256));
  writer->add(Item::Event, 1, noise);
  writer->end("nobody reads the pipe");
  std::thread reader([&] {
    std::string some(4096, '\0');
    while (::read(reading.get(), some.data(), some.size()) > 0) {
    }
  });
  writer.reset();
  reader.join();
}

TEST(Recording, a_disk_that_is_full_at_the_start_is_a_failure_of_the_recording_only) {
  auto writer =
      FileWriter::create(Fd(::open("/dev/full", O_WRONLY | O_CLOEXEC)), "full", json::object{});
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_NE((*writer)->failure().find("No space left"), std::string::npos);
  (*writer)->add(Item::Event, 1, "later");
  (*writer)->end("the test is over");
}

TEST(Recording, a_file_that_is_cut_anywhere_is_good_up_to_there) {
  const std::string path = pathOfRecording("cut");
  const auto items = writeSample(path);
  const std::string whole = readFile(path).value();
  std::size_t most = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(path, std::ios::trunc) << whole.substr(0, length);
    auto source = FileSource::open(path);
    if (!source) continue;  // cut in the header
    const Items read = readItems(**source);
    EXPECT_EQ(read.end, Reader::End::Cut) << length;
    ASSERT_LE(read.items.size(), items.size());
    EXPECT_TRUE(std::equal(read.items.begin(), read.items.end(), items.begin())) << length;
    EXPECT_GE(read.items.size(), most);
    most = read.items.size();
  }
  EXPECT_GT(most, items.size() / 2);
}

TEST(Recording, flipped_bits_are_found) {
  const std::string path = pathOfRecording("flipped");
  const auto items = writeSample(path);
  const std::string whole = readFile(path).value();
  for (std::size_t place = 0; place < whole.size(); ++place) {
    std::string wrong = whole;
    wrong[place] = static_cast<char>(wrong[place] ^ (1 << (place % 8)));
    std::ofstream(path, std::ios::trunc) << wrong;
    auto source = FileSource::open(path);
    if (!source) {
      EXPECT_NE(source.error().message.find(path), std::string::npos);
      continue;
    }
    const Items read = readItems(**source);
    // A longer length looks like the end of the file.
    EXPECT_NE(read.end, Reader::End::Complete) << place;
    if (read.end == Reader::End::Damaged) {
      EXPECT_NE(read.why.find("byte"), std::string::npos);
    }
    ASSERT_LT(read.items.size(), items.size());
    EXPECT_TRUE(std::equal(read.items.begin(), read.items.end(), items.begin())) << place;
  }
}

// A file whose blocks are all the same: so many zeros.
std::string bombOf(std::size_t blocks) {
  const auto blockOf = [](const std::string& content) {
    std::string packed(ZSTD_compressBound(content.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 19));
    const auto stored = static_cast<std::uint32_t>(packed.size());
    const auto raw = static_cast<std::uint32_t>(content.size());
    std::string block;
    putWord(block, stored);
    putWord(block, raw);
    putWord(block, checksumOf(stored, raw, packed));
    return block + packed;
  };
  std::string item(1, static_cast<char>(Item::Reply));
  putNumber(item, 1);
  putNumber(item, blocks * kMaxBlock);
  std::string file(kMagic);
  putWord(file, kFormatVersion);
  file += blockOf("{}") + blockOf(item);
  const std::string zeros = blockOf(std::string(kMaxBlock, '\0'));
  for (std::size_t i = 0; i < blocks; ++i) file += zeros;
  return file;
}

TEST(Recording, a_small_file_that_expands_to_a_gigabyte_is_refused) {
  const std::string path = pathOfRecording("bomb");
  const std::string bomb = bombOf(1000);
  EXPECT_LT(bomb.size(), 100'000U);
  std::ofstream(path, std::ios::trunc) << bomb;
  auto source = FileSource::open(path).value();
  std::string content;
  Result<bool> more = true;
  while (more && *more) more = source->read(content);
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("expands to more than"), std::string::npos);
  EXPECT_LT(content.size(), 64U << 20);
}

TEST(Recording, what_readers_would_refuse_ends_the_recording) {
  auto expanding = FileWriter::create(pathOfRecording("expanding"), json::object{}).value();
  const std::string zeros(16 << 20, '\0');
  for (int i = 0; i < 8; ++i) {
    expanding->add(Item::Reply, 1, zeros);
    while (expanding->waits()) std::this_thread::yield();
  }
  EXPECT_NE(expanding->failure().find("better than readers accept"), std::string::npos);
  auto source = FileSource::open(pathOfRecording("expanding")).value();
  EXPECT_NE(readItems(*source).end, Reader::End::Damaged);

  auto tooLong = FileWriter::create(pathOfRecording("too-long"), json::object{}).value();
  tooLong->add(Item::Call, 1, std::string((16 << 20) + 1, 'x'));
  EXPECT_NE(tooLong->failure().find("a request has"), std::string::npos) << tooLong->failure();
}

TEST(Recording, hostile_lengths_take_no_memory) {
  std::string item(1, static_cast<char>(Item::Event));
  putNumber(item, 1);
  putNumber(item, std::uint64_t{1} << 62);
  MemorySource huge(item);
  EXPECT_EQ(readItems(huge).end, Reader::End::Damaged);
  std::string unknown(1, static_cast<char>(99));
  MemorySource other(unknown);
  EXPECT_EQ(readItems(other).end, Reader::End::Damaged);
}

// A program with all that a scheduler does to its surroundings.
class Program {
 public:
  Program(Executor& executor, kube::Api& api, std::vector<std::string>& done)
      : executor_(executor), api_(api), done_(done) {
    tasks_.spawn(run());
    watch_ = api_.watch(kube::makeRequest(kube::Verb::Watch, api::ResourceType{"", "v1", "pods"}),
                        {[this](std::string_view event) { note(std::string(event)); },
                         [this](const Error& error) { note("closed: " + error.message); }});
  }

 private:
  Task<void> run() {
    for (int i = 0; i < 5; ++i) {
      auto pause = sleepFor(executor_, 10ms + i * 1ns);
      co_await pause;
      kube::Request request;
      request.resource = "pods";
      request.name = fmt::format("p{}", i);
      request.body = fmt::format("at {}", executor_.wallNow().time_since_epoch().count());
      auto call = api_.call(request);
      const auto reply = co_await call;
      note(reply ? *reply : reply.error().message);
      executor_.post([this] { note("posted"); });
    }
    watch_.reset();
  }
  void note(const std::string& what) {
    done_.push_back(fmt::format("{} {}", executor_.steadyNow().time_since_epoch().count(), what));
  }

  Executor& executor_;
  kube::Api& api_;
  std::vector<std::string>& done_;
  std::unique_ptr<kube::Watch> watch_;
  TaskGroup tasks_;
};

std::string recordProgram(std::vector<std::string>& done) {
  VirtualLoop loop;
  kube::FakeApi api(loop);
  int calls = 0;
  api.answer = [&](const kube::Request& request) -> Result<std::string> {
    if (++calls == 3) return koord::fail(ErrorCode::Conflict, "not now");
    return "got " + request.body;
  };
  MemoryWriter writer;
  Recorder recorder(loop, writer);
  RecordingApi recorded(recorder, api);
  std::unique_ptr<Program> program;
  recorder.input(Item::Begin, {},
                 [&] { program = std::make_unique<Program>(recorder, recorded, done); });
  loop.advance(15ms);
  api.watches.front().sink.onEvent("an event");
  loop.advance(1s);
  program.reset();
  return writer.bytes();
}

Replayer::Outcome replayProgram(const std::string& bytes, std::vector<std::string>& done) {
  MemorySource source(bytes);
  std::unique_ptr<Program> program;
  Inputs inputs;
  Replayer* executor = nullptr;
  ReplayApi* api = nullptr;
  inputs.begin = [&] {
    if (!program) program = std::make_unique<Program>(*executor, *api, done);
  };
  inputs.start = inputs.lead = inputs.stop = [] {};
  inputs.http = [](std::string_view, std::string_view, std::string_view) {};
  Replayer replayer(source, std::move(inputs));
  ReplayApi replayed(replayer);
  executor = &replayer;
  api = &replayed;
  const auto outcome = replayer.run();
  program.reset();
  return outcome;
}

TEST(Recording, a_program_runs_again_with_the_same_times_and_answers) {
  std::vector<std::string> first, second;
  const std::string bytes = recordProgram(first);
  const auto outcome = replayProgram(bytes, second);
  EXPECT_EQ(outcome.kind, Replayer::Outcome::Kind::Same) << outcome.recorded << outcome.replayed;
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.size(), 11U);
}

TEST(Recording, the_first_difference_ends_the_replay) {
  std::vector<std::string> first, second;
  std::string bytes = recordProgram(first);
  const auto place = bytes.find("p3");
  ASSERT_NE(place, std::string::npos);
  bytes[place + 1] = '7';
  const auto outcome = replayProgram(bytes, second);
  EXPECT_EQ(outcome.kind, Replayer::Outcome::Kind::Different);
  EXPECT_NE(outcome.recorded.find("p7"), std::string::npos) << outcome.recorded;
  EXPECT_NE(outcome.replayed.find("p3"), std::string::npos) << outcome.replayed;
  ASSERT_LT(second.size(), first.size());
  EXPECT_TRUE(std::equal(second.begin(), second.end(), first.begin()));
}

TEST(Recording, a_cut_recording_runs_up_to_its_end) {
  std::vector<std::string> first;
  const std::string bytes = recordProgram(first);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    std::vector<std::string> second;
    const auto outcome = replayProgram(bytes.substr(0, length), second);
    EXPECT_EQ(outcome.kind, Replayer::Outcome::Kind::Same) << length;
    EXPECT_EQ(outcome.source, Reader::End::Cut);
  }
}

// A recording whose first turn has these changes of a clock.
std::string readingsOf(Item clock, const std::vector<std::int64_t>& changes) {
  MemoryWriter writer;
  writer.add(Item::Begin, 0, "");
  for (const std::int64_t change : changes) {
    if (clock == Item::Wall) writer.add(Item::Steady, zigzag(1));
    writer.add(clock, zigzag(change));
  }
  return writer.bytes();
}

// What the recording has instead of readings: "" if all is well.
std::string faultOfReadings(Item clock, const std::vector<std::int64_t>& changes) {
  const std::string bytes = readingsOf(clock, changes);
  MemorySource source(bytes);
  Replayer* executor = nullptr;
  Inputs inputs;
  inputs.begin = [&] {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      (void)executor->steadyNow();
      if (clock == Item::Wall) (void)executor->wallNow();
    }
  };
  Replayer replayer(source, std::move(inputs));
  executor = &replayer;
  return replayer.run().recorded;
}

TEST(Recording, readings_that_no_clock_has_are_malformed) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::int64_t kCentury = 3'155'760'000'000'000'000;
  EXPECT_EQ(faultOfReadings(Item::Steady, {kCentury / 10, -kCentury / 10, 5}), "");
  EXPECT_EQ(faultOfReadings(Item::Wall, {kCentury * 2, -kCentury * 2, kCentury}), "");
  for (const Item clock : {Item::Steady, Item::Wall}) {
    for (const auto& changes : std::vector<std::vector<std::int64_t>>{
             {Limits::max()}, {Limits::min()}, {1, Limits::max()}, {-2, Limits::min()}}) {
      EXPECT_NE(faultOfReadings(clock, changes).find("malformed"), std::string::npos)
          << nameOf(clock) << " " << changes.front();
    }
  }
}

TEST(Recording, an_answer_that_asks_for_a_pause_of_a_million_years_is_malformed) {
  Error error{ErrorCode::Unavailable, "busy", std::chrono::hours(24)};
  EXPECT_TRUE(decodeResult(encodeError(&error)));
  error.retryAfter = std::chrono::milliseconds::max();
  EXPECT_FALSE(decodeResult(encodeError(&error)));
}

TEST(Recording, random_changes_are_no_crash) {
  std::vector<std::string> first;
  const std::string bytes = recordProgram(first);
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string wrong = bytes;
    for (int i = 0; i < 3; ++i)
      wrong[random.below(wrong.size())] = static_cast<char>(random.below(256));
    std::vector<std::string> second;
    (void)replayProgram(wrong, second);
  }
}

}  // namespace
}  // namespace koord::scheduler::recording
