# Only where gRPC is spoken: cluster/containerd and cluster/hostnode/probes/grpc include this.
#
#   koord_protobuf(cri cri.proto)
#
# makes the static library koord_cri of what protoc and its gRPC plugin generate from the file.
find_package(Protobuf REQUIRED)
find_package(gRPC REQUIRED)
# What gRPC needs of re2 is found by pkg-config, whose -pthread would make the precompiled headers unusable.
if(TARGET re2::re2)
  set_property(TARGET re2::re2 PROPERTY INTERFACE_COMPILE_OPTIONS "")
endif()
find_program(KOORD_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)

function(koord_protobuf name file)
  cmake_path(GET file STEM stem)
  set(out ${CMAKE_CURRENT_BINARY_DIR})
  set(generated ${out}/${stem}.pb.cc ${out}/${stem}.grpc.pb.cc)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND protobuf::protoc --proto_path=${CMAKE_CURRENT_SOURCE_DIR} --cpp_out=${out}
      --grpc_out=${out} --plugin=protoc-gen-grpc=${KOORD_GRPC_PLUGIN} ${file}
    DEPENDS ${file}
    VERBATIM)
  add_library(koord_${name} STATIC ${generated})
  target_include_directories(koord_${name} PUBLIC ${out})
  target_link_libraries(koord_${name} PUBLIC gRPC::grpc++ protobuf::libprotobuf)
endfunction()
