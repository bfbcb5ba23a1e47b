#include "api/protobuf/envelope.h"

#include "api/protobuf/small.h"

namespace koord::api {
namespace {

constexpr std::string_view kMagic{"k8s\0", 4};

}  // namespace

bool isProtobufBody(std::string_view body) {
  return body.starts_with(kMagic);
}

Result<Envelope> openEnvelope(std::string_view body) {
  if (!isProtobufBody(body))
    return fail(ErrorCode::BadRequest,
                "the body is not a Kubernetes protobuf message: it does not begin with \"k8s\"");
  Envelope out;
  wire::Reader reader(body.substr(kMagic.size()));
  wire::Field field;
  while (reader.next(field)) {
    if (field.number == 1) {
      const auto meta = wire::Small::read(field);
      if (!meta) return fail(meta.error());
      out.apiVersion = meta->fields[1].bytes;
      out.kind = meta->fields[2].bytes;
    } else if (field.number == 2) {
      out.message = field.bytes;
    }
  }
  if (reader.broken()) return fail(reader.error());
  // Else an answer that was cut off here would be an empty object.
  if (!out.message.data())
    return fail(ErrorCode::BadRequest, "the envelope of the protobuf message is empty");
  return out;
}

std::string sealEnvelope(std::string_view apiVersion, std::string_view kind,
                         std::string_view message) {
  std::string meta;
  wire::putBytes(meta, 1, apiVersion);
  wire::putBytes(meta, 2, kind);
  std::string out(kMagic);
  wire::putBytes(out, 1, meta);
  wire::putBytes(out, 2, message);
  wire::putBytes(out, 3, "");
  wire::putBytes(out, 4, "");
  return out;
}

Result<WatchEvent> openWatchEvent(std::string_view event) {
  WatchEvent out;
  wire::Reader reader(event);
  wire::Field field;
  while (reader.next(field)) {
    if (field.number == 1) out.type = field.bytes;
    if (field.number != 2) continue;
    const auto raw = wire::Small::read(field);
    if (!raw) return fail(raw.error());
    out.object = raw->fields[1].bytes;
  }
  if (reader.broken()) return fail(reader.error());
  return out;
}

std::string watchFrame(std::string_view type, std::string_view object) {
  std::string raw;
  wire::putBytes(raw, 1, object);
  std::string event;
  wire::putBytes(event, 1, type);
  wire::putBytes(event, 2, raw);
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(event.size() >> shift);
  return out + event;
}

std::size_t eventLength(std::string_view head) {
  std::size_t length = 0;
  for (const char byte : head.substr(0, kFrameHead))
    length = length << 8 | static_cast<unsigned char>(byte);
  return length;
}

}  // namespace koord::api
