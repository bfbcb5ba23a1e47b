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

#   koord_descriptors(koord_net_reflection koord::net::kDescriptors reflection.proto [AS FILE] [REPLACE FROM TO...])
#
# embeds into the target what the file describes, a serialized FileDescriptorSet, as net/rpc/reflection tells it. AS and
# REPLACE are for a file that has another name on the wire than in C++, or other words.
function(koord_descriptors target name file)
  cmake_parse_arguments(ARG "" "AS" "REPLACE" ${ARGN})
  if(NOT ARG_AS)
    set(ARG_AS ${file})
  endif()
  file(READ ${file} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  while(ARG_REPLACE)
    list(POP_FRONT ARG_REPLACE from to)
    string(REPLACE "${from}" "${to}" text "${text}")
  endwhile()
  string(REGEX REPLACE ".*::" "" stem ${name})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${stem})
  file(CONFIGURE OUTPUT ${out}/${ARG_AS} CONTENT "${text}" @ONLY)
  set(embed ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
  add_custom_command(
    OUTPUT ${out}.cc
    COMMAND protobuf::protoc --proto_path=${out} --descriptor_set_out=${out}.bin --include_imports ${ARG_AS}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${out}.bin -DOUTPUT=${out}.cc -DNAME=${name} -P ${embed}
    DEPENDS ${out}/${ARG_AS} ${embed}
    VERBATIM)
  target_sources(${target} PRIVATE ${out}.cc)
endfunction()
