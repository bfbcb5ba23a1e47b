#include "base/cpuset.h"
#include "base/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace koord {
namespace {

std::unexpected<Error> listError(std::string_view text, std::string_view why) {
  return fail(ErrorCode::BadRequest,
              fmt::format("\"{}\" is not a CPU list: {}", shortened(text, 64), why));
}

Result<int> parseCpu(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);  // as Go's number parser does
  unsigned cpu = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, ec] = std::from_chars(digits.data(), end, cpu);
  if (ec == std::errc::invalid_argument || stop != end) {
    return fail(ErrorCode::BadRequest,
                fmt::format("\"{}\" is not a CPU number", shortened(text, 64)));
  }
  if (ec != std::errc() || cpu >= CpuSet::kMaxCpus) {
    return fail(ErrorCode::BadRequest, fmt::format("CPU {} is above the highest number, {}",
                                                   shortened(text, 64), CpuSet::kMaxCpus - 1));
  }
  return static_cast<int>(cpu);
}

}  // namespace

CpuSet::CpuSet(std::initializer_list<int> cpus) {
  for (const int cpu : cpus) add(cpu);
}

CpuSet CpuSet::of(std::span<const int> cpus) {
  CpuSet result;
  for (const int cpu : cpus) result.add(cpu);
  return result;
}

CpuSet CpuSet::firstCpus(int count) {
  CpuSet result;
  result.addRange(0, count - 1);
  return result;
}

Result<CpuSet> CpuSet::parse(std::string_view text, ReversedRange reversed) {
  CpuSet result;
  if (text.empty()) return result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;

    const std::size_t dash = item.find('-');
    const auto first = parseCpu(item.substr(0, dash));
    if (!first) return listError(text, first.error().message);
    const auto last = dash == std::string_view::npos ? first : parseCpu(item.substr(dash + 1));
    if (!last) return listError(text, last.error().message);
    if (*first > *last && reversed == ReversedRange::Error) {
      return listError(text, fmt::format("the range {} ends before it begins", item));
    }
    result.addRange(*first, *last);
  }
  return result;
}

std::string CpuSet::toString() const {
  std::string text;
  int first = -1;
  int last = -2;
  const auto flush = [&] {
    if (first < 0) return;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
  };
  forEach([&](int cpu) {
    if (cpu != last + 1) {
      flush();
      first = cpu;
    }
    last = cpu;
  });
  flush();
  return text;
}

std::vector<int> CpuSet::toVector() const {
  std::vector<int> cpus;
  cpus.reserve(static_cast<std::size_t>(size()));
  forEach([&](int cpu) { cpus.push_back(cpu); });
  return cpus;
}

int CpuSet::size() const {
  int count = 0;
  for (const Word word : words_) count += std::popcount(word);
  return count;
}

void CpuSet::add(int cpu) {
  addRange(cpu, cpu);
}

void CpuSet::addRange(int first, int last) {
  if (first > last) return;
  const auto begin = static_cast<std::size_t>(first) / kWordBits;
  const auto end = static_cast<std::size_t>(last) / kWordBits;
  if (words_.size() <= end) words_.resize(end + 1);
  for (std::size_t i = begin; i <= end; ++i) {
    Word mask = ~Word{0};
    if (i == begin) mask &= ~Word{0} << bitOf(first);
    if (i == end) mask &= ~Word{0} >> (kWordBits - 1 - bitOf(last));
    words_[i] |= mask;
  }
}

void CpuSet::remove(int cpu) {
  if (!contains(cpu)) return;
  words_[static_cast<std::size_t>(cpu) / kWordBits] &= ~(Word{1} << bitOf(cpu));
  trim();
}

CpuSet CpuSet::unionWith(const CpuSet& other) const {
  const bool longer = words_.size() >= other.words_.size();
  CpuSet result = longer ? *this : other;
  const CpuSet& rest = longer ? other : *this;
  for (std::size_t i = 0; i < rest.words_.size(); ++i) result.words_[i] |= rest.words_[i];
  return result;
}

CpuSet CpuSet::intersect(const CpuSet& other) const {
  CpuSet result = *this;
  result.words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < result.words_.size(); ++i) result.words_[i] &= other.words_[i];
  result.trim();
  return result;
}

CpuSet CpuSet::difference(const CpuSet& other) const {
  CpuSet result = *this;
  const std::size_t shared = std::min(words_.size(), other.words_.size());
  for (std::size_t i = 0; i < shared; ++i) result.words_[i] &= ~other.words_[i];
  result.trim();
  return result;
}

bool CpuSet::isSubsetOf(const CpuSet& other) const {
  if (words_.size() > other.words_.size()) return false;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if ((words_[i] & ~other.words_[i]) != 0) return false;
  }
  return true;
}

bool CpuSet::intersects(const CpuSet& other) const {
  const std::size_t shared = std::min(words_.size(), other.words_.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if ((words_[i] & other.words_[i]) != 0) return true;
  }
  return false;
}

void CpuSet::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace koord
