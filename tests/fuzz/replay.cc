// Runs every input of the corpora once: koord_fuzz CORPUS-FOLDER

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
    return 2;
  }
  int failures = 0, all = 0;
  for (const auto& target : koord::fuzz::targets()) {
    const auto folder = std::filesystem::path(argv[1]) / target.name;
    int inputs = 0;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
      std::ifstream file(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << file.rdbuf();
      std::fprintf(stderr, "\r\033[K%s",
                   entry.path().c_str());  // stays on the screen after a crash
      target.run(std::move(text).str());
      ++inputs;
    }
    all += inputs;
    if (inputs > 0) continue;
    std::fprintf(stderr, "%s: no inputs\n", folder.c_str());
    ++failures;
  }
  std::fprintf(stderr, "\r\033[K%d inputs, nothing broken\n", all);
  return failures > 0 ? 1 : 0;
}
