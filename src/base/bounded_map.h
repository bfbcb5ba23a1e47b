#pragma once

// A hash map of at most `capacity` entries. When it is full, the oldest entry is removed.

#include <list>
#include <unordered_map>
#include <utility>

namespace koord {

template <class Key, class Value>
class BoundedMap {
 public:
  explicit BoundedMap(std::size_t capacity) : capacity_(capacity) {}

  // The entry of the key; a missing entry is created from `initial`. Valid until the next at().
  Value& at(const Key& key, Value initial) {
    const auto it = entries_.find(key);
    if (it != entries_.end()) return it->second.value;
    if (entries_.size() >= capacity_) {
      entries_.erase(entries_.find(*order_.front()));
      order_.pop_front();
    }
    const auto added = entries_.emplace(key, Entry{std::move(initial), {}}).first;
    added->second.place = order_.insert(order_.end(), &added->first);
    return added->second.value;
  }

  Value* find(const Key& key) {
    const auto it = entries_.find(key);
    return it == entries_.end() ? nullptr : &it->second.value;
  }

  void erase(const Key& key) {
    const auto it = entries_.find(key);
    if (it == entries_.end()) return;
    order_.erase(it->second.place);
    entries_.erase(it);
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Value value;
    typename std::list<const Key*>::iterator place;
  };
  std::size_t capacity_;
  std::list<const Key*> order_;  // keys of entries_
  std::unordered_map<Key, Entry> entries_;
};

}  // namespace koord
