#pragma once

// The rows of one kind, ordered by their last change, so that a reader can ask for everything that
// has changed since it last asked.
//
// Each change gets the next number. A reader keeps the number up to which it has read, 0 at first,
// and asks again when it can take more: several changes of one row in between become one, so a slow
// reader costs neither memory nor extra work. Deletions stay as entries without columns; the oldest
// are dropped when there are too many, and a reader from before then must start again.
//
// Cost: O(log n) a change, O(log n + k) to read k changes.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "console/rows/row.h"

namespace koord::console {

class ChangeLog {
 public:
  using Number = std::uint64_t;

  struct Changes {
    bool reset = false;  // forget all rows first
    std::vector<const Row*> rows;
    std::vector<std::string_view> gone;  // keys
    Number upTo = 0;                     // to ask from the next time
    bool more = false;                   // there are changes after `upTo`
  };

  // Returns false if the row is as before.
  bool put(Row row);
  // Returns false if there is no such row.
  bool erase(const std::string& key);

  // At most `limit` changes after the number. The pointers are valid until the next change.
  Changes after(Number number, std::size_t limit) const;
  Number latest() const { return latest_; }

  // nullptr if there is no such row. Valid until the next change.
  const Row* find(const std::string& key) const;
  std::size_t size() const { return numbers_.size() - deletions_; }
  template <class Fn>
  void forEach(Fn&& fn) const {
    for (const auto& [number, entry] : entries_)
      if (!entry.deleted) fn(entry.row);
  }
  // The keys of all rows.
  std::vector<std::string> keys() const;

 private:
  struct Entry {
    Row row;
    bool deleted = false;
  };
  void store(Row row, bool deleted);
  void dropOldDeletions();

  std::map<Number, Entry> entries_;
  std::unordered_map<std::string, Number> numbers_;  // by key, deleted rows included
  std::size_t deletions_ = 0;
  Number latest_ = 0;
  Number forgotten_ = 0;  // the latest deletion that was dropped
};

}  // namespace koord::console
