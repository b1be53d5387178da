#!/bin/sh
# test.sh: the tests of the library and of its modules, by turns with the race detector, and with a real Redis server.
#   ./test.sh       before a change is pushed, after go test ./..., which has the tests that need neither: rules, pages, documents, examples
#   ./test.sh all   what CI runs: also long walks, cluster, ACL users, browser, proxies, promtool, tmux, models, ablation, older builds, chaos, fuzzing, check.sh
# It installs what it needs where it may: as root on Debian and Ubuntu, or where CI is set; elsewhere it says what is missing. Servers are started on free
# ports of the loopback interface. Exit code: 0 all passed, 1 a test failed, 2 something is missing. See CONTRIBUTING.md.
# shellcheck disable=SC2046,SC2086 # a word is an argument
set -eu
cd "$(dirname "$0")"

# step FOLDER COMMAND …, as xargs below calls it: a command in a module, whose lines come as they are printed. What fails is named again at the end.
if [ "${1:-}" = step ]; then
	folder=$2 failing='' && shift 2 && echo "== $folder: $*" | cut -c 1-150
	(cd "$folder" && { [ "$folder" != . ] || export GOWORK=off; } && "$@" 2>&1 || echo "test.sh: failed in $folder: $*" | cut -c 1-150) |
		while IFS= read -r line; do
			case $line in *'[no test files]') continue ;; ok*) failing= ;;
			FAIL* | *'--- FAIL'* | panic:* | *'DATA RACE'* | 'test.sh: failed'*) failing=yes && echo "$line" >>"$FAILED" ;;
			*_test.go:[0-9]*) [ ! "$failing" ] || printf '%.300s\n' "$line" >>"$FAILED" ;;
			esac
			printf '%s\n' "$line"
		done && exit
fi
all=${1:-} && case $all in '' | all) ;; *) echo "test.sh: unknown argument $all: want none, or all" >&2 && exit 2 ;; esac
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin; PATH=$PATH:/usr/sbin # where Debian has nginx and haproxy
# Without cgo, which only the race detector needs, tests and images share one build. The detector waits a second at each end of a process. Garbage is
# collected less often: a tenth of the time. No tables for debuggers: a fifth of compiling, a third of linking. A commit chooses seeds and turns (internal/long); CHIME_SEEDS=all: all.
unset GOWORK && export CGO_ENABLED=0 GOGC="${GOGC:-400}" GORACE="${GORACE:-atexit_sleep_ms=100}" GOFLAGS="${GOFLAGS:-} -gcflags=github.com/chimejobs/chime/...=-dwarf=false -ldflags=-s"
export CHIME_SEEDS="${CHIME_SEEDS:-$((0x$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0)))}"
missing= # packages of Debian
need() { for command in $1; do ! command -v "$command" >/dev/null || return 0; done && missing="$missing $2"; } # one of the commands
need go golang && need "redis-server valkey-server" redis-server && need gcc "gcc libc6-dev"
if [ "$all" ]; then need tmux tmux && need spin spin && need promtool prometheus && need nginx nginx-light && need haproxy haproxy && need systemd-analyze systemd
	need "${CHIME_BROWSER:-chromium-headless-shell} chromium" chromium-headless-shell; fi
if [ "$missing" ] && command -v apt-get >/dev/null && { [ "${CI:-}" ] || [ "$(id -u)" = 0 ]; }; then
	echo "test.sh: installing$missing"
	sudo=$([ "$(id -u)" = 0 ] || echo sudo -n)
	{ $sudo apt-get update -q && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $missing; } >&2 </dev/null && missing=
fi
[ ! "$missing" ] || { echo "test.sh: install these first (their names on Debian):$missing; redis-server 7.0 or Valkey 7.2 and later" >&2 && exit 2; }
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT && export FAILED="$tmp/failed"
queue() { echo "$*" >>"$tmp/steps"; } # a step
GOWORK=off go list -tags real,long ./... >"$tmp/packages" # fails where a file cannot be read
packages() { grep -E "$@" "$tmp/packages"; } # those whose folder fits a pattern; with -v the others
# These start no goroutines, or are made of what other folders test with the race detector: it would only make them slow. A test holds the former.
plain='/recurrence$|/docs$|/examples/|/tests/(repo|system|nozone|schedules)$|/chimetest$|/dashboard/(crawl|internal/(builder|guard|render))$'
plain="$plain|/redisstore/internal/|/internal/(batchmodel|blocked|definition|format|groupmodel|history|jobfind|login|long|loopback|plain|protocol|rights|rules|schedule|svg|times|wire)$"
# The commit chooses one of eleven parts, each with all seeds (internal/long: the remainder of 8). The others have no detector, which is slow, and no bench, contract, http.
parts='/redisstore(/embedded)?$|/httpapi/contract$ /tests/queues$ /tests/workers$ /httpapi/internal/service$|/examples/http$ /httpapi(/(action|arm|cmd|internal/[^s]).*)?$|/tests/batches$ /tests/jobs$ /tests/scheduler$ /dashboard(/internal/pages)?$ /tests/real /cmd/chime(/.*)?$|/bench$ /internal/(overview|sim|enqueue|work)$|/tests/sealing$'
case $CHIME_SEEDS in *[!0-9]*) rests='^$' ;; *) rests=$(echo "$parts" | tr ' ' '\n' | sed "$((CHIME_SEEDS / 8 % 11 + 1))d" | paste -sd '|' -) ;; esac
# These wait for servers and processes, and use all processors. The others, of fake time, have one processor each: on two the race detector of Go 1.25
# and 1.26 crashes where timers of a bubble come late (maybeRunChan in runtime/time.go). It leaves out Lua's interpreter. It must not leave out
# what uses sync.Map, as the simulated server does: the linker may choose that package's copy of the generic code, and then the detector misses locks.
real='/tests/real' alone='/tests/(ablation|chaos|rolling)$' cores='/tests/(jobs|queues|workers)$' test="go test -vet=off -timeout 20m -p 1"
detector="-race -gcflags=github.com/yuin/gopher-lua/...=-race=false" && race="env CGO_ENABLED=1 $test $detector"
racing=$(packages -v "$plain|$rests|$real|$alone") resting=$(packages "$rests" | grep -vE "$plain|$real|$alone" || :)
long=$(packages "$plain|$rests|/internal/(overview|sim)$|/tests/" | grep -vE "$real|$alone|$cores|/redisstore$")
rests() { echo "/$1" | grep -qE "$rests"; } # FOLDER: has another part its turn?
./test.sh step . env CGO_ENABLED=1 go list -export -f '{{/**/}}' $detector ./redisstore $racing & # compiles once, not in each of the steps that begin together
./test.sh step . go list -export -f '{{/**/}}' ${all:+-tags real,long} ./...
[ ! "$all" ] || queue . ./check.sh # the longest steps first, short ones last: then no processor waits for the end of a long one
for which in -v -e; do [ ! "$all" ] || queue . $test -tags real,long $(echo "$long" | grep $which /tests/); done
queue . $(if rests tests/real; then echo "$test"; else echo "$race"; fi) -tags real $(packages "$real")
for which in -e -v; do queue . env CHIME_TEST_SERVER=redis $race -tags real -cpu 1 $(echo "$racing" | grep $which /tests/); done
for which in -e -v; do [ "$all" ] || queue . env CHIME_TEST_SERVER=redis $test -tags real $(echo "$resting" | grep $which /tests/); done
for module in httpapi cmd/chime chimeotel chimeprom; do go list "./$module/..." >"$tmp/module"
	for which in -vE -E; do found=$(grep $which "$rests" "$tmp/module" || :) how=$test && { [ $which = -E ] || how="$race -cpu 1"; }; [ ! "$found" ] || queue $module $how ${all:+-tags real,long} $found; done; done
if [ "$all" ]; then queue . $test -tags real,long -cpu 2 $(packages "$cores") # on two processors; with the detector they have one
	if [ "$(git rev-parse --is-shallow-repository 2>&1)" = false ]; then queue . $test -tags real ./tests/rolling; else echo "test.sh: tests/rolling is left out: it builds an older revision, and this copy has no history"; fi
	queue . $test -tags real -count=1 -v ./tests/chaos -for 60s
	queue models ./run.sh && queue . $test -tags real ./tests/ablation
	for module in internal/browser deploy examples/webapp examples/holidays examples/outbox; do queue $module $test -tags real ./...; done
	for module in bench httpapi/contract examples/http; do rests $module || queue $module $test -tags real ./...; done
	./test.sh step . go test -vet=off -tags long -ldflags '-s -w' -c -o "$tmp/redisstore.test" ./redisstore && queue redisstore "$tmp/redisstore.test" -test.timeout 20m
	servers=users && [ "$CHIME_SEEDS" != all ] || servers="user:producer user:worker user:scheduler user:viewer user:operator"
	! rests redisstore || queue . env CHIME_SEEDS=few CHIME_TEST_SERVER=redis $test -tags real,long ./redisstore # all seeds only above: these try the scripts' logic
	for server in cluster $servers; do queue redisstore env "CHIME_SEEDS=few:$CHIME_SEEDS" CHIME_TEST_SERVER=$server "$tmp/redisstore.test" -test.timeout 20m; done
fi
wait && xargs -P 4 -L 1 ./test.sh step <"$tmp/steps" # four at a time, because much waits for servers and browsers
[ ! -s "$FAILED" ] || { echo "test.sh: FAILED:" >&2 && cat "$FAILED" >&2 && exit 1; }
echo "test.sh: all tests passed"
