#include "cel/library/encoders.h"

#include "base/base64.h"
#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

Value decodePadded(Arguments arguments) {
  std::string text(arguments[0].text());
  if (text.find('=') == std::string::npos) text.append((4 - text.size() % 4) % 4, '=');
  auto content = base64Decode(text);
  if (!content) return Value::error("illegal base64 data");
  return Value::bytes(*std::move(content));
}

}  // namespace

const Library& encodersLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "encoders";
    library.add("base64.decode", {globalOverload("base64_decode_string", {Type::string()},
                                                 Type::bytes(), decodePadded)});
    library.add(
        "base64.encode",
        {globalOverload("base64_encode_bytes", {Type::bytes()}, Type::string(),
                        [](Arguments x) { return Value::string(base64Encode(x[0].text())); })});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
