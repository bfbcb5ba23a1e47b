#include "cel/library/kubernetes_url.h"

#include <map>

#include "cel/library/url.h"
#include "cel/syntax/macro.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

class UrlOpaque final : public Opaque {
 public:
  UrlOpaque(Url parsed, std::string written) : url(std::move(parsed)), text(std::move(written)) {}
  const Type& type() const override { return urlType(); }
  bool equals(const Opaque& other) const override {
    return text == static_cast<const UrlOpaque&>(other).text;
  }
  std::string toString() const override { return text; }
  const Url url;
  const std::string text;
};

const Url& urlOf(const Value& value) {
  return static_cast<const UrlOpaque&>(value.asOpaque()).url;
}

Value toUrl(Arguments x) {
  auto url = Url::parseRequestUri(x[0].text());
  if (!url) return Value::error(url.error().message);
  return Value::adopt(
      static_cast<const Opaque*>(new UrlOpaque(*std::move(url), std::string(x[0].text()))));
}

Value queryOf(Arguments x) {
  std::map<std::string, std::vector<Value>> values;
  for (auto& [name, value] : urlOf(x[0]).parameters())
    values[name].push_back(Value::string(std::move(value)));
  auto map = std::make_unique<EntryMap>();
  for (auto& [name, list] : values) map->insert(Value::string(name), Value::list(std::move(list)));
  return Value::adopt(static_cast<const Map*>(map.release()));
}

}  // namespace

const Type& urlType() {
  static const Type kType = Type::opaque("kubernetes.URL");
  return kType;
}

const Library& urlLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "kubernetes.urls";
    const Type u = urlType(), s = Type::string();
    library.addType(u.name(), u);
    library.add("url", {globalOverload("string_to_url", {s}, u, toUrl)});
    library.add("isURL", {globalOverload("is_url_string", {s}, Type::boolean(), [](Arguments x) {
                  return Value::boolean(Url::parseRequestUri(x[0].text()).has_value());
                })});
    library.add("getScheme", {memberOverload("url_get_scheme", {u}, s, [](Arguments x) {
                  return Value::string(urlOf(x[0]).scheme);
                })});
    library.add("getHost", {memberOverload("url_get_host", {u}, s, [](Arguments x) {
                  return Value::string(urlOf(x[0]).host);
                })});
    library.add("getHostname", {memberOverload("url_get_hostname", {u}, s, [](Arguments x) {
                  return Value::string(urlOf(x[0]).hostname());
                })});
    library.add("getPort", {memberOverload("url_get_port", {u}, s, [](Arguments x) {
                  return Value::string(urlOf(x[0]).port());
                })});
    library.add("getEscapedPath", {memberOverload("url_get_escaped_path", {u}, s, [](Arguments x) {
                  return Value::string(urlOf(x[0]).escapedPath());
                })});
    library.add("getQuery",
                {memberOverload("url_get_query", {u}, Type::map(s, Type::list(s)), queryOf)});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
