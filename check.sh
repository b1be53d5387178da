#!/bin/sh
# check.sh: what holds of the source before its tests run: gofmt; go mod tidy, go vet and staticcheck in every module; no known
# vulnerability that the library's code reaches (govulncheck, where its database can be reached); and ten seconds of every fuzz
# target. All that it needs is Go. `check.sh fuzz` and `check.sh vuln` do one of these only; FUZZTIME is how long a target runs,
# GOVULNDB another database.
set -eu
cd "$(dirname "$0")"
export GOWORK=off # each module as those who import it get it, by its own go.mod

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.8.0
vulndb=${GOVULNDB:-https://vuln.go.dev}

# Every fuzz target by name, package:target. `go test -fuzz` of a name that does not exist passes, so the list is held
# against the source in both directions before anything runs.
fuzz_targets="
httpapi:FuzzRequest
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
internal/wire:FuzzDecodeArgs
internal/wire:FuzzDecodeEnvelope
internal/wire:FuzzDecodeResult
recurrence:FuzzCalendar
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

# fuzz_targets_in_source prints the targets that the test binaries of every module have, in the form of the list.
fuzz_targets_in_source() {
	library=$(go list -m)
	: >"$tmp/targets"
	for module in $(find . -name go.mod -not -path '*/testdata/*' | sort); do
		(cd "$(dirname "$module")" && go test -list '^Fuzz' ./...) >"$tmp/listing" || {
			cat "$tmp/listing" >&2
			return 1
		}
		awk -v library="$library" '
			/^Fuzz/ { names[++n] = $1 }
			$1 == "ok" {
				folder = $2 == library ? "." : substr($2, length(library) + 2)
				for (i = 1; i <= n; i++) print folder ":" names[i]
				n = 0
			}' "$tmp/listing" >>"$tmp/targets"
	done
	sort "$tmp/targets"
}

# module_of prints the folder of the module that a package's folder belongs to.
module_of() {
	folder=$1
	while [ ! -f "$folder/go.mod" ]; do folder=$(dirname "$folder"); done
	echo "$folder"
}

# fuzz runs one target. Go reports a target whose last input was under way at the deadline as failed now and then, with
# nothing but "context deadline exceeded" and no failing input: that one alone is run again, once.
fuzz() {
	module=$(module_of "${1%:*}")
	package=./${1%:*}
	[ "$module" = . ] || package=.${package#"./$module"}
	for try in 1 2; do
		if (cd "$module" && go test -run '^$' -fuzz "^${1##*:}\$" -fuzztime "${FUZZTIME:-10s}" "$package") >"$tmp/fuzz" 2>&1; then
			grep -q '^fuzz: elapsed' "$tmp/fuzz" || { cat "$tmp/fuzz" >&2 && fail "$1 ran nothing"; }
			say "$1: $(grep '^fuzz: elapsed' "$tmp/fuzz" | tail -n 1 | sed 's/^fuzz: //')"
			return
		fi
		if [ "$try" = 2 ] || grep -q 'Failing input written' "$tmp/fuzz" || ! grep -q 'context deadline exceeded' "$tmp/fuzz"; then
			cat "$tmp/fuzz" >&2
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

# vuln checks the library and httpapi: what bench compares with is in no program of a user.
vuln() {
	if ! why=$(reach_vulndb); then
		say "NOT CHECKED for known vulnerabilities, because their database cannot be reached: $why"
		return
	fi
	GOBIN=$tmp go install "$govulncheck" || fail "$govulncheck cannot be built"
	for module in . httpapi; do
		(cd "$module" && "$tmp/govulncheck" -db "$vulndb" ./...) >"$tmp/vuln" 2>&1 || {
			cat "$tmp/vuln" >&2
			fail "$module: known vulnerabilities are reached, or the check failed: see above"
		}
	done
	say "no known vulnerability is reached"
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

what=${1:-all}
case "$what" in all | fuzz | vuln) ;; *) fail "unknown part $what: want fuzz, vuln, or nothing for all" ;; esac

if [ "$what" = all ]; then
	say "gofmt, go mod tidy, go vet, staticcheck"
	unformatted=$(gofmt -l .)
	[ -z "$unformatted" ] || fail "gofmt would change: $unformatted"
	for module in $(find . -name go.mod -not -path '*/testdata/*' | sort); do
		folder=$(dirname "$module")
		(cd "$folder" && go mod tidy -diff) || fail "go.mod or go.sum in $folder is not tidy: run go mod tidy there"
		(cd "$folder" && go vet ./... && go run "$staticcheck" ./...) || fail "$folder: see above"
	done
fi
[ "$what" = fuzz ] || vuln
[ "$what" != vuln ] || exit 0

# shellcheck disable=SC2086 # a word is a target
printf '%s\n' $fuzz_targets | sort >"$tmp/listed"
fuzz_targets_in_source >"$tmp/found" || fail "the tests do not build"
for target in $(comm -23 "$tmp/listed" "$tmp/found"); do say "$target is listed in check.sh, but there is no such target" >&2; done
for target in $(comm -13 "$tmp/listed" "$tmp/found"); do say "$target is a fuzz target that check.sh does not list" >&2; done
cmp -s "$tmp/listed" "$tmp/found" || fail "the list of fuzz targets and the source differ"
for target in $fuzz_targets; do fuzz "$target"; done
say "passed"
