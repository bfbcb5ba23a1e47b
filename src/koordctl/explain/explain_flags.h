#pragma once

// The commands "koordctl explain ..." and their flags.

#include "base/flags/command.h"
#include "koordctl/explain/explain_command.h"

namespace koord::koordctl {

struct ExplainFlags {
  ExplainOptions options;
  bool json = false;
  std::string output;
};

// `flags` must outlive the commands.
void addExplainCommands(flags::Commands& commands, ExplainFlags& flags);

}  // namespace koord::koordctl
