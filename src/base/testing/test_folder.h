#pragma once

// The temporary folders of a test program. They are made before main(), named koord-test-XXXXXX,
// in the folder for temporary files and in memory (/dev/shm). TMPDIR is the first of them then, so
// that testing::TempDir() and std::filesystem::temp_directory_path() are in it. Both are removed at
// the end. The next program removes the folders of a program that was killed: those whose lock no
// process holds. koord_tests (cmake/KoordModule.cmake) links test_folder.cc to each program.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace koord {

inline constexpr const char* kTestMemoryVariable = "KOORD_TEST_MEMORY";

// A folder in memory for tests that write thousands of small files; the one for temporary files if
// there is none. Programs that do not link test_folder.cc, as benchmarks, get /dev/shm itself.
inline std::string testMemoryFolder() {
  if (const char* const folder = std::getenv(kTestMemoryVariable)) return folder;
  constexpr const char* kMemory = "/dev/shm";
  return ::access(kMemory, W_OK) == 0 ? kMemory : std::filesystem::temp_directory_path().string();
}

}  // namespace koord
