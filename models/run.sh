#!/usr/bin/env bash
# run.sh checks the models of where a schedule lives, of an outbox, and of the end of a batch. Without arguments it checks a list of configurations, which
# must all hold, and others in which a guard of a batch is left out, which must not. With arguments it checks one, for example ./run.sh -DM1=1 -DSW=1,
# ./run.sh outbox -DSTEPS=10 -DSB=1, or ./run.sh batch -DGR -DFO; TRACE=1 prints the steps to a violated property.
# It needs spin, gcc and about a minute of processor time.
set -eu
cd "$(dirname "$0")"
command -v spin gcc > /dev/null || { echo "spin or gcc is not installed: the model is not checked"; exit 0; }

check() { # flags, or outbox or batch and flags: prints the outcome; 0 if every property holds
  local dir errors model=home
  case "${1:-}" in outbox | batch) model=$1; shift ;; esac
  dir=$(mktemp -d)
  if [ $model != home ]; then cp $model.pml "$dir/m.pml"; else {
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
    timeout "${LIMIT:-120}" ./pan -E -m100000 -w24 > pan.out 2>&1 || true
    if [ -n "${TRACE:-}" ] && [ -f m.pml.trail ]; then spin -t -T "$@" m.pml | grep -v '^spin\|^#proc\|processes created' | head -60; fi
  )
  errors=$(grep -a -o 'errors: [0-9]*' "$dir/pan.out" || echo 'not completed')
  echo "$model $* : $errors, $(grep -a 'states, stored' "$dir/pan.out" | awk '{print $1}') states $(grep -a -m1 -o 'assertion violated.*' "$dir/pan.out" || true)"
  rm -rf "$dir"
  [ "$errors" = 'errors: 0' ]
}

if [ $# -gt 0 ]; then check "$@"; exit; fi

configurations=("-DM1=1 -DSW=1" "-DM1=2 -DSW=1" "-DM1=1 -DDE" "-DDE -DSW=1" "-DCR=2 -DSW=1 -DP8" "-DM1=1 -DCR=2 -DP8" "-DM1=1 -DRF" "outbox -DSTEPS=12" "outbox -DSTEPS=10 -DLATE" "outbox -DSTEPS=10 -DSB=1" "outbox -DSTEPS=10 -DTB=1"
  "batch -DNC=2 -DMS" "batch -DGR -DFO" "batch -DMS -DGR" "batch -DFO -DRQ" "batch -DCA -DFO -DNOB" "batch -DNL=2 -DFO" "batch -DNR=2 -DGR -DNOB"
  "batch -DPB=1 -DFO -DNOB" "batch -DPB=2 -DFO -DNOB" "batch -DPB=2 -DGR -DNOB" "batch -DPB=2" "batch -DHB -DA3" "batch -DHB -DCA -DNOB")
# guard and flags: without the guard a property is violated
violated=("1 -DFO" "2 -DFO" "3 -DGR" "4 -DGR" "5 -DGR -DNOB" "6 -DFO" "7 -DGR -DNR=2" "8 -DGR" "9" "10" "11 -DPB=2 -DGR -DNOB" "12 -DRQ" "13 -DCA" "14 -DCA" "15 -DCA"
  "16 -DGR" "17 -DGR" "18 -DMS" "19 -DFO -DNOB" "20 -DCA -DHB -DNOB" "21 -DFO -DRQ" "22 -DPB=2" "23 -DHB" "24 -DHB")
failed=0
for flags in "${configurations[@]}"; do check $flags || { echo "VIOLATED: $flags"; failed=1; }; done
for flags in "${violated[@]}"; do if check batch -DM=$flags; then echo "HOLDS WITHOUT THE GUARD: $flags"; failed=1; fi; done
exit $failed
