# files PATTERN...: the project's files that match (tracked ones; in a source tree without git, all but builds).
files() {
  if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- "$@" | while read -r f; do [ -f "$f" ] && echo "$f"; done
  else
    local names=() p
    for p in "$@"; do names+=(-o -name "$p"); done
    find . -path './build*' -prune -o -name node_modules -prune -o -type f \( "${names[@]:1}" \) -print | sed 's|^\./||'
  fi
}
