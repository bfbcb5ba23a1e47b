#include "net/rpc/reflection/reflection.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "descriptors.pb.h"
#include "reflection.pb.h"

namespace koord::net {

// Embedded, from reflection.proto.
extern const std::string_view kReflectionDescriptors;
extern const std::string_view kOldReflectionDescriptors;

namespace {

namespace messages = grpc::reflection::v1;

// The text after the name and a dot: "" for the name itself, nullopt for other texts.
std::optional<std::string_view> below(std::string_view path, std::string_view name) {
  if (path == name) return "";
  if (path.starts_with(name) && path[name.size()] == '.') return path.substr(name.size() + 1);
  return std::nullopt;
}

bool anyNamed(const auto& list, std::string_view name) {
  return std::ranges::any_of(list, [&](const auto& one) { return one.name() == name; });
}

// In protobuf, the values of an enum are siblings of the enum.
bool declares(const descriptor::Enum& type, std::string_view path) {
  return path == type.name() || anyNamed(type.value(), path);
}

bool declares(const descriptor::Service& service, std::string_view path) {
  const auto rest = below(path, service.name());
  return rest && (rest->empty() || anyNamed(service.method(), *rest));
}

bool declares(const descriptor::Message& message, std::string_view path) {
  const auto rest = below(path, message.name());
  const auto inside = [&](const auto& one) { return declares(one, *rest); };
  return rest && (rest->empty() || anyNamed(message.field(), *rest) ||
                  anyNamed(message.oneof_decl(), *rest) ||
                  std::ranges::any_of(message.nested_type(), inside) ||
                  std::ranges::any_of(message.enum_type(), inside));
}

bool declares(const descriptor::File& file, std::string_view symbol) {
  const auto path = file.package().empty() ? std::optional(symbol) : below(symbol, file.package());
  const auto inside = [&](const auto& one) { return declares(one, *path); };
  return path && (std::ranges::any_of(file.service(), inside) ||
                  std::ranges::any_of(file.message_type(), inside) ||
                  std::ranges::any_of(file.enum_type(), inside));
}

// The union of several sets of files.
class Catalogue {
 public:
  explicit Catalogue(std::initializer_list<std::string_view> sets) {
    for (const auto set : sets) {
      descriptor::FileSet files;
      files.ParseFromArray(set.data(), static_cast<int>(set.size()));
      for (auto& bytes : *files.mutable_file()) {
        Known known;
        known.file.ParseFromString(bytes);
        known.bytes = std::move(bytes);
        files_.push_back(std::move(known));
      }
    }
  }

  void listServices(messages::ListServiceResponse& list) const {
    for (const auto& known : files_)
      for (const auto& service : known.file.service())
        list.add_service()->set_name(known.file.package() + "." + service.name());
  }
  const descriptor::File* named(std::string_view name) const {
    return first([&](const auto& file) { return file.name() == name; });
  }
  const descriptor::File* with(std::string_view symbol) const {
    return first([&](const auto& file) { return declares(file, symbol); });
  }
  // The file and its imports.
  void put(const descriptor::File& file, messages::FileDescriptorResponse& response) const {
    std::vector<std::string> wanted{file.name()};
    for (std::size_t i = 0; i < wanted.size(); ++i)
      for (const auto& known : files_) {
        if (known.file.name() != wanted[i]) continue;
        response.add_file_descriptor_proto(known.bytes);
        for (const auto& import : known.file.dependency())
          if (std::ranges::find(wanted, import) == wanted.end()) wanted.push_back(import);
        break;
      }
  }

 private:
  struct Known {
    descriptor::File file;
    std::string bytes;
  };
  const descriptor::File* first(const auto& matches) const {
    for (const auto& known : files_)
      if (matches(known.file)) return &known.file;
    return nullptr;
  }
  std::vector<Known> files_;
};

GrpcReply answer(const Catalogue& catalogue, const std::string& question) {
  using Request = messages::ServerReflectionRequest;
  Request request;
  if (!request.ParseFromString(question))
    return std::unexpected(GrpcStatus{GrpcCode::InvalidArgument, "no ServerReflectionRequest"});
  messages::ServerReflectionResponse response;
  response.set_valid_host(request.host());
  const auto refuse = [&](std::string message) {
    response.mutable_error_response()->set_error_code(static_cast<int>(GrpcCode::NotFound));
    response.mutable_error_response()->set_error_message(std::move(message));
  };
  const auto tell = [&](const descriptor::File* file, const std::string& name) {
    if (!file) return refuse("not found: " + name);
    catalogue.put(*file, *response.mutable_file_descriptor_response());
  };
  switch (request.message_request_case()) {
    case Request::kFileByFilename:
      tell(catalogue.named(request.file_by_filename()), request.file_by_filename());
      break;
    case Request::kFileContainingSymbol:
      tell(catalogue.with(request.file_containing_symbol()), request.file_containing_symbol());
      break;
    case Request::kFileContainingExtension:  // messages of proto3 have none
      refuse(fmt::format("not found: extension {} of {}",
                         request.file_containing_extension().extension_number(),
                         request.file_containing_extension().containing_type()));
      break;
    case Request::kAllExtensionNumbersOfType:
      if (const auto& type = request.all_extension_numbers_of_type(); catalogue.with(type))
        response.mutable_all_extension_numbers_response()->set_base_type_name(type);
      else
        refuse("not found: " + type);
      break;
    case Request::kListServices:
      catalogue.listServices(*response.mutable_list_services_response());
      break;
    case Request::MESSAGE_REQUEST_NOT_SET:
      return std::unexpected(
          GrpcStatus{GrpcCode::InvalidArgument, "a ServerReflectionRequest without a request"});
  }
  *response.mutable_original_request() = std::move(request);
  return response.SerializeAsString();
}

}  // namespace

GrpcServer::StreamHandlers reflection(std::string_view descriptors) {
  const auto handleStream = [descriptors](const std::string& question) {
    return answer(Catalogue{descriptors, kReflectionDescriptors, kOldReflectionDescriptors},
                  question);
  };
  return {{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", handleStream},
          {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", handleStream}};
}

}  // namespace koord::net
