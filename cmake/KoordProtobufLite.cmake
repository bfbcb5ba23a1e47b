#   koord_protobuf_lite(api_runtime hook.proto cri.proto)
#
# makes the static library koord_api_runtime of what protoc generates from the files, without
# reflection and without gRPC's library. The files say option optimize_for = LITE_RUNTIME.
find_package(Protobuf REQUIRED)

function(koord_protobuf_lite name)
  set(out ${CMAKE_CURRENT_BINARY_DIR})
  set(generated)
  set(files)
  foreach(file ${ARGN})
    cmake_path(GET file STEM stem)
    list(APPEND generated ${out}/${stem}.pb.cc)
    list(APPEND files ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  add_custom_command(
    OUTPUT ${generated}
    COMMAND protobuf::protoc --proto_path=${CMAKE_CURRENT_SOURCE_DIR} --cpp_out=${out} ${files}
    DEPENDS ${files}
    VERBATIM)
  add_library(koord_${name} STATIC ${generated})
  target_include_directories(koord_${name} PUBLIC ${out})
  target_link_libraries(koord_${name} PUBLIC protobuf::libprotobuf-lite)
endfunction()
