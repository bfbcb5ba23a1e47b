#pragma once

// Selectors of devices and their memo: whether a device matches all expressions of a class or of a
// request. The answer depends only on the content of the device that expressions read, so it is
// computed once for each pair of a list of expressions and a content, for all nodes and pods.
//
// A plan owns the matchers of its requests. Plans with equal lists of expressions share a matcher,
// and a list without a plan is dropped. Not thread-safe.

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/resource_claims.h"
#include "base/result.h"

namespace koord::scheduler::dra {

enum class Match : std::uint8_t { Unknown, No, Yes, Failed };

// The part of a device that expressions and constraints read, without its name and location.
// Devices of equal content share one object (contents.h).
struct DeviceContent {
  std::string driver;
  api::Map<api::DeviceAttribute> attributes;
  api::Map<api::DeviceCapacity> capacity;
  bool allowMultipleAllocations = false;
  bool hasRequestPolicy = false;  // some capacity has one

 private:
  friend class Matcher;
  struct Answer {
    // Of the matcher that stored it; an earlier matcher may have used the slot.
    std::uint64_t serial = 0;
    Match match = Match::Unknown;
  };
  mutable std::vector<Answer> memo_;  // by the matcher's slot
};

class CompiledSelector {
 public:
  virtual ~CompiledSelector() = default;
  // The error is that of the evaluation.
  virtual Result<bool> matches(const DeviceContent& device) const = 0;
};

class SelectorCompiler {
 public:
  virtual ~SelectorCompiler() = default;
  virtual Result<std::shared_ptr<const CompiledSelector>> compile(
      const std::string& expression) = 0;
};

// An expression, compiled on its first comparison with a device: claims may have thousands that no
// device reaches. The compiler must outlive it.
class Selector {
 public:
  Selector(SelectorCompiler& compiler, std::string expression)
      : compiler_(compiler), expression_(std::move(expression)) {}
  const Result<std::shared_ptr<const CompiledSelector>>& compiled() const;

 private:
  SelectorCompiler& compiler_;
  std::string expression_;
  mutable std::optional<Result<std::shared_ptr<const CompiledSelector>>> compiled_;
};

// Positions in the memos of devices, reused after their matcher is destroyed.
class MatcherSlots {
 public:
  std::uint32_t take();
  void release(std::uint32_t slot) { free_.push_back(slot); }
  std::uint64_t nextSerial() { return ++serial_; }

 private:
  std::uint64_t serial_ = 0;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> free_;
};

// A list of expressions that a device must satisfy.
class Matcher {
 public:
  using SelectorPtr = std::shared_ptr<const Selector>;
  Matcher(std::vector<SelectorPtr> selectors, std::shared_ptr<MatcherSlots> slots);
  ~Matcher() { slots_->release(slot_); }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // Failed: an expression cannot be compiled or evaluated (failureOf).
  Match match(const DeviceContent& device) const {
    if (slot_ < device.memo_.size() && device.memo_[slot_].serial == serial_)
      return device.memo_[slot_].match;
    return evaluate(device);
  }
  struct Failure {
    std::size_t selector = 0;  // its position in the list
    bool compile = false;      // false: evaluation
    std::string message;
  };
  // Requires that match() returned Failed.
  Failure failureOf(const DeviceContent& device) const;

 private:
  Match evaluate(const DeviceContent& device) const;
  std::optional<Failure> failure(const DeviceContent& device, bool& matches) const;

  std::vector<SelectorPtr> selectors_;
  std::shared_ptr<MatcherSlots> slots_;
  std::uint32_t slot_;
  std::uint64_t serial_;
};
using MatcherPtr = std::shared_ptr<const Matcher>;

// Finds the matcher of a list, or creates it.
class Matchers {
 public:
  explicit Matchers(SelectorCompiler& compiler) : compiler_(compiler) {}

  // Entries must have an expression: callers reject unknown selector types before.
  MatcherPtr of(const api::List<api::DeviceSelector>& selectors);

 private:
  template <class T>
  using Known = boost::unordered_flat_map<std::string, std::weak_ptr<const T>>;
  // Removes entries whose object was destroyed, when the map has doubled since the last time.
  template <class T>
  static void sweep(Known<T>& known, std::size_t& limit);

  SelectorCompiler& compiler_;
  std::shared_ptr<MatcherSlots> slots_ = std::make_shared<MatcherSlots>();
  Known<Matcher> matchers_;  // by the expressions, with their lengths
  Known<Selector> selectors_;
  std::size_t matcherLimit_ = 64, selectorLimit_ = 64;
};

}  // namespace koord::scheduler::dra
