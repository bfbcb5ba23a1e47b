#include "koordctl/common/manifest_file.h"

#include <cstdio>

#include "base/file.h"

namespace koord::koordctl {

Result<std::string> readManifestFile(const std::string& file) {
  if (file != "-") return readFile(file);
  std::string text;
  std::string buffer(64 << 10, '\0');
  while (const auto got = std::fread(buffer.data(), 1, buffer.size(), stdin))
    text.append(buffer, 0, got);
  if (std::ferror(stdin)) return fail(ErrorCode::Io, "standard input cannot be read");
  return text;
}

}  // namespace koord::koordctl
