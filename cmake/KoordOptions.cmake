# Language level, warnings, sanitizers, compiler cache and linker: one place for every target.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Most of the time to compile a file goes into the same few headers.
option(KOORD_PCH "Precompile the headers that nearly every file includes" OFF)
option(KOORD_UNITY "Compile several files of a folder as one" OFF)
set(KOORD_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined or thread")

add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -fno-plt)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC collects garbage once it holds 128 MB and then again and again, a fifth of its time. None of its processes
  # needs more than 1.6 GB without ever collecting.
  add_compile_options(--param=ggc-min-expand=100 --param=ggc-min-heapsize=2000000)
  # What GCC 12 says of copies of strings and small vectors that cannot be.
  add_compile_options(-Wno-array-bounds -Wno-stringop-overread)
endif()
if(KOORD_UNITY)
  # Frames of coroutines hold values of types in unnamed namespaces; the warning is meant for headers.
  add_compile_options(-Wno-subobject-linkage)
endif()
# Debug information is kept small: it is what makes object files and links slow.
string(REPLACE "-g" "-g1" CMAKE_CXX_FLAGS_DEBUG "${CMAKE_CXX_FLAGS_DEBUG}")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

if(KOORD_SANITIZE)
  add_compile_options(-fsanitize=${KOORD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${KOORD_SANITIZE})
  # A sanitizer does not see an index past size(), an empty optional or back() of nothing.
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

# Fuzzers need coverage in all of the code that they reach, so this is for every target, too.
option(KOORD_FUZZ "Build tests/fuzz with libFuzzer (clang only)" OFF)
if(KOORD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

find_program(KOORD_CCACHE ccache)
if(KOORD_CCACHE)
  # Paths below the source folder are hashed relative to it, so clones share one cache. It goes by the headers that the
  # compiler says it read, and does not preprocess a file to find out. A precompiled header of 100 to 300 MB counts by
  # its checksum (cmake/precompiled), which saves reading it for each file.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${KOORD_CCACHE})
  if(KOORD_PCH)
    add_compile_options(-fpch-preprocess)
  endif()
endif()

find_program(KOORD_MOLD mold)
if(KOORD_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
add_link_options(-Wl,--as-needed)
