#pragma once

// List<T>: a growing array like std::vector, of the size of one pointer. An API object is a tree of
// mostly empty lists, and a program holds a hundred thousand of such objects: an empty list costs
// eight bytes instead of 24, and one that the codec fills has no room to spare.
//
// Iterators are pointers, good until the next insertion, removal or shrink_to_fit. T must move
// without throwing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace koord::api {

template <class T>
class List {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  List() noexcept = default;
  List(std::initializer_list<T> items) : List(items.begin(), items.end()) {}
  template <std::input_iterator It>
  List(It first, It last) {
    if constexpr (std::forward_iterator<It>) reserve(std::distance(first, last));
    for (; first != last; ++first) emplace_back(*first);
  }
  List(std::vector<T> items)  // NOLINT: from the type that it stands for
      : List(std::move_iterator(items.begin()), std::move_iterator(items.end())) {}
  List(const List& other) : List(other.begin(), other.end()) {}
  List(List&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  List& operator=(const List& other) {
    if (this != &other) *this = List(other);
    return *this;
  }
  List& operator=(List&& other) noexcept {
    List old(std::move(other));
    swap(old);
    return *this;
  }
  ~List() { drop(); }

  iterator begin() noexcept { return data(); }
  iterator end() noexcept { return data() + size(); }
  const_iterator begin() const noexcept { return data(); }
  const_iterator end() const noexcept { return data() + size(); }
  T* data() noexcept { return block_ ? items(block_) : nullptr; }
  const T* data() const noexcept { return block_ ? items(block_) : nullptr; }
  size_type size() const noexcept { return block_ ? block_->size : 0; }
  size_type capacity() const noexcept { return block_ ? block_->capacity : 0; }
  bool empty() const noexcept { return size() == 0; }

  T& operator[](size_type i) { return data()[i]; }
  const T& operator[](size_type i) const { return data()[i]; }
  T& at(size_type i) {
    if (i >= size()) throw std::out_of_range("no such item in a list");
    return (*this)[i];
  }
  const T& at(size_type i) const { return const_cast<List&>(*this).at(i); }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return end()[-1]; }
  const T& back() const { return end()[-1]; }

  void reserve(size_type count) {
    if (count > capacity()) moveTo(count);
  }
  void shrink_to_fit() {
    if (size() < capacity()) moveTo(size());
  }
  void resize(size_type count) {
    reserve(count);
    while (size() < count) emplace_back();
    erase(begin() + count, end());
  }
  void clear() noexcept { erase(begin(), end()); }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size() == capacity()) {
      T item(std::forward<Args>(args)...);  // which may be a part of this list
      moveTo(std::max<size_type>(1, 2 * capacity()));
      return append(std::move(item));
    }
    return append(std::forward<Args>(args)...);
  }
  void push_back(T item) { emplace_back(std::move(item)); }
  template <class... Args>
  iterator emplace(const_iterator at, Args&&... args) {
    const auto place = at - begin();
    emplace_back(std::forward<Args>(args)...);
    std::rotate(begin() + place, end() - 1, end());
    return begin() + place;
  }
  iterator insert(const_iterator at, T item) { return emplace(at, std::move(item)); }
  template <std::forward_iterator It>
  iterator insert(const_iterator at, It first, It last) {
    const auto place = at - begin();
    const auto before = size();
    reserve(before + std::distance(first, last));
    for (; first != last; ++first) append(*first);
    std::rotate(begin() + place, begin() + before, end());
    return begin() + place;
  }
  iterator erase(const_iterator at) { return erase(at, at + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    T* const to = begin() + (first - begin());
    if (first == last) return to;
    T* const keptEnd = std::move(to + (last - first), end(), to);
    std::destroy(keptEnd, end());
    block_->size = static_cast<std::uint32_t>(keptEnd - begin());
    return to;
  }
  void pop_back() { erase(end() - 1); }
  void swap(List& other) noexcept { std::swap(block_, other.block_); }

  friend bool operator==(const List& a, const List& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  template <class Pred>
  friend size_type erase_if(List& list, Pred pred) {
    const auto before = list.size();
    list.erase(std::remove_if(list.begin(), list.end(), std::move(pred)), list.end());
    return before - list.size();
  }

 private:
  struct Block {  // followed by the items
    std::uint32_t size;
    std::uint32_t capacity;
  };
  static constexpr std::size_t offset() { return std::max(sizeof(Block), alignof(T)); }
  static T* items(Block* block) {
    return std::launder(reinterpret_cast<T*>(reinterpret_cast<std::byte*>(block) + offset()));
  }

  template <class... Args>
  T& append(Args&&... args) {
    T* const item = std::construct_at(end(), std::forward<Args>(args)...);
    ++block_->size;
    return *item;
  }
  void moveTo(size_type capacity) {
    static_assert(std::is_nothrow_move_constructible_v<T> &&
                  alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    List to;
    if (capacity > 0) {
      to.block_ = new (::operator new(offset() + capacity * sizeof(T)))
          Block{0, static_cast<std::uint32_t>(capacity)};
      for (T& item : *this) to.append(std::move(item));
    }
    swap(to);
  }
  void drop() noexcept {
    if (!block_) return;
    std::destroy(begin(), end());
    ::operator delete(block_);
  }

  Block* block_ = nullptr;
};

}  // namespace koord::api
