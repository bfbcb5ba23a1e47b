#include "net/rpc/reflection/reflection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "descriptors.pb.h"
#include "net/rpc/stream_testing.h"
#include "reflection.pb.h"

namespace koord::net {

extern const std::string_view kReflectionDescriptors;

namespace {

using testing::ElementsAre;
namespace messages = grpc::reflection::v1;

// Queries a server over its socket. The service that it reports is reflection itself.
class ReflectionTest : public testing::Test {
 protected:
  ReflectionTest() {
    auto server = GrpcServer::start(
        loop_, path_,
        [](GrpcRequest, GrpcAnswer answer) {
          answer(std::unexpected(GrpcStatus{GrpcCode::Unimplemented, "not here"}));
        },
        reflection(kReflectionDescriptors));
    EXPECT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    client_.emplace(loop_, path_, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
  }

  messages::ServerReflectionResponse ask(const messages::ServerReflectionRequest& request) {
    client_->say(request.SerializeAsString());
    messages::ServerReflectionResponse response;
    EXPECT_TRUE(response.ParseFromString(client_->received(++asked_).back()));
    return response;
  }
  messages::ServerReflectionResponse about(const std::string& symbol) {
    messages::ServerReflectionRequest request;
    request.set_file_containing_symbol(symbol);
    return ask(request);
  }
  static std::string fileOf(const messages::ServerReflectionResponse& response) {
    descriptor::File file;
    for (const auto& bytes : response.file_descriptor_response().file_descriptor_proto())
      EXPECT_TRUE(file.ParseFromString(bytes));
    return file.name();
  }

  IoLoop loop_;
  std::string path_ = testing::TempDir() + "reflection.sock";
  std::unique_ptr<GrpcServer> server_;
  std::optional<StreamClient> client_;
  std::size_t asked_ = 0;
};

TEST_F(ReflectionTest, TheServicesAreListed) {
  messages::ServerReflectionRequest request;
  request.set_host("here");
  request.set_list_services("*");
  const auto response = ask(request);
  std::set<std::string> names;
  for (const auto& service : response.list_services_response().service())
    names.insert(service.name());
  EXPECT_THAT(names, ElementsAre("grpc.reflection.v1.ServerReflection",
                                 "grpc.reflection.v1alpha.ServerReflection"));
  EXPECT_EQ(response.valid_host(), "here");
  EXPECT_EQ(response.original_request().list_services(), "*");
}

TEST_F(ReflectionTest, FilesAreFoundByTheirNameAndByWhatIsInThem) {
  messages::ServerReflectionRequest request;
  request.set_file_by_filename("reflection_v1alpha.proto");
  EXPECT_EQ(fileOf(ask(request)), "reflection_v1alpha.proto");
  for (const char* symbol :
       {"grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1.ServerReflection.ServerReflectionInfo",
        "grpc.reflection.v1.ErrorResponse", "grpc.reflection.v1.ErrorResponse.error_code",
        "grpc.reflection.v1.ServerReflectionRequest.message_request"})
    EXPECT_EQ(fileOf(about(symbol)), "reflection.proto") << symbol;
  EXPECT_EQ(fileOf(about("grpc.reflection.v1alpha.ErrorResponse")), "reflection_v1alpha.proto");
}

TEST_F(ReflectionTest, WhatIsNotThereIsAnErrorAndTheStreamGoesOn) {
  for (const char* symbol : {"", "grpc", "grpc.reflection.v1", "grpc.reflection.v1.",
                             "grpc.reflection.v1.Nothing", "grpc.reflection.v1.ErrorResponse.code",
                             "grpc.reflection.v1.ServerReflection.Info", "ErrorResponse"}) {
    const auto response = about(symbol);
    EXPECT_EQ(response.error_response().error_code(), 5) << symbol;
    EXPECT_THAT(response.error_response().error_message(), testing::HasSubstr(symbol));
  }
  messages::ServerReflectionRequest request;
  request.set_file_by_filename("nothing.proto");
  EXPECT_EQ(ask(request).error_response().error_code(), 5);
  request.mutable_file_containing_extension()->set_containing_type("a.B");
  EXPECT_EQ(ask(request).error_response().error_code(), 5);
  request.set_all_extension_numbers_of_type("a.B");
  EXPECT_EQ(ask(request).error_response().error_code(), 5);
  request.set_all_extension_numbers_of_type("grpc.reflection.v1.ErrorResponse");
  const auto extensions = ask(request).all_extension_numbers_response();
  EXPECT_EQ(extensions.base_type_name(), "grpc.reflection.v1.ErrorResponse");
  EXPECT_EQ(extensions.extension_number_size(), 0);
  client_->end();
  EXPECT_TRUE(client_->status().ok());
}

TEST_F(ReflectionTest, AQuestionThatIsNoneEndsTheStream) {
  client_->say("");
  EXPECT_EQ(client_->status().code, GrpcCode::InvalidArgument);
  StreamClient other(loop_, path_,
                     "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
  other.say("\xff");
  EXPECT_EQ(other.status().code, GrpcCode::InvalidArgument);
}

}  // namespace
}  // namespace koord::net
