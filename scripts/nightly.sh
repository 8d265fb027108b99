#!/usr/bin/env bash
# nightly.sh [PART …]: what takes long (make nightly), one part after the other, whatever became of those before; without names all.
# KN_FUZZ_SECONDS: CPU time for each fuzzer (600); KN_CAMPAIGN: scenes of the campaign on trust, 400 steps each (25000: ten million steps).
set -uo pipefail
cd "$(dirname "$0")/.."
all=(tsan msan coverage hashes verify fuzz campaign wheel site chroot ray rerun)
parts=("$@"); [ ${#parts[@]} -eq 0 ] && parts=("${all[@]}")
part() {
  case $1 in
    tsan) scripts/tsan.sh ;;
    msan) scripts/msan.sh ;;
    coverage) scripts/coverage.sh ;;
    hashes) scripts/hashes.sh ;;
    verify) scripts/verify-all.sh ;;
    fuzz) scripts/fuzz.sh "${KN_FUZZ_SECONDS:-600}" ;;
    campaign) scripts/build.sh release && KN_SEEDS=0-${KN_CAMPAIGN:-25000} build/test/test_physics_soak_passive random_passive ;;
    wheel) scripts/wheel.sh ;;
    site) scripts/site.sh ;;
    chroot) scripts/wheel.sh && scripts/chroot.sh ;;
    ray) scripts/ray.sh ;;
    rerun) scripts/rerun.sh build/knuckle ;;
    *) echo "no part $1; there are: ${all[*]}" >&2; return 2 ;;
  esac
}
failed=()
for p in "${parts[@]}"; do
  echo "==== $p"
  part "$p" || failed+=("$p")
done
[ ${#failed[@]} -eq 0 ] && { echo "nightly: all ${#parts[@]} parts passed"; exit 0; }
echo "nightly: ${#parts[@]} parts, failed: ${failed[*]}"
exit 1
