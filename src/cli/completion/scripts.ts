/*
 * The scripts of the three shells. All ask the hidden command `__complete`, which answers a candidate a line, with what it is behind a
 * tab, or one line that says that files are wanted: those a shell completes itself.
 */

/** Says that files are wanted. */
export const FILES = ':files'

const BASH = `# bash completion of undertext: add to ~/.bashrc
_undertext() {
  local line
  COMPREPLY=()
  compopt +o default 2>/dev/null
  while IFS= read -r line; do
    if [[ $line == ${FILES} ]]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <(undertext __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _undertext undertext
`

const ZSH = `#compdef undertext
# zsh completion of undertext: save as _undertext in a folder of fpath
_undertext() {
  local -a found
  local line about
  while IFS= read -r line; do
    if [[ $line == ${FILES} ]]; then
      [[ $PREFIX == --*=* ]] && compset -P 1 '*='
      _files
      return
    fi
    # Without a description there is no colon; in one a backslash stands twice.
    about="\${\${line#*$'\\t'}//\\\\/\\\\\\\\}"
    found+=("\${line%%$'\\t'*}\${about:+:$about}")
  done < <(undertext __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#found} )) && _describe -V undertext found
}
if [ "\${funcstack[1]}" = "_undertext" ]; then
  _undertext "$@"
else
  compdef _undertext undertext
fi
`

const FISH = `# fish completion of undertext: save as ~/.config/fish/completions/undertext.fish
function __undertext_complete
    set -l token (commandline -ct)
    set -l words (commandline -opc) $token
    set -l found (undertext __complete -- $words[2..-1] 2>/dev/null)
    if test (count $found) -eq 0
        return
    else if test "$found" != ${FILES}
        printf '%s\\n' $found
    else if set -l parts (string match -r -- '^(--[^=]+=)(.*)' $token)
        printf "$parts[2]%s\\n" (__fish_complete_path $parts[3])
    else
        __fish_complete_path $token
    end
end
complete -c undertext -f -k -a '(__undertext_complete)'
`

export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const
