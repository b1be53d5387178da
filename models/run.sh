#!/usr/bin/env bash
# run.sh checks the models. Without arguments it checks small configurations, which must all hold, and then each model without one of its guards, where a
# property must be violated. `./run.sh large` checks larger configurations. With other arguments it checks one configuration, for example
# ./run.sh -DM1=1 -DSW=1 of home, or ./run.sh outbox -DSTEPS=10 -DSB=1, or ./run.sh batch -DGR -DFO; TRACE=1 prints the steps to a violated property. It needs spin, gcc and about
# two minutes of processor time. With a number in CHIME_SEEDS, as test.sh has it, an eighth of the guards has its turn.
set -eu
cd "$(dirname "$0")"
command -v spin > /dev/null && command -v gcc > /dev/null || { echo "run.sh: install spin and gcc first" >&2; exit 2; }

# The search of a small configuration takes less time than the compiler needs to optimize it: 35 s of home, instead of 3 s. A large one needs its states compressed.
compiled="-O0" table=22
[ "${1:-}" != large ] || { compiled="-O2 -DCOLLAPSE" table=24; }

check() { # flags, or outbox and flags: prints the outcome; 0 if every property holds, 1 if one is violated, 3 if the search was not completed
  local dir errors model=home depth=400
  if [ -f "${1:-}.pml" ]; then model=$1; shift; fi
  case $model in home | outbox) ;; batch) depth=100000 ;; *) depth=20000 ;; esac
  dir=$(mktemp -d)
  if [ "$model" != home ]; then cp "$model.pml" "$dir/m.pml"; else {
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
    gcc $compiled -w -DSAFETY -DNOREACH -DVECTORSZ=2048 -DMEMLIM=3000 -o pan pan.c
    (ulimit -t "${LIMIT:-120}"; exec ./pan -E -m$depth -w$table) > pan.out 2>&1 || true # seconds of a processor
    if [ -n "${TRACE:-}" ] && [ -f m.pml.trail ]; then spin -t -T "$@" m.pml | grep -v '^spin\|^#proc\|processes created' | head -60; fi
  )
  errors=$(grep -a -o 'errors: [0-9]*' "$dir/pan.out" || echo 'not completed')
  echo "$model $* : $errors, $(grep -a 'states, stored' "$dir/pan.out" | awk '{print $1}') states $(grep -a -m1 -o 'assertion violated.*' "$dir/pan.out" || true)"
  rm -rf "$dir"
  case $errors in 'errors: 0') return 0 ;; errors:*) return 1 ;; *) return 3 ;; esac
}

small=("-DM1=1 -DSW=1" "-DM1=2 -DSW=1" "-DM1=1 -DDE" "-DDE -DSW=1" "-DCR=2 -DSW=1 -DP8" "-DM1=1 -DCR=2 -DP8" "-DM1=1 -DRF"
  "outbox -DSTEPS=12" "outbox -DSTEPS=10 -DLATE" "outbox -DSTEPS=10 -DSB=1" "outbox -DSTEPS=10 -DTB=1"
  "session -DFEW -DROUNDS=1 -DDEATHS=0" "session -DFEW -DWORKERS=1 -DSILENCES=0" "session -DFEW -DTIMEOUT -DWORKERS=1 -DROUNDS=1" "placing" "stale" "unknown" "unknown -DMEMBER"
  "groups" "groups -DORDERED"
  "batch -DNC=2 -DMS" "batch -DGR -DFO" "batch -DMS -DGR" "batch -DFO -DRQ" "batch -DCA -DFO -DNOB" "batch -DNL=2 -DFO" "batch -DNR=2 -DGR -DNOB"
  "batch -DPB=1 -DFO -DNOB" "batch -DPB=2 -DFO -DNOB" "batch -DPB=2 -DGR -DNOB" "batch -DPB=2" "batch -DHB -DA3" "batch -DHB -DCA -DNOB" "batch -DHB -DRQ -DNOB")
large=("session -DROUNDS=1 -DSILENCES=0 -DLOSSES=0" "session -DROUNDS=1" "session -DDEATHS=3 -DWORKERS=1 -DROUNDS=4" "session -DTIMEOUT -DROUNDS=1 -DDEATHS=0" "placing -DLAST=6 -DCHANGES=2 -DPAUSES=2" "stale -DJOBS=6 -DCANCELS=5" "unknown -DLOSSES=4" "unknown -DMEMBER -DLOSSES=4" "session -DFEW -DROUNDS=1"
  "groups -DORDERED -DCRASHES=3 -DRETRIES=3 -DPAUSES=3")
# a model, the guard that is switched off, and the configuration in which that is found
without=("session -DROUNDS=1 -DDEATHS=0 -DNO_NUMBER" "session -DROUNDS=1 -DDEATHS=0 -DNO_SESSION" "session -DROUNDS=1 -DDEATHS=0 -DNO_MEMORY" "session -DTIMEOUT -DWORKERS=1 -DROUNDS=1 -DNO_FENCE"
  "session -DROUNDS=1 -DDEATHS=0 -DNO_SECOND" "session -DDEATHS=3 -DWORKERS=1 -DROUNDS=4 -DNO_CAP"
  "session -DFEW -DROUNDS=1 -DDEATHS=0 -DNO_FEWLAST" "session -DFEW -DTIMEOUT -DWORKERS=1 -DROUNDS=1 -DNO_FEWFENCE"
  "placing -DNO_CURSOR" "placing -DNO_REVISION" "placing -DNO_OWED" "stale -DNO_REVIVE" "stale -DNO_NOTE" "stale -DNO_VOID" "unknown -DNO_NUMBER" "unknown -DNO_SEAL" "unknown -DNO_RECALL" "unknown -DNO_REFUSALS"
  "unknown -DMEMBER -DNO_NUMBER" "unknown -DMEMBER -DNO_SEAL" "unknown -DMEMBER -DNO_RECALL" "unknown -DMEMBER -DNO_REFUSALS" "unknown -DMEMBER -DNO_CLOSED"
  "groups -DNO_LIMIT" "groups -DNO_TURN" "groups -DNO_END" "groups -DORDERED -DNO_BLOCKER"
  "outbox -DSTEPS=10 -DNO_COMPARE" "outbox -DSTEPS=10 -DTB=1 -DNO_TOKEN" "outbox -DSTEPS=10 -DTB=1 -DNO_AGAIN" "outbox -DSTEPS=10 -DTB=1 -DNO_CONFIRM" "outbox -DSTEPS=12 -DTB=1 -DNO_MINUTE"
  "outbox -DSTEPS=10 -DSB=1 -DNO_REDRAW" "outbox -DSTEPS=10 -DSB=1 -DNO_HIGH"
  "batch -DM=1 -DFO" "batch -DM=2 -DFO" "batch -DM=3 -DGR" "batch -DM=4 -DGR" "batch -DM=5 -DGR -DNOB" "batch -DM=6 -DFO"
  "batch -DM=7 -DGR -DNR=2" "batch -DM=8 -DGR" "batch -DM=9" "batch -DM=10" "batch -DM=11 -DPB=2 -DGR -DNOB" "batch -DM=12 -DRQ"
  "batch -DM=13 -DCA" "batch -DM=14 -DCA" "batch -DM=15 -DCA" "batch -DM=16 -DGR" "batch -DM=17 -DGR" "batch -DM=18 -DMS"
  "batch -DM=19 -DFO -DNOB" "batch -DM=20 -DCA -DHB -DNOB" "batch -DM=21 -DFO -DRQ" "batch -DM=22 -DPB=2" "batch -DM=23 -DHB" "batch -DM=24 -DHB"
  "batch -DM=25 -DHB -DRQ -DNOB")
failed=0
hold() { for flags in "$@"; do check $flags || { echo "VIOLATED: $flags"; failed=1; }; done; }
case "${1:-}" in
'')
  hold "${small[@]}"
  for i in "${!without[@]}"; do
    case ${CHIME_SEEDS:-all} in *[!0-9]*) ;; *) [ $((i % 8)) = $((CHIME_SEEDS % 8)) ] || continue ;; esac
    flags=${without[i]}
    check $flags && outcome=0 || outcome=$?; [ $outcome = 1 ] || { echo "NOT FOUND: $flags holds although a guard is off"; failed=1; }
  done ;;
large) hold "${large[@]}" ;;
*) check "$@" && exit || exit $? ;;
esac
exit $failed
