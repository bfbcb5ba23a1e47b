#pragma once

// Reading and writing the small text files of /proc, /sys and cgroups: whole files, one read or
// write call each, because the kernel renders or applies them per call.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::koordlet {

// Returns the whole content without the newline at its end. NotFound also if the cgroup of the file
// was removed during the read (ENODEV).
Result<std::string> readSmallFile(const std::string& path);
// The same into a buffer that keeps its memory between calls; for files that are read every second.
Result<> readSmallFile(const std::string& path, std::string& content);
// The same in half the system calls, for regular files and files that the kernel renders as a whole
// (cgroups, resctrl): there a read that does not fill its buffer has reached the end.
Result<> readValueFile(const std::string& path, std::string& content);
// Replaces the content of an existing file. If the kernel refuses the value, the error names it.
Result<> writeSmallFile(const std::string& path, std::string_view text);

// The same for files to which each write adds, such as lists of tasks; does not truncate. NotFound
// also if the task in `text` has ended (ESRCH).
Result<> appendSmallFile(const std::string& path, std::string_view text);

// Atomically replaces a file: readers and the next start see either the old or the new text. Does
// not call fsync, which may take seconds while jobs write, so a power failure may damage the file.
Result<> replaceFile(const std::string& path, std::string_view text);

bool pathExists(const std::string& path);
// Calls fn(name) for each directory in a directory, in no order; not at all if it cannot be read.
// Allocates no memory, so it may be called for many directories each second; fn must not list
// directories itself.
void forEachDir(const std::string& path, const std::function<void(std::string_view name)>& fn);
// Names of the directories in a directory, sorted; empty if it cannot be read.
std::vector<std::string> listDirs(const std::string& path);

// A decimal integer that fills the whole text, spaces around it allowed.
Result<std::int64_t> parseInt(std::string_view text);
// Calls fn(line) for each line.
template <class Fn>
void forEachLine(std::string_view text, Fn fn) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    fn(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}
// Removes the next word (up to a blank) from the front and returns it; "" at the end.
std::string_view takeWord(std::string_view& text);

}  // namespace koord::koordlet
