#pragma once

// "koordctl completion SHELL" prints a script for the shell. The script calls "koordctl __complete
// WORDS..." with the words of the line up to the cursor, which prints what may stand in place of
// the last one: a line "WORD<tab>SUMMARY" each, and at last ":" or ":files", which also offers
// names of files.

#include <string>
#include <vector>

#include "base/flags/command.h"

namespace koord::koordctl {

void addCompletionCommand(flags::Commands& commands);

// Answers "__complete".
int runComplete(flags::Commands& commands, const std::vector<std::string>& words);

}  // namespace koord::koordctl
