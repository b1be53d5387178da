#!/bin/sh
# check.sh: what holds of the source before its tests run: gofmt; go mod tidy, go vet and staticcheck in every module; and ten
# seconds of every fuzz target. All that it needs is Go. `check.sh fuzz` does the last of these only; FUZZTIME is how long a
# target runs.
set -eu
cd "$(dirname "$0")"

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Every fuzz target by name, package:target. `go test -fuzz` of a name that does not exist passes, so the list is held
# against the source in both directions before anything runs.
fuzz_targets="
internal/wire:FuzzDecodeArgs
internal/wire:FuzzDecodeEnvelope
internal/schedule:FuzzDefinition
internal/schedule:FuzzNextPlacement
recurrence:FuzzCron
recurrence:FuzzNext
recurrence:FuzzParse
recurrence:FuzzRoundTrip
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

# fuzz_targets_in_source prints the targets that the test binaries have, in the form of the list.
fuzz_targets_in_source() {
	module=$(go list -m)
	go test -list '^Fuzz' ./... >"$tmp/listing" || {
		cat "$tmp/listing" >&2
		return 1
	}
	awk -v module="$module" '
		/^Fuzz/ { names[++n] = $1 }
		$1 == "ok" {
			folder = $2 == module ? "." : substr($2, length(module) + 2)
			for (i = 1; i <= n; i++) print folder ":" names[i]
			n = 0
		}' "$tmp/listing" | sort
}

# fuzz runs one target. Go reports a target whose last input was under way at the deadline as failed now and then, with
# nothing but "context deadline exceeded" and no failing input: that one alone is run again, once.
fuzz() {
	for try in 1 2; do
		if go test -run '^$' -fuzz "^${1##*:}\$" -fuzztime "${FUZZTIME:-10s}" "./${1%:*}" >"$tmp/fuzz" 2>&1; then
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

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

if [ "${1:-all}" = all ]; then
	say "gofmt, go mod tidy, go vet, staticcheck"
	unformatted=$(gofmt -l .)
	[ -z "$unformatted" ] || fail "gofmt would change: $unformatted"
	for module in $(find . -name go.mod -not -path '*/testdata/*' | sort); do
		folder=$(dirname "$module")
		(cd "$folder" && go mod tidy -diff) || fail "go.mod or go.sum in $folder is not tidy: run go mod tidy there"
		(cd "$folder" && go vet ./... && go run "$staticcheck" ./...) || fail "$folder: see above"
	done
fi

# shellcheck disable=SC2086 # a word is a target
printf '%s\n' $fuzz_targets | sort >"$tmp/listed"
fuzz_targets_in_source >"$tmp/found" || fail "the tests do not build"
for target in $(comm -23 "$tmp/listed" "$tmp/found"); do say "$target is listed in check.sh, but there is no such target" >&2; done
for target in $(comm -13 "$tmp/listed" "$tmp/found"); do say "$target is a fuzz target that check.sh does not list" >&2; done
cmp -s "$tmp/listed" "$tmp/found" || fail "the list of fuzz targets and the source differ"
for target in $fuzz_targets; do fuzz "$target"; done
say "passed"
