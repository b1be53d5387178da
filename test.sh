#!/bin/sh
# test.sh: run every test of chime, with the race detector but for days of the whole system, the calendar, guides, examples, benchmarks, the API's contract and the browser's view. All it needs is Go; it says what else is
# missing, installs that where it may (root on Debian or Ubuntu, or CI set), and elsewhere prints the command and ends with exit code 2.
#
#   ./test.sh [flags of go test, such as -run Name -v]
#
# The tests start Redis servers of their own on free ports of the loopback interface; one that runs already is never touched.
# Exit code: 0 all passed, 1 a test failed, 2 something is missing.
set -eu
cd "$(dirname "$0")"

say() { printf 'test.sh: %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }

have go || PATH=$PATH:/usr/local/go/bin
if ! have go; then
	say "Go is missing: install the version that go.mod names or a later one, see https://go.dev/doc/install" >&2
	exit 2
fi
if [ -z "${HOME:-}" ]; then # Go keeps its caches there
	HOME=$(awk -F: -v id="$(id -u)" '$3 == id { print $6; exit }' /etc/passwd 2>/dev/null || :)
	export HOME="${HOME:-${TMPDIR:-/tmp}}"
fi

# redis_server prints the server the tests will start: the first of these two that is there and new enough.
redis_server() {
	for server in redis-server valkey-server; do
		major=$("$server" --version 2>/dev/null | sed -n 's/.* v=\([0-9]*\)\..*/\1/p')
		if [ -n "$major" ] && [ "$major" -ge 7 ]; then
			echo "$server"
			return
		fi
	done
}

# On these systems the race detector goes through cgo: a C compiler and the C library's headers.
race_needs_c() { [ "$(go env GOOS)" != darwin ] && [ "$(go env GOOS)" != windows ]; }
c_works() { printf '#include <stdlib.h>\n#include <pthread.h>\n' | $(go env CC) -E -x c - >/dev/null 2>&1; }
have_c() { ! race_needs_c || c_works; }

missing() {
	[ -n "$(redis_server)" ] || echo "redis-server"
	have_c || echo "gcc libc6-dev"
	have tmux || echo "tmux"
	have promtool || echo "prometheus"
	have "${CHIME_BROWSER:-chromium-headless-shell}" || have chromium || echo "chromium-headless-shell"
}

# system is the ID of the system's family: debian, fedora, alpine, arch, suse, darwin, ….
system() {
	family=$(if [ -r /etc/os-release ]; then
		# shellcheck disable=SC1091
		. /etc/os-release && echo " ${ID:-} ${ID_LIKE:-} "
	fi)
	case "$family" in
	*" debian "* | *" ubuntu "*) echo debian ;;
	*" fedora "* | *" rhel "* | *" centos "*) echo fedora ;;
	*" alpine "*) echo alpine ;;
	*" arch "*) echo arch ;;
	*" suse "* | *" opensuse "*) echo suse ;;
	*) uname -s | tr '[:upper:]' '[:lower:]' ;;
	esac
}

sudo=
[ "$(id -u)" -eq 0 ] || sudo="sudo ${CI:+-n }" # in CI nobody is there to type a password

apt_command() {
	echo "${sudo}apt-get update && ${sudo}env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $*"
}

# command_for prints what installs the missing packages, given by their Debian names, on this system.
command_for() {
	case "$(system)" in
	debian) apt_command "$@" ;;
	fedora) echo "${sudo}dnf install -y $(echo "$*" | sed 's/redis-server/valkey/; s/libc6-dev/glibc-devel/; s/prometheus/golang-github-prometheus/; s/chromium-headless-shell/chromium-headless/')" ;;
	alpine) echo "${sudo}apk add $(echo "$*" | sed 's/redis-server/redis/; s/libc6-dev/musl-dev/; s/chromium-headless-shell/chromium/')" ;;
	arch) echo "${sudo}pacman -S --needed $(echo "$*" | sed 's/redis-server/valkey/; s/libc6-dev/glibc/; s/chromium-headless-shell/chromium/')" ;;
	suse) echo "${sudo}zypper install -y $(echo "$*" | sed 's/redis-server/valkey/; s/libc6-dev/glibc-devel/; s/prometheus/golang-github-prometheus-prometheus/; s/chromium-headless-shell/chromium/')" ;;
	darwin) echo "brew install $(echo "$*" | sed 's/redis-server/redis/; s/chromium-headless-shell/chromium/')" ;;
	*) echo "(with this system's package manager) install $(echo "$*" | sed 's/redis-server/Redis 7.0 or Valkey 7.2/; s/libc6-dev/the headers of the C library/; s/prometheus/promtool, of Prometheus/; s/chromium-headless-shell/Chromium/')" ;;
	esac
}

# shellcheck disable=SC2005,SC2046 # a word is a package
packages=$(echo $(missing)) # on one line
if [ -n "$packages" ]; then
	say "missing: $packages (redis-server, 7.0 or later, for the store's tests; gcc and libc6-dev for the race detector; tmux for the terminal of chime top; prometheus for promtool; chromium-headless-shell for the dashboard)"
	# shellcheck disable=SC2086 # a word is a package
	install=$(command_for $packages)
	if have apt-get && { [ -n "${CI:-}" ] || { [ "$(id -u)" -eq 0 ] && [ "$(system)" = debian ]; }; }; then
		# shellcheck disable=SC2086
		install=$(apt_command $packages)
		say "installing: $install"
		sh -c "$install" </dev/null || say "that failed" >&2
		# shellcheck disable=SC2005,SC2046
		packages=$(echo $(missing)) # on one line
	fi
fi
if [ -n "$packages" ]; then
	say "install what is missing, then run ./test.sh again:" >&2
	printf '\n    %s\n\n' "$install" >&2
	exit 2
fi

server=$(redis_server)
say "$(go version | cut -d' ' -f3,4), $server $("$server" --version | sed -n 's/.* v=\([0-9.]*\).*/\1/p')"
export CGO_ENABLED=1
export GOGC="${GOGC:-400}" # tests make much garbage and keep little: collecting it less often saves a tenth of the time and more
unset GOWORK

# bubbles prints those packages of this folder whose tests use fake time: testing/synctest, or chimetest, which is made of it.
bubbles() {
	# shellcheck disable=SC2016 # a template of go list
	go list -f '{{$p := .ImportPath}}{{range .Imports}}{{if or (eq . "testing/synctest") (eq . "github.com/chimejobs/chime/chimetest")}}{{$p}}{{"\n"}}{{end}}{{end}}{{range .TestImports}}{{if or (eq . "testing/synctest") (eq . "github.com/chimejobs/chime/chimetest")}}{{$p}}{{"\n"}}{{end}}{{end}}{{range .XTestImports}}{{if or (eq . "testing/synctest") (eq . "github.com/chimejobs/chime/chimetest")}}{{$p}}{{"\n"}}{{end}}{{end}}' ./... | sort -u
}

# kept runs a command, and keeps a copy of what it prints in $log. Several may do so at once.
kept() {
	mark=$(mktemp)
	{ "$@" 2>&1 || echo $? >"$mark"; } | tee -a "$log"
	if [ -s "$mark" ]; then
		rm "$mark"
		return 1
	fi
	rm "$mark"
}

# elsewhere prints a pattern of those of the library's own tests that another part of them than this one runs: part 3 are its days, and the others are
# in parts 1 and 2 by turns. Whatever it does not see runs in every part, so it loses nothing.
elsewhere() {
	sed -En 's/^func ((Test|Example|Fuzz|Benchmark)[[:alnum:]_]*)\(.*/\1/p' ./*_test.go |
		awk -v part="$1" '{ its = /Days/ ? 3 : 1 + n++ % 2 } its != part { names = names "|" $0 } END { print "^(" substr(names, 2) ")$" }'
}

# run tests one module, its packages in three groups. The library is tested as those who import it get it, by its own go.mod, and the others in the
# workspace of go.work, where they find each other and the library. What go vet finds is for check.sh to say.
#
# Where goroutines of one bubble of fake time run on two processors and both come late to a timer's channel, the race detector of Go
# 1.25 and 1.26 uses one state of the bubble's for both and crashes (maybeRunChan in runtime/time.go). Their packages are tested on one
# processor each, on which the detector finds the same races: it compares what is ordered before what, not what happened at once.
# The library's own tests take as long as all others of that kind: in one process, they leave a processor idle at the end.
# Days of the whole system take a quarter of an hour with the race detector, which the packages that they are made of have; the library's own days,
# the guides' programs and the examples are made of them too. The calendar starts no goroutine; those who use it from several are tested with the detector.
# The contract of the HTTP API runs what httpapi tests with it; its tools take minutes to build with it, and so do the libraries that bench
# compares with. What the browser looks at is the dashboard, whose own tests have the detector, but for those in dashboard/crawl, which visit thousands of
# pages one after the other: seven times as long with it, they find nothing that one page does not.
run() {
	say "go test -race ./... in $1"
	(
		cd "$1"
		library=
		[ "$1" != . ] || export GOWORK=off library=.
		shift
		all=$(go list ./...) && faked=$(bubbles) || exit 1
		undetected='/internal/system$|/recurrence$|/docs$|/examples/|/contract|/bench$|/internal/browser$|/dashboard/crawl$'
		plain=$(echo "$all" | grep -E "$undetected") || :
		faked=$(echo "$faked" | grep -Ev "$undetected") || :
		others=$(echo "$all" | grep -Fxv "$(printf '%s\n%s' "$plain" "$faked")") || :
		status=0
		# The Lua of the server in memory computes, and shares nothing with anybody: checking its reads and writes as well costs a fifth of the time.
		quick='-gcflags=github.com/yuin/gopher-lua/...=-race=false'
		# shellcheck disable=SC2086 # a word is a package
		{
			# The processes below would each compile for itself what several of them need. What cannot be compiled is theirs to name.
			[ -z "$faked$others" ] || go list -race "$quick" -test -export $faked $others >/dev/null 2>&1 || :
			case " $*" in *-skip* | *.skip*) library= ;; esac # it would take the place of those by which the library's tests are parted
			[ -z "$library" ] || faked=$(echo "$faked" | grep -Fxv "$(go list .)") || :
			# Those with fake time wait for nothing but a processor, so all go at once; what they and those without the detector print comes at the
			# end. Of the others four at a time, or the longest one, the store, begins when the rest has ended.
			beside=$(mktemp -d)
			for part in ${library:+1 2}; do
				go test -vet=off -race "$quick" -cpu 1 -timeout 20m -skip "$(elsewhere "$part")" "$@" . >"$beside/library$part" 2>&1 || touch "$beside/failed" &
			done
			[ -z "$faked" ] || { go test -vet=off -race "$quick" -cpu 1 -timeout 20m "$@" $faked >"$beside/faked" 2>&1 || touch "$beside/failed"; } &
			{
				[ -z "$plain" ] || go test -vet=off -timeout 20m "$@" $plain >"$beside/plain" 2>&1 || touch "$beside/failed"
				[ -z "$library" ] || go test -vet=off -timeout 20m -skip "$(elsewhere 3)" "$@" . >"$beside/library3" 2>&1 || touch "$beside/failed"
			} &
			[ -z "$others" ] || kept go test -vet=off -race "$quick" -p 4 -timeout 20m "$@" $others || status=1
			wait
			for printed in "$beside"/*; do
				[ ! -s "$printed" ] || tee -a "$log" <"$printed"
			done
			[ ! -e "$beside/failed" ] || status=1
			rm -rf "$beside"
		}
		exit $status
	)
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The library, and then every module with a go.mod of its own below it, such as bench, which downloads what it compares with. Those of the examples go
# beside the others, for they mostly wait; each prints its lines when all have ended.
failed=
run . "$@" || failed=" ."
ended=$(mktemp -d)
for module in $(find examples -mindepth 2 -name go.mod | sort); do
	folder=$(dirname "$module")
	name=$(basename "$folder")
	{ run "$folder" "$@" >"$ended/$name" 2>&1 || echo "$folder" >"$ended/$name.failed"; } &
done
for module in $(find . -mindepth 2 -name go.mod -not -path '*/testdata/*' -not -path './examples/*' | sort); do
	folder=$(dirname "$module")
	run "$folder" "$@" || failed="$failed $folder"
done
wait
for name in "$ended"/*; do
	case $name in
	*.failed) failed="$failed $(cat "$name")" ;;
	*) cat "$name" ;;
	esac
done
rm -rf "$ended"
if [ -n "$failed" ]; then
	# what failed once more, for the end of a long log is read first, and often nothing else of it
	grep -E '^ *--- FAIL|^ +[a-z_]+\.go:[0-9]+: |^FAIL|^panic: |^WARNING: DATA RACE' "$log" | head -n 100 >&2 || :
	say "FAILED in$failed" >&2
	exit 1
fi
say "all tests passed"
