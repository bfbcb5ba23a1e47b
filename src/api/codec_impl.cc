#include "api/codec_impl.h"

#include <fmt/format.h>

#include <cmath>

#include "api/quantity_json.h"
#include "base/ascii.h"
#include "base/utf8.h"

namespace koord::api::codec {
namespace {

std::string_view view(const json::string& s) {
  return {s.data(), s.size()};
}

const Field* fieldNamed(std::span<const Field> fields, std::string_view key, Reading reading) {
  for (const Field& field : fields)
    if (field.name == key) return &field;
  if (reading != Reading::Go) return nullptr;
  for (const Field& field : fields)
    if (sameIgnoringCase(field.name, key)) return &field;
  return nullptr;
}

void addFields(const void* object, std::span<const Field> fields, json::object& out) {
  for (const Field& field : fields) field.write(object, out);
}

}  // namespace

bool Failure::in(std::string_view field) {
  if (!path.empty() && path.front() != '[') path.insert(0, ".");
  path.insert(0, field);
  return false;
}
bool Failure::atIndex(std::size_t i) {
  return in(fmt::format("[{}]", i));
}
bool Failure::atKey(std::string_view key) {
  return in(fmt::format("[{}]", key));
}

bool Context::fail(std::string message) {
  failure.message = std::move(message);
  return false;
}
bool Context::expected(std::string_view what, const json::value& got) {
  return fail(fmt::format("expected {}, got {}", what, shortened(toJson(got), 60)));
}

Error errorOf(Failure failure) {
  if (failure.path.empty()) return {ErrorCode::BadRequest, std::move(failure.message), {}};
  return {ErrorCode::BadRequest, failure.path + ": " + failure.message, {}};
}

bool readFields(Context& ctx, const json::value& in, void* object, std::span<const Field> fields) {
  const auto* members = in.if_object();
  if (!members) return ctx.expected("an object", in);
  for (const auto& entry : *members) {
    const std::string_view key{entry.key().data(), entry.key().size()};
    if (const Field* field = fieldNamed(fields, key, ctx.reading)) {
      if (!field->read(ctx, entry.value(), object)) return ctx.failure.in(field->name);
    } else if (ctx.reading == Reading::Strict && key != "apiVersion" && key != "kind") {
      ctx.fail("unknown field");
      return ctx.failure.in(key);
    }
  }
  return true;
}

json::value writeFields(const void* object, std::span<const Field> fields) {
  json::object out;
  addFields(object, fields, out);
  return out;
}

json::value writeObject(const ResourceType& type, const void* object,
                        std::span<const Field> fields) {
  json::object out;
  out.reserve(fields.size() + 2);
  out.emplace("apiVersion", apiVersionOf(type));
  out.emplace("kind", json::string_view(type.kind.data(), type.kind.size()));
  addFields(object, fields, out);
  return out;
}

void addField(std::string_view name, json::value value, bool keepEmpty, json::object& out) {
  if (!keepEmpty && value.is_object() && value.get_object().empty()) return;
  out.emplace(json::string_view(name.data(), name.size()), std::move(value));
}

bool readInteger(Context& ctx, const json::value& in, std::int64_t low, std::int64_t high,
                 std::int64_t& out) {
  if (in.is_int64()) {
    out = in.get_int64();
  } else if (in.is_uint64()) {
    return ctx.fail(fmt::format("{} is larger than {}", in.get_uint64(), high));
  } else if (in.is_double() && ctx.reading == Reading::Api && std::abs(in.get_double()) < 0x1p63 &&
             in.get_double() == std::trunc(in.get_double())) {
    out = static_cast<std::int64_t>(in.get_double());  // 1e3 and 5.0 are integers to the API
  } else {
    return ctx.expected("an integer", in);
  }
  if (out < low || out > high)
    return ctx.fail(fmt::format("{} is not between {} and {}", out, low, high));
  return true;
}

bool read(Context&, const json::value& in, json::value& out) {
  out = in;
  return true;
}

bool read(Context& ctx, const json::value& in, bool& out) {
  if (in.is_null()) return true;
  if (!in.is_bool()) return ctx.expected("true or false", in);
  out = in.get_bool();
  return true;
}

bool read(Context& ctx, const json::value& in, double& out) {
  if (in.is_null()) return true;
  const auto number = realNumber(in);
  if (!number) return ctx.expected("a number", in);
  out = *number;
  return true;
}

bool read(Context& ctx, const json::value& in, std::string& out) {
  if (in.is_null()) return true;
  if (!in.is_string()) return ctx.expected("a string", in);
  out = view(in.get_string());
  return true;
}

bool read(Context& ctx, const json::value& in, Text& out) {
  if (in.is_null()) return true;
  if (!in.is_string()) return ctx.expected("a string", in);
  out = view(in.get_string());
  return true;
}

bool read(Context& ctx, const json::value& in, Quantity& out) {
  if (in.is_null()) return true;
  if (!in.is_string() && !in.is_number()) return ctx.expected("a quantity such as 500m or 2Gi", in);
  auto quantity = readQuantity(in);
  if (!quantity) return ctx.fail(std::move(quantity.error().message));
  out = *std::move(quantity);
  return true;
}

bool read(Context& ctx, const json::value& in, WallTime& out) {
  if (in.is_null()) return true;
  if (!in.is_string()) return ctx.expected("a time such as 2026-01-02T03:04:05Z", in);
  auto time = parseTime(view(in.get_string()));
  if (!time) return ctx.fail(std::move(time.error().message));
  out = *time;
  return true;
}

bool read(Context& ctx, const json::value& in, MicroTime& out) {
  return read(ctx, in, out.time);
}

bool read(Context& ctx, const json::value& in, Duration& out) {
  if (in.is_null()) return true;
  if (!in.is_string()) return ctx.expected("a duration such as 1h30m", in);
  auto duration = parseDuration(view(in.get_string()));
  if (!duration) return ctx.fail(std::move(duration.error().message));
  out = *duration;
  return true;
}

bool read(Context& ctx, const json::value& in, IntOrString& out) {
  if (in.is_null()) return true;
  if (in.is_string()) {
    out = IntOrString{0, std::string(view(in.get_string())), true};
    return true;
  }
  std::int64_t value = 0;
  if (!readInteger(ctx, in, std::numeric_limits<std::int32_t>::min(),
                   std::numeric_limits<std::int32_t>::max(), value))
    return false;
  out = IntOrString{static_cast<std::int32_t>(value), {}, false};
  return true;
}

json::value write(const json::value& in) {
  return in;
}
json::value write(const std::string& in) {
  return json::value(json::string_view(in));
}
json::value write(const Text& in) {
  return json::value(json::string_view(in.view()));
}
json::value write(const Quantity& in) {
  return write(in.toString());
}
json::value write(const WallTime& in) {
  return write(formatTime(in));
}
json::value write(const MicroTime& in) {
  return write(formatMicroTime(in.time));
}
json::value write(const Duration& in) {
  return write(formatDuration(in));
}
json::value write(const IntOrString& in) {
  return in.isText ? write(in.text) : json::value(in.number);
}

}  // namespace koord::api::codec

KOORD_COMMON_MEMBERS(KOORD_MEMBER)
