#pragma once

// List<T>: a growing array like std::vector, of the size of one pointer. An API object is a tree of
// mostly empty lists, and a program keeps a hundred thousand of these objects: an empty list costs
// eight bytes instead of 24, and a list that the codec fills has no spare capacity.
//
// Lists can share their items (share()): the pods of a workload have the same labels, owner and
// containers. Copying a shared list costs nothing, and the copy may belong to another thread. Any
// access that could change an item first gives the list its own copy of the items. That includes
// begin(), [] and the like on a list that is not const: read shared lists through const.
//
// Iterators are pointers. They are valid until the next insertion, removal, shrink_to_fit or, for a
// list that was shared, the next access that is not const. T must move without throwing.

#include <algorithm>
#include <atomic>
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
  List(const List& other) {
    if (other.block_) copy(other);
  }
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
  ~List() {
    if (block_) drop();
  }

  iterator begin() { return data(); }
  iterator end() { return data() + size(); }
  const_iterator begin() const noexcept { return data(); }
  const_iterator end() const noexcept { return data() + size(); }
  T* data() {
    if (!block_) return nullptr;
    if (shared()) own();
    return items(block_);
  }
  const T* data() const noexcept { return block_ ? items(block_) : nullptr; }
  size_type size() const noexcept { return block_ ? block_->size : 0; }
  size_type capacity() const noexcept {
    return !block_ ? 0 : shared() ? block_->size : block_->capacity;
  }
  bool empty() const noexcept { return size() == 0; }

  T& operator[](size_type i) { return data()[i]; }
  const T& operator[](size_type i) const { return data()[i]; }
  T& at(size_type i) {
    std::as_const(*this).at(i);
    return (*this)[i];
  }
  const T& at(size_type i) const {
    if (i >= size()) throw std::out_of_range("no such item in a list");
    return (*this)[i];
  }
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
  void clear() {
    if (shared()) return List().swap(*this);
    erase(begin(), end());
  }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size() == capacity()) {
      T item(std::forward<Args>(args)...);  // may refer to a part of this list
      moveTo(std::max<size_type>(1, 2 * capacity()));
      return append(std::move(item));
    }
    return append(std::forward<Args>(args)...);
  }
  void push_back(T item) { emplace_back(std::move(item)); }
  template <class... Args>
  iterator emplace(const_iterator at, Args&&... args) {
    const auto place = at - std::as_const(*this).begin();
    emplace_back(std::forward<Args>(args)...);
    std::rotate(begin() + place, end() - 1, end());
    return begin() + place;
  }
  iterator insert(const_iterator at, T item) { return emplace(at, std::move(item)); }
  template <std::forward_iterator It>
  iterator insert(const_iterator at, It first, It last) {
    const auto place = at - std::as_const(*this).begin();
    const auto before = size();
    reserve(before + std::distance(first, last));
    for (; first != last; ++first) append(*first);
    std::rotate(begin() + place, begin() + before, end());
    return begin() + place;
  }
  iterator erase(const_iterator at) { return erase(at, at + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const auto place = first - std::as_const(*this).begin();
    const auto count = last - first;
    T* const to = begin() + place;
    if (count == 0) return to;
    T* const keptEnd = std::move(to + count, end(), to);
    std::destroy(keptEnd, end());
    block_->size = static_cast<std::uint32_t>(keptEnd - begin());
    return to;
  }
  void pop_back() { erase(end() - 1); }
  void swap(List& other) noexcept { std::swap(block_, other.block_); }

  // After this call, copies of the list share its items.
  void share() {
    static_assert(std::is_copy_constructible_v<T>);
    if (shared()) return;
    shrink_to_fit();
    if (block_) block_->capacity = kShared | 1;
  }
  bool shared() const noexcept {
    return block_ && (refCount(block_).load(std::memory_order_relaxed) & kShared) != 0;
  }
  // The number of lists that share these items.
  size_type useCount() const noexcept {
    return !block_ ? 0 : shared() ? refCount(block_).load(std::memory_order_relaxed) & ~kShared : 1;
  }

  friend bool operator==(const List& a, const List& b) {
    return a.block_ == b.block_ || std::equal(a.begin(), a.end(), b.begin(), b.end());
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
    std::uint32_t capacity;  // if shared: kShared and the number of lists
  };
  static constexpr std::uint32_t kShared = std::uint32_t{1} << 31;
  static constexpr std::size_t offset() { return std::max(sizeof(Block), alignof(T)); }
  static T* items(Block* block) {
    return std::launder(reinterpret_cast<T*>(reinterpret_cast<std::byte*>(block) + offset()));
  }

  static std::atomic_ref<std::uint32_t> refCount(Block* block) noexcept {
    return std::atomic_ref<std::uint32_t>(block->capacity);
  }
  // Most lists are empty, and copies are frequent: keep the rare path out of the callers.
  [[gnu::noinline]] void copy(const List& other) {
    if (other.shared()) {
      block_ = other.block_;
      refCount(block_).fetch_add(1, std::memory_order_relaxed);
    } else {
      *this = List(other.begin(), other.end());
    }
  }
  // Copies the items if another list shares them.
  [[gnu::noinline]] void own() {
    if constexpr (std::is_copy_constructible_v<T>) {
      if (refCount(block_).load(std::memory_order_acquire) == (kShared | 1)) {
        block_->capacity = block_->size;
      } else {
        *this = List(std::as_const(*this).begin(), std::as_const(*this).end());
      }
    }
  }

  template <class... Args>
  T& append(Args&&... args) {
    T* const item = std::construct_at(items(block_) + block_->size, std::forward<Args>(args)...);
    ++block_->size;
    return *item;
  }
  [[gnu::noinline]] void moveTo(size_type capacity) {
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
  [[gnu::noinline]] void drop() noexcept {
    if (shared() && refCount(block_).fetch_sub(1, std::memory_order_acq_rel) != (kShared | 1))
      return;  // other lists still use the items
    std::destroy_n(items(block_), block_->size);
    ::operator delete(block_);
  }

  Block* block_ = nullptr;
};

}  // namespace koord::api
