#pragma once

// A map from text to T for API objects: labels, annotations, resources. A sorted list, because the
// maps are small, numerous, and read far more often than changed.
//
// Not boost::container::flat_map, whose sorting and merging code is instantiated in every file that
// touches an object: the functions of this map are compiled once for the two common types (map.cc).
// Iterators and references are valid until the next insertion or removal. Do not change a key
// through an iterator. Maps can share their items, as lists do: read shared maps through const.

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "api/list.h"

namespace koord::api {

template <class T>
class Map {
 public:
  using key_type = std::string;
  using mapped_type = T;
  using value_type = std::pair<std::string, T>;
  using iterator = value_type*;
  using const_iterator = const value_type*;
  using size_type = std::size_t;

  Map() noexcept;
  Map(std::initializer_list<value_type> items);  // the first of equal keys wins
  template <class It>
  Map(It first, It last) {
    insert(first, last);
  }
  Map(const Map& other);
  Map(Map&& other) noexcept;
  Map& operator=(const Map& other);
  Map& operator=(Map&& other) noexcept;
  ~Map();

  iterator begin() { return items_.begin(); }
  iterator end() { return items_.end(); }
  const_iterator begin() const noexcept { return items_.begin(); }
  const_iterator end() const noexcept { return items_.end(); }
  bool empty() const noexcept { return items_.empty(); }
  size_type size() const noexcept { return items_.size(); }
  void clear();
  void reserve(size_type count);

  iterator lower_bound(std::string_view key);
  const_iterator lower_bound(std::string_view key) const;
  iterator find(std::string_view key);
  const_iterator find(std::string_view key) const;
  bool contains(std::string_view key) const;
  size_type count(std::string_view key) const { return contains(key) ? 1 : 0; }
  T& at(std::string_view key);  // throws std::out_of_range
  const T& at(std::string_view key) const;
  T& operator[](std::string_view key);

  // As in std::map: changes nothing if the key exists.
  std::pair<iterator, bool> insert(value_type item);
  std::pair<iterator, bool> emplace(std::string key, T value);
  std::pair<iterator, bool> try_emplace(std::string key, T value);
  std::pair<iterator, bool> try_emplace(std::string key);
  std::pair<iterator, bool> insert_or_assign(std::string key, T value);
  template <class It>
  void insert(It first, It last) {
    for (; first != last; ++first) emplace(std::string(first->first), T(first->second));
  }
  iterator erase(const_iterator at);
  size_type erase(std::string_view key);
  void swap(Map& other) noexcept { items_.swap(other.items_); }

  // As in List.
  void share() { items_.share(); }
  bool shared() const noexcept { return items_.shared(); }
  size_type useCount() const noexcept { return items_.useCount(); }

  bool operator==(const Map& other) const;

 private:
  List<value_type> items_;  // by key
};

template <class T, class Pred>
std::size_t erase_if(Map<T>& map, Pred pred) {
  const std::size_t before = map.size();
  for (auto it = map.begin(); it != map.end();) it = pred(*it) ? map.erase(it) : it + 1;
  return before - map.size();
}

template <class T>
Map<T>::Map() noexcept = default;
template <class T>
Map<T>::Map(const Map&) = default;
template <class T>
Map<T>::Map(Map&&) noexcept = default;
template <class T>
Map<T>& Map<T>::operator=(const Map&) = default;
template <class T>
Map<T>& Map<T>::operator=(Map&&) noexcept = default;
template <class T>
Map<T>::~Map() = default;

template <class T>
Map<T>::Map(std::initializer_list<value_type> items) {
  reserve(items.size());
  for (const auto& item : items) insert(item);
}

template <class T>
void Map<T>::clear() {
  items_.clear();
}

template <class T>
void Map<T>::reserve(size_type count) {
  items_.reserve(count);
}

template <class T>
typename Map<T>::iterator Map<T>::lower_bound(std::string_view key) {
  const auto place = std::as_const(*this).lower_bound(key) - std::as_const(items_).begin();
  return items_.begin() + place;
}

template <class T>
typename Map<T>::const_iterator Map<T>::lower_bound(std::string_view key) const {
  return std::lower_bound(
      items_.begin(), items_.end(), key,
      [](const value_type& item, std::string_view wanted) { return item.first < wanted; });
}

template <class T>
typename Map<T>::iterator Map<T>::find(std::string_view key) {
  const auto it = lower_bound(key);
  return it != items_.end() && it->first == key ? it : items_.end();
}

template <class T>
typename Map<T>::const_iterator Map<T>::find(std::string_view key) const {
  const auto it = lower_bound(key);
  return it != items_.end() && it->first == key ? it : items_.end();
}

template <class T>
bool Map<T>::contains(std::string_view key) const {
  return find(key) != items_.end();
}

template <class T>
T& Map<T>::at(std::string_view key) {
  std::as_const(*this).at(key);
  return find(key)->second;
}

template <class T>
const T& Map<T>::at(std::string_view key) const {
  const auto it = find(key);
  if (it == items_.end()) throw std::out_of_range("no key \"" + std::string(key) + "\"");
  return it->second;
}

template <class T>
T& Map<T>::operator[](std::string_view key) {
  const auto it = lower_bound(key);
  if (it != items_.end() && it->first == key) return it->second;
  return items_.emplace(it, std::string(key), T())->second;
}

template <class T>
std::pair<typename Map<T>::iterator, bool> Map<T>::emplace(std::string key, T value) {
  // Most maps are filled in order: from the wire, where keys are sorted, or from another map.
  const auto it = items_.empty() || items_.back().first < key ? items_.end() : lower_bound(key);
  if (it != items_.end() && it->first == key) return {it, false};
  return {items_.emplace(it, std::move(key), std::move(value)), true};
}

template <class T>
std::pair<typename Map<T>::iterator, bool> Map<T>::insert(value_type item) {
  return emplace(std::move(item.first), std::move(item.second));
}

template <class T>
std::pair<typename Map<T>::iterator, bool> Map<T>::try_emplace(std::string key, T value) {
  return emplace(std::move(key), std::move(value));
}

template <class T>
std::pair<typename Map<T>::iterator, bool> Map<T>::try_emplace(std::string key) {
  return emplace(std::move(key), T());
}

template <class T>
std::pair<typename Map<T>::iterator, bool> Map<T>::insert_or_assign(std::string key, T value) {
  const auto it = lower_bound(key);
  if (it != items_.end() && it->first == key) {
    it->second = std::move(value);
    return {it, false};
  }
  return {items_.emplace(it, std::move(key), std::move(value)), true};
}

template <class T>
typename Map<T>::iterator Map<T>::erase(const_iterator at) {
  return items_.erase(at);
}

template <class T>
typename Map<T>::size_type Map<T>::erase(std::string_view key) {
  const auto it = std::as_const(*this).find(key);
  if (it == std::as_const(items_).end()) return 0;
  items_.erase(it);
  return 1;
}

template <class T>
bool Map<T>::operator==(const Map& other) const {
  return items_ == other.items_;
}

}  // namespace koord::api
