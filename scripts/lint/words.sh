#!/usr/bin/env bash
# No address of a package registry or mirror in the tree: packages are asked for by name only.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lint/files.sh
hits=$(files '*' | grep -v '^scripts/lint/words.sh$' |
       xargs -r -d '\n' grep -InE 'https?://[^ "]*(registry\.|artifactory|nexus|jfrog|/simple/|/npm/|deb\.debian|files\.pythonhosted|mirror)|index-url|^registry=' | grep -v '"url": "https://[a-z]*.*funding' || true)
[ -z "$hits" ] || { printf 'registry addresses:\n%s\n' "$hits"; exit 1; }
