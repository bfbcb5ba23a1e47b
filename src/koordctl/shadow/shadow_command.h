#pragma once

// "koordctl shadow": the report of a koord-scheduler with --shadow-of, from its secure port or from
// a file.

#include <string>

#include "base/flags/command.h"

namespace koord::koordctl {

struct ShadowCommandOptions {
  std::string scheduler = "https://127.0.0.1:10259";
  std::string authority;  // file with the certificate that the address is verified by
  std::string file;       // a saved report instead; "-" = standard input
  std::string kubeconfig;
  std::string output;  // "" = text, "json"
  std::size_t differences = 10;
};

// `options` must outlive the commands.
void addShadowCommand(flags::Commands& commands, ShadowCommandOptions& options);

}  // namespace koord::koordctl
