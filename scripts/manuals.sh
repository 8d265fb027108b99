#!/usr/bin/env bash
# manuals.sh KNUCKLE FOLDER: manual pages and shell completions, written by the command line itself, laid out as under share/.
set -euo pipefail
knuckle="$1" out="$2"
rm -rf "$out"
mkdir -p "$out/man/man1" "$out/bash-completion/completions" "$out/zsh/site-functions"
"$knuckle" help --man > "$out/man/man1/knuckle.1"
"$knuckle" list commands | sed -n 's/^  \([a-z]*\) .*/\1/p' | while read -r command; do
  "$knuckle" help "$command" --man > "$out/man/man1/knuckle-$command.1"
done
"$knuckle" completion bash > "$out/bash-completion/completions/knuckle"
"$knuckle" completion zsh > "$out/zsh/site-functions/_knuckle"
