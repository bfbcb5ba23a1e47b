#pragma once

// Reading and writing the small text files of /proc, /sys and cgroups: whole files, one read or
// write call each, because the kernel renders or applies them per call.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::koordlet {

// The whole content, without the newline at its end. NotFound also when the kernel says that the
// cgroup behind the file was removed while it was read (ENODEV).
Result<std::string> readSmallFile(const std::string& path);
// The same into a buffer that keeps its memory between calls; for files that are read every second.
Result<> readSmallFile(const std::string& path, std::string& content);
// The same in half the system calls for files that the kernel renders as a whole, those of cgroups and of resctrl, or
// that are regular: there a read that does not fill its buffer has seen the end.
Result<> readValueFile(const std::string& path, std::string& content);
// Replaces the content of a file that exists. What the kernel refuses is an error that says the
// value.
Result<> writeSmallFile(const std::string& path, std::string_view text);

// The same for files to which each write adds, such as lists of tasks; nothing is truncated. NotFound
// also when the task named is gone (ESRCH).
Result<> appendSmallFile(const std::string& path, std::string_view text);

// Puts a file with that text in the place of the old one, in one step: readers and the next start see
// either of both. It is not forced to the disk, which may take seconds while jobs write, so after a
// power failure the file may be damaged.
Result<> replaceFile(const std::string& path, std::string_view text);

bool pathExists(const std::string& path);
// Calls fn(name) for each directory in a directory, in no order; nothing when it cannot be read. It takes no memory, so
// it may be called for many directories each second; fn must not list directories itself.
void forEachDir(const std::string& path, const std::function<void(std::string_view name)>& fn);
// Names of the directories in a directory, sorted; empty when it cannot be read.
std::vector<std::string> listDirs(const std::string& path);

// A decimal integer that fills the whole text, spaces around it allowed.
Result<std::int64_t> parseInt(std::string_view text);
std::string_view trim(std::string_view text);
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
// Takes the next word (up to a blank) off the front; "" at the end.
std::string_view takeWord(std::string_view& text);

}  // namespace koord::koordlet
