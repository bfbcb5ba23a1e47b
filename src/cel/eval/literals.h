#pragma once

// Lists, maps and objects that an expression writes.

#include <string>
#include <vector>

#include "cel/eval/node.h"

namespace koord::cel {

class ListNode final : public Node {
 public:
  // `optional` is empty or has a flag for each element: such an element is left out if it is none.
  ListNode(std::vector<NodePtr> elements, std::vector<bool> optional)
      : elements_(std::move(elements)), optional_(std::move(optional)) {}
  Value evaluate(Frame& frame) const override;
  bool allConstant() const;

 private:
  std::vector<NodePtr> elements_;
  std::vector<bool> optional_;
};

class MapNode final : public Node {
 public:
  struct Item {
    NodePtr key;
    NodePtr value;
    bool optional = false;
  };
  explicit MapNode(std::vector<Item> items) : items_(std::move(items)) {}
  Value evaluate(Frame& frame) const override;
  bool allConstant() const;

 private:
  std::vector<Item> items_;
};

class StructNode final : public Node {
 public:
  struct Field {
    std::string name;
    NodePtr value;
    bool optional = false;
  };
  StructNode(const ObjectType& type, std::vector<Field> fields)
      : type_(type), fields_(std::move(fields)) {}
  Value evaluate(Frame& frame) const override;

 private:
  const ObjectType& type_;
  std::vector<Field> fields_;
};

}  // namespace koord::cel
