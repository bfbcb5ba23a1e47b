#pragma once

// Opens what is below a folder whose content somebody else writes: no symbolic link, no ".." and no race with either
// leads out of it. The kernel resolves the path (openat2). Where there is no openat2 (Linux before 5.6, seccomp
// profiles of old container runtimes) the path is walked part by part, without following a link, to the same answers.
//
// Both return a descriptor that the caller closes, or -1 with errno: EXDEV where the path leads out or into something
// that is mounted, ELOOP, ENOENT and others as of open. Any thread; calls block.

namespace koord {

// The folder of that name, which has no slash, for reading. Neither a link nor something that is mounted there.
int openFolderIn(int folder, const char* name);

// What is there (O_PATH), "" being the folder itself. Links that stay inside are followed, the last one, too.
int openBeneath(int folder, const char* path);

}  // namespace koord
