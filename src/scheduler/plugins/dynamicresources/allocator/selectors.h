#pragma once

// Selectors of devices and their memo: does a device match all expressions of a class or of a
// request? The answer depends on what the expressions read of the device (its content) only, so it
// is computed once for each pair of a list of expressions and a content, for all nodes and pods.

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

// What expressions and constraints read of a device, without its name and place. Devices of equal
// content share one object (contents.h).
struct DeviceContent {
  std::string driver;
  api::Map<api::DeviceAttribute> attributes;
  api::Map<api::DeviceCapacity> capacity;
  bool allowMultipleAllocations = false;
  bool hasRequestPolicy = false;  // some capacity has one

 private:
  friend class Matchers;
  mutable std::vector<Match> memo_;  // by matcher
  mutable std::uint64_t memoOf_ = 0;
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

// Lists of expressions, compiled once, with the memo. Not thread-safe.
class Matchers {
 public:
  using Id = std::uint32_t;
  explicit Matchers(SelectorCompiler& compiler) : compiler_(compiler) {}

  // Valid while generation() stays the same. An entry without an expression is an unknown selector
  // type: callers refuse it before.
  Id of(const api::List<api::DeviceSelector>& selectors);
  // Rises when all ids become invalid, because there were too many.
  std::uint64_t generation() const { return generation_; }
  // Failed: an expression cannot be compiled or evaluated (failureOf).
  Match match(Id matcher, const DeviceContent& device) {
    if (device.memoOf_ == generation_ && matcher < device.memo_.size() &&
        device.memo_[matcher] != Match::Unknown)
      return device.memo_[matcher];
    return evaluate(matcher, device);
  }
  struct Failure {
    std::size_t selector = 0;  // its position in the list
    bool compile = false;      // false: evaluation
    std::string message;
  };
  // Requires that match() returned Failed.
  Failure failureOf(Id matcher, const DeviceContent& device) const;

 private:
  // Lists of expressions at a time. More means that users write a new expression for every claim.
  static constexpr std::size_t kMost = 1024;
  using Compiled = Result<std::shared_ptr<const CompiledSelector>>;

  Match evaluate(Id matcher, const DeviceContent& device);
  std::optional<Failure> failure(Id matcher, const DeviceContent& device, bool& matches) const;

  SelectorCompiler& compiler_;
  std::uint64_t generation_ = 1;
  std::vector<std::vector<std::shared_ptr<const Compiled>>> matchers_;
  boost::unordered_flat_map<std::string, Id> ids_;  // by the expressions, with their lengths
  boost::unordered_flat_map<std::string, std::shared_ptr<const Compiled>> compiled_;
};

}  // namespace koord::scheduler::dra
