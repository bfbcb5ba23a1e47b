# One target per folder. A folder's CMakeLists.txt is usually one line:
#
#   koord_library(kube DEPS koord_api PkgConfig::thing)
#
# which makes the static library koord_kube from the folder's *.cc files and, when there are any
# *_test.cc files, the test program koord_kube_tests. DEPS are what the headers need too;
# PRIVATE_DEPS are used by the .cc files only; TEST_DEPS by the tests only. FOLDERS are subfolders
# whose files belong to the same target, because they and this folder call each other.
#
# A component of many small folders has one test program: it sets KOORD_TESTS to its name before it adds
# them, and calls koord_tests(name) after.

# The set of precompiled headers of the folder (cmake/precompiled), with TESTS that of tests.
function(koord_precompile target)
  cmake_parse_arguments(ARG "TESTS" "" "" ${ARGN})
  if(KOORD_PCH AND ARG_TESTS)
    target_precompile_headers(${target} REUSE_FROM koord_precompiled_tests)
  elseif(KOORD_PCH)
    target_precompile_headers(${target} REUSE_FROM koord_precompiled_${KOORD_PRECOMPILED})
  endif()
endfunction()

# Programs are busy with small objects of many sizes, which glibc's allocator is slow at. Sanitizers and
# valgrind bring their own.
function(koord_allocate target)
  if(NOT KOORD_SANITIZE AND NOT KOORD_FUZZ)
    target_link_libraries(${target} PRIVATE ${KOORD_JEMALLOC})
  endif()
endfunction()

# For code whose own speed does not matter: what it calls is optimised in its library. Coroutines that resume each
# other must not pile up on the stack, which takes sibling calls. At -Og GCC sees less far, and takes for unset what is set.
set(KOORD_FAST_COMPILE "$<$<CONFIG:Release>:-Og;-foptimize-sibling-calls;-Wno-maybe-uninitialized>")
function(koord_compile_fast target)
  target_compile_options(${target} PRIVATE "${KOORD_FAST_COMPILE}")
endfunction()

# A library of such a folder that works for each pod of a cluster.
function(koord_compile_optimised target)
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-O2>")
endfunction()

# Tests, of which each runs once, are a third of what a build compiles: not optimised at all.
function(koord_compile_test target)
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-O0>")
endfunction()

# For programs that wait for the API server more than they compute: a quarter less to compile. Sibling calls as above.
set(KOORD_LIGHT_COMPILE "$<$<CONFIG:Release>:-O1;-foptimize-sibling-calls>")

# Several files are compiled as one, since they include the same headers and instantiate the same
# templates: names in unnamed namespaces must therefore differ within a folder, and within a component's
# tests. Codecs are not compiled with other files, which would instantiate the codec of a type that is described
# elsewhere. CMake's own UNITY_BUILD would write paths of this clone into its files, which clones that share a
# compiler cache could not reuse.
set(KOORD_BATCH_SIZE 12)
function(koord_batches out target)
  if(NOT KOORD_UNITY)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(codecs ${ARGN})
  set(others ${ARGN})
  list(FILTER codecs INCLUDE REGEX "codec[^/]*\\.cc$")
  list(FILTER others EXCLUDE REGEX "codec[^/]*\\.cc$")
  koord_batches_of(codecs ${target}_codecs ${codecs})
  koord_batches_of(others ${target} ${others})
  set(${out} ${codecs} ${others} PARENT_SCOPE)
endfunction()

function(koord_batches_of out prefix)
  list(LENGTH ARGN count)
  set(batches)
  math(EXPR number "(${count} + ${KOORD_BATCH_SIZE} - 1) / ${KOORD_BATCH_SIZE}")
  set(index 0)
  while(index LESS number)
    math(EXPR start "${count} * ${index} / ${number}")
    math(EXPR end "${count} * (${index} + 1) / ${number}")
    math(EXPR length "${end} - ${start}")
    list(SUBLIST ARGN ${start} ${length} batch)
    list(TRANSFORM batch REPLACE "^${CMAKE_SOURCE_DIR}/(src/)?(.*)$" "#include \"\\2\"\n")
    list(JOIN batch "" text)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${prefix}_${index}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND batches ${file})
    math(EXPR index "${index} + 1")
  endwhile()
  set(${out} ${batches} PARENT_SCOPE)
endfunction()

function(koord_library name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;DEPS;PRIVATE_DEPS;TEST_DEPS" ${ARGN})
  list(TRANSFORM ARG_FOLDERS APPEND "/*.cc" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS *.cc ${patterns})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  set(target koord_${name})
  if(sources)
    koord_batches(sources ${target} ${sources})
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
    koord_precompile(${target})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${target} INTERFACE ${ARG_DEPS} ${ARG_PRIVATE_DEPS})
  endif()

  if(tests)
    set(program ${name})
    if(KOORD_TESTS)
      set(program ${KOORD_TESTS})
    endif()
    set_property(GLOBAL APPEND PROPERTY KOORD_TESTS_OF_${program} ${tests})
    set_property(GLOBAL APPEND PROPERTY KOORD_TESTED_BY_${program} ${target} ${ARG_PRIVATE_DEPS} ${ARG_TEST_DEPS})
    if(NOT KOORD_TESTS)
      koord_tests(${name})
    endif()
  endif()
endfunction()

# The test program of all folders that were added while KOORD_TESTS was NAME.
function(koord_tests name)
  get_property(tests GLOBAL PROPERTY KOORD_TESTS_OF_${name})
  get_property(tested GLOBAL PROPERTY KOORD_TESTED_BY_${name})
  list(REMOVE_DUPLICATES tested)
  set(target koord_${name}_tests)
  koord_batches(tests ${target} ${tests})
  add_executable(${target} ${tests})
  target_link_libraries(${target} PRIVATE ${tested} koord_test_folder GTest::gmock GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE KOORD_DEPLOY="${CMAKE_SOURCE_DIR}/deploy")
  koord_precompile(${target} TESTS)
  koord_compile_test(${target})
  add_test(NAME ${name} COMMAND ${target} --gtest_brief=1)
endfunction()

# koord_program(koordlet DEPS koord_koordlet): cmd/<name>/main.cc
function(koord_program name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} koord_base_version)
  koord_precompile(${name})
  koord_compile_fast(${name})  # flags and wiring only
  koord_allocate(${name})
  set_property(GLOBAL APPEND PROPERTY KOORD_PROGRAMS ${name})
endfunction()

# koord_benchmark(scheduler DEPS koord_scheduler): bench/<name>.cc -> bench_<name>, built by the target benches
# and not by all, as no test runs them.
function(koord_benchmark name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  if(NOT TARGET benches)
    add_custom_target(benches)
  endif()
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${name}.cc)
  add_dependencies(benches bench_${name})
  target_link_libraries(bench_${name} PRIVATE koord_bench ${ARG_DEPS})
  koord_precompile(bench_${name})
  koord_allocate(bench_${name})
endfunction()
