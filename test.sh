#!/bin/sh
# test.sh: the tests of the library and of its modules, with the race detector and a real Redis server.
#   ./test.sh       before a change is pushed
#   ./test.sh all   what CI runs: also long walks, cluster, ACL users, browser, promtool, tmux, ablation, chaos, fuzzing, check.sh
# It installs what it needs where it may: as root on Debian and Ubuntu, or where CI is set; elsewhere it says what is missing. Servers are started on free
# ports of the loopback interface. Exit code: 0 all passed, 1 a test failed, 2 something is missing. See CONTRIBUTING.md.
set -eu
cd "$(dirname "$0")"
all=${1:-}
case $all in '' | all) ;; *) echo "test.sh: unknown argument $all: want none, or all" >&2 && exit 2 ;; esac
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
unset GOWORK && export CGO_ENABLED=1 GOGC="${GOGC:-400}" # tests keep little memory: collecting garbage less often saves a tenth of the time

missing= # packages of Debian
need() { for command in $1; do ! command -v "$command" >/dev/null || return 0; done && missing="$missing $2"; } # one of the commands
need go golang
need "redis-server valkey-server" redis-server
need gcc "gcc libc6-dev"
if [ "$all" ]; then need tmux tmux && need promtool prometheus && need "${CHIME_BROWSER:-chromium-headless-shell} chromium" chromium-headless-shell; fi
if [ "$missing" ] && command -v apt-get >/dev/null && { [ "${CI:-}" ] || [ "$(id -u)" = 0 ]; }; then
	echo "test.sh: installing$missing"
	sudo=$([ "$(id -u)" = 0 ] || echo sudo -n)
	# shellcheck disable=SC2086 # a word is a package
	{ $sudo apt-get update -q && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $missing; } >&2 </dev/null && missing=
fi
[ ! "$missing" ] || { echo "test.sh: install these first (their names on Debian):$missing; redis-server 7.0 or Valkey 7.2 and later" >&2 && exit 2; }

tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
# step FOLDER COMMAND …: runs a command in a module and prints its lines as they come. What fails is named again at the end; the other steps run all the same.
step() {
	folder=$1 && shift
	echo "== $folder: $*" | cut -c 1-150
	(cd "$folder" && { [ "$folder" != . ] || export GOWORK=off; } && "$@" 2>&1 || echo "test.sh: failed in $folder: $*" | cut -c 1-150) |
		while IFS= read -r line; do
			case $line in *'[no test files]') continue ;; FAIL* | *'--- FAIL'* | panic:* | *'DATA RACE'* | 'test.sh: failed'*) echo "$line" >>"$tmp/failed" ;; esac
			printf '%s\n' "$line"
		done
}
GOWORK=off go list -tags real,long ./... >"$tmp/packages" # fails where a file cannot be read
# packages PATTERN: the packages of the library whose folder fits; with -v those whose folder does not.
packages() { grep -E "$@" "$tmp/packages"; }

# These start no goroutines, or are made of what other folders test with the race detector: it would only make them slow. A test holds the former.
plain='/recurrence$|/docs$|/examples/|/tests/(repo|system|nozone|schedules)$|/chimetest$|/dashboard/(crawl|internal/(builder|guard|render))$'
plain="$plain|/redisstore/internal/|/internal/(blocked|definition|history|jobfind|login|loopback|plain|protocol|rights|rules|schedule|svg|times|wire)$"
# These have it where all is run, because they take minutes with it.
slow='/dashboard$|/dashboard/internal/pages$|/internal/overview$' && { [ "$all" ] || plain="$plain|$slow"; }
# These wait for servers and processes, and use all processors. The others, of fake time, have one processor each: on two the race detector of Go 1.25
# and 1.26 crashes where timers of a bubble come late (maybeRunChan in runtime/time.go).
real='/tests/real' alone='/tests/(ablation|chaos)$' cores='/tests/(jobs|queues|workers)$'
race="go test -vet=off -race -gcflags=github.com/yuin/gopher-lua/...=-race=false -timeout 20m"

# shellcheck disable=SC2046,SC2086 # a word is an argument
{ # beside the rest, because much of it waits or has one process
	step . $race -tags real -p 4 $(packages "$real")
	for module in chimeotel chimeprom cmd/chime httpapi; do step $module $race ${all:+-tags real} -cpu 1 -p 2 ./...; done
	[ "$all" ] || exit 0
	for module in httpapi/contract bench internal/browser examples/http examples/holidays examples/outbox examples/webapp; do
		step $module go test -vet=off -tags real ./...
	done
	step httpapi go test -vet=off -tags long . ./internal/service
	step . go test -vet=off -tags long -c -o "$tmp/redisstore.test" ./redisstore
	for server in '' cluster user:producer user:worker user:scheduler user:viewer user:operator; do
		step redisstore env CHIME_TEST_SERVER=$server "$tmp/redisstore.test" -test.timeout 10m
	done
	step . go test -vet=off -tags real -timeout 20m ./tests/ablation
} &
step . env CHIME_TEST_SERVER=redis $race -tags real -cpu 1 -p 2 $(packages -v "$plain|$real|$alone") # redisstore's tests run on that server
if [ ! "$all" ]; then
	step . go test -vet=off -p 2 $(packages "$plain|/tests/chaos")
else
	step . go test -vet=off -tags real,long -timeout 20m -p 2 $(packages "$plain|/internal/overview$|/tests/" | grep -vE "$real|$alone|$cores")
	step . go test -vet=off -tags real,long -timeout 20m -cpu 2 $(packages "$cores") # on two processors; with the detector they have one
	wait
	step . go test -vet=off -tags real -count=1 -v ./tests/chaos -for 60s &
	step . ./check.sh
fi
wait
[ ! -s "$tmp/failed" ] || { echo "test.sh: FAILED:" >&2 && cat "$tmp/failed" >&2 && exit 1; }
echo "test.sh: all tests passed"
