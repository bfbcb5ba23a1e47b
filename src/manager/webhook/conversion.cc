#include "manager/webhook/conversion.h"

#include <fmt/format.h>

#include "base/json.h"

namespace koord::manager {

namespace {

std::string why(const json::value& object, std::string_view desired) {
  const std::string_view kind = textAt(object, "kind");
  const std::string_view version = textAt(object, "apiVersion");
  if (version == desired)
    return fmt::format("{} {} already has that version", kind, textAt(object, "metadata", "name"));
  return fmt::format("cannot convert {} from {} to {}: it has only one version", kind, version,
                     desired);
}

json::string jsonText(std::string_view value) {
  return json::string(value.data(), value.size());
}

}  // namespace

Result<std::string> convert(std::string_view review) {
  const auto asked = parseJson(review);
  if (!asked) return fail(Error(asked.error()).within("ConversionReview"));
  const json::value* request = find(*asked, "request");
  if (!request || !request->is_object())
    return fail(ErrorCode::BadRequest, "ConversionReview: request: is missing");
  const json::value* objects = find(*request, "objects");
  json::object result{{"status", "Success"}};
  if (objects && objects->is_array() && !objects->get_array().empty())
    result = {{"status", "Failure"},
              {"message", why(objects->get_array()[0], textAt(*request, "desiredAPIVersion"))}};
  std::string_view apiVersion = textAt(*asked, "apiVersion");
  if (apiVersion.empty()) apiVersion = "apiextensions.k8s.io/v1";
  return toJson(json::object{{"apiVersion", jsonText(apiVersion)},
                             {"kind", "ConversionReview"},
                             {"response",
                              {{"uid", jsonText(textAt(*request, "uid"))},
                               {"convertedObjects", json::array()},
                               {"result", std::move(result)}}}});
}

}  // namespace koord::manager
