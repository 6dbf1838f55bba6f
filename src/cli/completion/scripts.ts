/*
 * The scripts of the three shells. All ask the hidden command `__complete`, which answers a candidate a line, with what it is behind a
 * tab; where it answers nothing, files are completed.
 */

const BASH = `# bash completion of undertext: add to ~/.bashrc
_undertext() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(undertext __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _undertext undertext
`

const ZSH = `#compdef undertext
# zsh completion of undertext: save as _undertext in a folder of fpath
_undertext() {
  local -a found
  local line
  while IFS= read -r line; do
    found+=("\${line%%$'\\t'*}:\${line#*$'\\t'}")
  done < <(undertext __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then
    _describe -V undertext found
  else
    _files
  fi
}
if [ "\${funcstack[1]}" = "_undertext" ]; then
  _undertext "$@"
else
  compdef _undertext undertext
fi
`

const FISH = `# fish completion of undertext: save as ~/.config/fish/completions/undertext.fish
function __undertext_complete
    set -l words (commandline -opc) (commandline -ct)
    undertext __complete -- $words[2..-1] 2>/dev/null
end
complete -c undertext -f -a '(__undertext_complete)'
complete -c undertext -l db -r -F
complete -c undertext -l system -r -F
complete -c undertext -l tools -r -F
`

export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const
