#include "koordctl/completion/shell_scripts.h"

namespace koord::koordctl {

namespace {

// Bash splits words at "=" and ":" too; they are joined again, and what stands before the last of
// them is cut from the answers, since bash replaces only what follows it.
constexpr const char* kBash = R"sh(# bash completion of koordctl
_koordctl() {
  local words=() word line i cur cut
  local before="${COMP_LINE:0:COMP_POINT}"
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    if [ ${#words[@]} -gt 0 ] && [[ "$word" == [=:]* || "${words[-1]}" == *[=:] ]] &&
       [[ "$before" == *"${words[-1]}$word"* ]]; then
      words[-1]+="$word"
    else
      words+=("$word")
    fi
  done
  cur="${words[-1]}"
  cut="${cur%"${cur##*[=:]}"}"
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :files) compopt -o default 2>/dev/null ;;
      :) ;;
      *) COMPREPLY+=("$(printf '%q' "${line%%$'\t'*}")") ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
  for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]="${COMPREPLY[i]#"$cut"}"; done
}
complete -F _koordctl koordctl
)sh";

constexpr const char* kZsh = R"sh(#compdef koordctl
# zsh completion of koordctl
_koordctl() {
  local line word summary files=0
  local -a names described
  while IFS= read -r line; do
    case "$line" in
      :files) files=1 ;;
      :) ;;
      *)
        word="${line%%$'\t'*}"
        summary="${line#*$'\t'}"
        names+=("$word")
        described+=("$word${summary:+  -- $summary}")
        ;;
    esac
  done < <("${words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( ${#names} )) && compadd -l -d described -a names
  (( files )) && _files
  return 0
}
compdef _koordctl koordctl
)sh";

constexpr const char* kFish = R"sh(# fish completion of koordctl
function __koordctl_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l current (commandline -ct)
    for line in ($program __complete $words "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':'
            case '*'
                echo $line
        end
    end
end
complete -c koordctl -f -a '(__koordctl_complete)'
)sh";

}  // namespace

const char* shellScript(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return nullptr;
}

}  // namespace koord::koordctl
