#!/bin/sh
# check.sh: what holds of the source before its tests run: gofmt; go mod tidy in every module; go vet and staticcheck of all modules; no known
# vulnerability that the library's code reaches (govulncheck, where its database can be reached); and ten seconds of every fuzz
# target. All that it needs is Go. `check.sh fuzz` and `check.sh vuln` do one of these only; `check.sh tidy` tidies instead, because go mod
# tidy by itself cannot: see tidy. FUZZTIME is how long a target runs, GOVULNDB another database. With a number in CHIME_SEEDS, as test.sh
# sets it, staticcheck has one turn of four, and a quarter of the fuzz targets runs; each eight numbers in a row have the same turn, the next eight another.
# With less than ten seconds of FUZZTIME, such as the two of CI, a target gets random inputs only, without guidance by coverage.
set -eu
cd "$(dirname "$0")"
unset GOWORK
export CGO_ENABLED=0 # nothing here needs it, and test.sh builds without it
export GOFLAGS="-tags=real,long ${GOFLAGS-}" # the files of all tests

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.8.0
vulndb=${GOVULNDB:-https://vuln.go.dev}

# Every fuzz target by name, package:target. `go test -fuzz` of a name that does not exist passes, so the list is held
# against the source in both directions before anything runs.
fuzz_targets="
chimeseal:FuzzOpen
dashboard/internal/render:FuzzSegment
httpapi:FuzzRequest
httpapi/action:FuzzClean
httpapi/action:FuzzDecode
httpapi/action:FuzzOpenSecret
httpapi/action:FuzzParseInterval
httpapi/action:FuzzParseRing
httpapi/action:FuzzValidateURI
httpapi/arm:FuzzRead
httpapi/internal/egress:FuzzCheckHost
httpapi/internal/egress:FuzzParseNet
httpapi/internal/resource:FuzzReadJob
internal/jobfind:FuzzParse
internal/schedule:FuzzDefinition
internal/schedule:FuzzNextPlacement
internal/svg:FuzzCharts
internal/wire:FuzzDecodeArgs
internal/wire:FuzzDecodeEnvelope
internal/wire:FuzzDecodeResult
recurrence:FuzzCalendar
recurrence:FuzzCost
recurrence:FuzzCron
recurrence:FuzzFromCron
recurrence:FuzzFromRRule
recurrence:FuzzNext
recurrence:FuzzParse
recurrence:FuzzRoundTrip
redisstore:FuzzDays
redisstore:FuzzKeys
"

say() { printf 'check.sh: %s\n' "$*"; }
fail() {
	say "$*" >&2
	exit 1
}

command -v go >/dev/null 2>&1 || PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null 2>&1 || fail "Go is missing, see https://go.dev/doc/install"
command -v gofmt >/dev/null 2>&1 || PATH=$PATH:$(go env GOROOT)/bin

# modules prints the folders of all modules.
modules() { find . -name go.mod -not -path '*/testdata/*' -exec dirname {} \; | sort; }

# within runs a command in the folder of a module: the library's as those who import it get it, by its own go.mod; the others' in the
# workspace, where they find each other and the library.
within() (
	cd "$1"
	[ "$1" != . ] || export GOWORK=off
	shift
	"$@"
)

# replaces prints a replace for each module of this repository, as in go.work.
replaces() {
	for folder in $(modules); do
		printf 'replace %s v0.0.0 => "%s/%s"\n' "$(sed -n 's/^module //p' "$folder/go.mod")" "$PWD" "$folder"
	done
}

# tidy writes $tmp/tidy.mod and $tmp/tidy.sum: what go mod tidy makes of the go.mod and go.sum of a module. It knows no workspace, and
# a go.mod with a replace that is there to stay would make go install of a command by its version refuse it.
tidy() {
	{ cat "$1/go.mod" && replaces; } >"$tmp/tidy.mod"
	if [ -f "$1/go.sum" ]; then cp "$1/go.sum" "$tmp/tidy.sum"; else : >"$tmp/tidy.sum"; fi
	(cd "$1" && GOWORK=off go mod tidy -modfile="$tmp/tidy.mod") || return 1
	for folder in $(modules); do
		go mod edit -dropreplace="$(sed -n 's/^module //p' "$folder/go.mod")@v0.0.0" "$tmp/tidy.mod"
	done
}

# fuzz_targets_in_source prints the targets that the tests of every module have, in the form of the list.
fuzz_targets_in_source() {
	find . -name '*_test.go' -exec grep -EHo '^func Fuzz[[:alnum:]_]+' {} + | sed 's|/[^/]*:func |:|; s|^\./||' | sort
}

# turn prints the targets that run.
turn() {
	awk -v n="$(wc -l <"$tmp/listed")" -v quarter="$quarter" 'quarter == "" || int((NR - 1) * 4 / n) == quarter' "$tmp/listed"
}

# module_of prints the folder of the module that a package's folder belongs to.
module_of() {
	folder=$1
	while [ ! -f "$folder/go.mod" ]; do folder=$(dirname "$folder"); done
	echo "$folder"
}

# binary_of prints the path of the test binary that build_fuzz makes of a package's folder.
binary_of() { echo "$tmp/$(echo "$1" | tr / .).test"; }

# build_fuzz builds the tests of a package's folder for fuzzing. go test -fuzz would link them again for each target, and two at a time would each
# compile what both need. In less than ten seconds the guidance by coverage finds nothing: many targets have not even measured the coverage of their
# first inputs by then, and Go compiles every package once more for it. So then a target gets its first inputs and random changes of them.
build_fuzz() {
	module=$(module_of "$1")
	package=./$1
	[ "$module" = . ] || package=.${package#"./$module"}
	guided='-fuzz .' && case ${FUZZTIME:-10s} in [1-9]s) guided= ;; esac
	# shellcheck disable=SC2086 # a word is an argument
	within "$module" go test -c -vet=off -ldflags '-s -w' $guided -o "$(binary_of "$1")" "$package" || fail "the tests of $1 do not build: see above"
}

# fuzz runs one target as go test -fuzz does, which keeps the inputs that it has found in Go's cache. It reports a target whose last input was under
# way at the deadline as failed now and then, with nothing but "context deadline exceeded" and no failing input: that one alone is run again, once.
fuzz() {
	printed=$tmp/$(echo "$1" | tr / .)
	for try in 1 2; do
		if (cd "${1%:*}" && "$(binary_of "${1%:*}")" -test.run '^$' -test.fuzz "^${1##*:}\$" -test.fuzztime "${FUZZTIME:-10s}" \
			-test.fuzzcachedir "$inputs/${1%:*}" -test.paniconexit0) >"$printed" 2>&1; then
			grep -q '^fuzz: elapsed' "$printed" || { cat "$printed" >&2 && fail "$1 ran nothing"; }
			say "$1: $(grep '^fuzz: elapsed' "$printed" | tail -n 1 | sed 's/^fuzz: //')"
			return
		fi
		if [ "$try" = 2 ] || grep -q 'Failing input written' "$printed" || ! grep -q 'context deadline exceeded' "$printed"; then
			cat "$printed" >&2
			fail "$1 failed"
		fi
	done
}

# reach_vulndb fails within ten seconds if the database of vulnerabilities cannot be read, and prints why.
reach_vulndb() {
	case "$vulndb" in file://*) return 0 ;; esac
	cat >"$tmp/reach.go" <<'END'
package main

import (
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(os.Args[1] + "/index/db.json")
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", answer.Status)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
END
	go run "$tmp/reach.go" "$vulndb" 2>/dev/null
}

# vuln checks every module but for examples, and for bench, deploy, contract and browser: what they compare or look with is in no program of a user. Each is in a
# workspace of its own, or it would be checked with the highest versions that any module needs, and not with those that a user gets.
vuln() {
	if ! why=$(reach_vulndb); then
		say "NOT CHECKED for known vulnerabilities, because their database cannot be reached: $why"
		return
	fi
	GOBIN=$tmp go install "$govulncheck" || fail "$govulncheck cannot be built"
	for module in $(modules | grep -Ev '^\./(examples/|bench$|deploy$|httpapi/contract$|internal/browser$)'); do
		{ grep '^go ' go.work && printf 'use "%s"\n' "$(cd "$module" && pwd)" && replaces; } >"$tmp/go.work"
		(cd "$module" && GOWORK="$tmp/go.work" "$tmp/govulncheck" -db "$vulndb" ./...) >"$tmp/vuln" 2>&1 || {
			cat "$tmp/vuln" >&2
			fail "$module: known vulnerabilities are reached, or the check failed: see above"
		}
	done
	say "no known vulnerability is reached"
}

case ${CHIME_SEEDS:-} in '' | *[!0-9]*) quarter= ;; *) quarter=$((CHIME_SEEDS / 8 % 4)) ;; esac
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

what=${1:-all}
case "$what" in all | fuzz | vuln | tidy) ;; *) fail "unknown part $what: want fuzz, vuln, tidy, or nothing for all" ;; esac
if [ "$what" = tidy ]; then
	for module in $(modules); do
		tidy "$module"
		cp "$tmp/tidy.mod" "$module/go.mod"
		if [ -s "$tmp/tidy.sum" ]; then cp "$tmp/tidy.sum" "$module/go.sum"; else rm -f "$module/go.sum"; fi
	done
	exit 0
fi
cp go.work.sum "$tmp/before.sum"

if [ "$what" = all ]; then
	say "gofmt, go mod tidy, go vet, staticcheck"
	unformatted=$(gofmt -l .)
	[ -z "$unformatted" ] || fail "gofmt would change: $unformatted"
	for module in $(modules); do
		tidy "$module" || fail "$module: go mod tidy failed: see above"
		diff -u "$module/go.mod" "$tmp/tidy.mod" || fail "$module/go.mod is not tidy: run ./check.sh tidy"
		diff -uN "$module/go.sum" "$tmp/tidy.sum" || fail "$module/go.sum is not tidy: run ./check.sh tidy"
	done
	# All modules at once, in the workspace: packages that they share are read once.
	# shellcheck disable=SC2046 # a word is a pattern
	go vet $(modules | sed 's|$|/...|') || fail "see above"
	# shellcheck disable=SC2046
	[ "${quarter:-0}" != 0 ] || go run "$staticcheck" -tags real,long $(modules | sed 's|$|/...|') || fail "see above"
fi
[ "$what" = fuzz ] || vuln
[ "$what" != vuln ] || exit 0

# shellcheck disable=SC2086 # a word is a target
printf '%s\n' $fuzz_targets | sort >"$tmp/listed"
fuzz_targets_in_source >"$tmp/found"
for target in $(comm -23 "$tmp/listed" "$tmp/found"); do say "$target is listed in check.sh, but there is no such target" >&2; done
for target in $(comm -13 "$tmp/listed" "$tmp/found"); do say "$target is a fuzz target that check.sh does not list" >&2; done
cmp -s "$tmp/listed" "$tmp/found" || fail "the list of fuzz targets and the source differ"
inputs=$(go env GOCACHE)/fuzz/$(within . go list -m)
for folder in $(turn | sed 's/:.*//' | sort -u); do build_fuzz "$folder"; done
# Two at a time: measuring the first coverage of one leaves a processor idle, which the other uses.
# shellcheck disable=SC2046 # a word is a target
set -- $(turn)
while [ $# -gt 0 ]; do
	fuzz "$1" &
	first=$!
	if [ $# -gt 1 ]; then
		shift
		fuzz "$1" || { wait "$first" || :; exit 1; }
	fi
	shift
	wait "$first" || exit 1
done
cmp -s go.work.sum "$tmp/before.sum" || fail "go.work.sum lacked lines, which Go has added now: commit it"
say "passed"
