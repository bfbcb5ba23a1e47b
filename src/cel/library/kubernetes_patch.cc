#include "cel/library/kubernetes_patch.h"

#include "cel/dynamic_object.h"
#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

const RecordType& recordType() {
  static const RecordType kType("JSONPatch", {{"op", Type::string()},
                                              {"from", Type::string()},
                                              {"path", Type::string()},
                                              {"value", Type::dyn()}});
  return kType;
}

Value escapeKey(Arguments x) {
  std::string escaped;
  for (const char c : x[0].text()) {
    if (c == '/') {
      escaped += "~1";
    } else if (c == '~') {
      escaped += "~0";
    } else {
      escaped += c;
    }
  }
  return Value::string(std::move(escaped));
}

}  // namespace

const Type& jsonPatchType() {
  static const Type kType = Type::object(recordType());
  return kType;
}

const Library& jsonPatchLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "kubernetes.jsonpatch";
    library.types.push_back(&recordType());
    library.add("jsonpatch.escapeKey",
                {globalOverload("string_jsonpatch_escapeKey_string", {Type::string()},
                                Type::string(), escapeKey)});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
