#!/usr/bin/env bash
# run.sh checks the models of where a schedule lives, and of an outbox. Without arguments it checks a list of configurations, which must all hold. With
# arguments it checks one, for example ./run.sh -DM1=1 -DSW=1, or ./run.sh outbox -DSTEPS=10 -DSB=1; TRACE=1 prints the steps to a violated property.
# It needs spin, gcc and about a minute of processor time.
set -eu
cd "$(dirname "$0")"
command -v spin gcc > /dev/null || { echo "spin or gcc is not installed: the model is not checked"; exit 0; }

check() { # flags, or outbox and flags: prints the outcome; 0 if every property holds
  local dir errors model=home
  if [ "${1:-}" = outbox ]; then model=outbox; shift; fi
  dir=$(mktemp -d)
  if [ $model = outbox ]; then cp outbox.pml "$dir/m.pml"; else {
    sed -n '1,/^\/\*CODE\*\/$/p' home.pml | sed '$d'
    echo 'inline KEEPARRIVE() { KEEP(1,mt,mg,mo,mb,mv) }'
    echo 'inline KEEPARRIVE_rest() { skip }'
    sed -e 's/@//g' -e 's/SB /d_step { /g' -e 's/ SE/ }/g' steps.inc
    sed -e 's/@/_rest/g' -e 's/SB //g' -e 's/ SE//g' steps.inc
    sed '1,/^\/\*CODE\*\/$/d' home.pml
  } > "$dir/m.pml"; fi
  (
    cd "$dir"
    spin -a "$@" m.pml > spin.out 2>&1 || { cat spin.out; exit 2; }
    gcc -O2 -w -DSAFETY -DNOREACH -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=3000 -o pan pan.c
    timeout "${LIMIT:-120}" ./pan -E -m400 -w24 > pan.out 2>&1 || true
    if [ -n "${TRACE:-}" ] && [ -f m.pml.trail ]; then spin -t -T "$@" m.pml | grep -v '^spin\|^#proc\|processes created' | head -60; fi
  )
  errors=$(grep -a -o 'errors: [0-9]*' "$dir/pan.out" || echo 'not completed')
  echo "$model $* : $errors, $(grep -a 'states, stored' "$dir/pan.out" | awk '{print $1}') states $(grep -a -m1 -o 'assertion violated.*' "$dir/pan.out" || true)"
  rm -rf "$dir"
  [ "$errors" = 'errors: 0' ]
}

if [ $# -gt 0 ]; then check "$@"; exit; fi

configurations=("-DM1=1 -DSW=1" "-DM1=2 -DSW=1" "-DM1=1 -DDE" "-DDE -DSW=1" "-DCR=2 -DSW=1 -DP8" "-DM1=1 -DCR=2 -DP8" "-DM1=1 -DRF" "outbox -DSTEPS=12" "outbox -DSTEPS=10 -DLATE" "outbox -DSTEPS=10 -DSB=1" "outbox -DSTEPS=10 -DTB=1")
failed=0
for flags in "${configurations[@]}"; do check $flags || { echo "VIOLATED: $flags"; failed=1; }; done
exit $failed
