#pragma once

// Walks objects along their schema. Only the other files of this folder use it.

#include <boost/container/small_vector.hpp>
#include <string_view>

#include "api/schema/schema.h"
#include "base/json.h"

namespace koord::api::walk {

// True if the value is absent, null, {} or [].
bool isEmpty(const json::value* value);
bool isContainer(const json::value* value);

using Members = boost::container::small_vector<const json::key_value_pair*, 24>;
Members sortedMembers(const json::object& object);

// Looks up the fields of a schema (which may be null) for names that come in order.
class SchemaCursor {
 public:
  explicit SchemaCursor(const Schema* schema) : schema_(schema) {}

  // nullptr for entries of maps and for unknown fields.
  const SchemaField* field(std::string_view name);
  // As memberSchema.
  const Schema* type(std::string_view name);
  const Schema* type(const SchemaField* known) const;

 private:
  const Schema* schema_;
  std::size_t next_ = 0;
};

// The value that a field implicitly has in every object of its struct: {} for structs, null for
// lists. nullptr for all other fields. `field` may be nullptr.
const json::value* impliedValue(const SchemaField* field);

}  // namespace koord::api::walk
