// Package long sets the amount of work of the long tests. `go test ./...` takes the first seeds of a random walk and some hours of a day; with
// `-tags long` it takes all of them. The variable CHIME_SEEDS changes what a program does that was built with that tag:
//
//	few       the first seeds and hours, as without the tag; few:<number> sets a number for Turn and Pick too
//	a number  the first seeds and an eighth of the others, and all hours of an eighth of the files of tests; each of eight numbers in a row takes others
//
// `./test.sh all` sets a number that depends on the commit: it takes little of the time, and some commits together take everything. Turn and Pick
// depend on the number only, not on the tag.
package long

import (
	"hash/fnv"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// share is how many numbers in a row take everything.
const share = 8

var number, drawn = numberOf(os.Getenv("CHIME_SEEDS"))

const fewest = "few"

func numberOf(text string) (number uint64, drawn bool) {
	number, err := strconv.ParseUint(strings.TrimPrefix(text, fewest+":"), 10, 64)
	return number, err == nil
}

// Enabled reports whether the tests run what is no matter of chance, such as examples whose output is committed: with every number.
var Enabled = tagged && !strings.HasPrefix(os.Getenv("CHIME_SEEDS"), fewest)

// All reports whether the tests of the file that calls it take all hours and cases.
func All() bool {
	_, file, _, _ := runtime.Caller(1)
	return all(file)
}

// Seeds returns the amount of work of the tests of the file that calls it: few, or all of it.
func Seeds(few, whole int) int {
	if _, file, _, _ := runtime.Caller(1); !all(file) {
		return few
	}
	return whole
}

func all(file string) bool {
	return Enabled && (!drawn || isDrawn(file, number))
}

// isDrawn reports whether the tests of a file take everything under a number.
func isDrawn(file string, number uint64) bool {
	file = filepath.ToSlash(file)
	return (hash(path.Base(path.Dir(file))+"/"+path.Base(file))+number)%share == 0
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

// Turn reports whether a case of a table runs. Without a number each case runs; each number takes an eighth of the cases, and eight numbers in a row
// take all.
func Turn(name string) bool { return !drawn || (hash(name)+number)%share == 0 }

// Pick returns which one of n alternatives the test of a name takes, from 0 to n-1. As many numbers in a row as there are alternatives take each of them.
func Pick(name string, n int) int { return pick(name, n, number) }

func pick(name string, n int, number uint64) int {
	return int((hash(name)%uint64(n) + number%uint64(n)) % uint64(n))
}

// Draw returns the seeds of a random walk: the first few of the seeds from 0 to whole-1, and all of the others or a share of them.
func Draw(few, whole int) []uint64 {
	if !Enabled {
		whole = few
	}
	return draw(few, whole, number, drawn)
}

func draw(few, whole int, number uint64, drawn bool) []uint64 {
	var seeds []uint64
	for seed := range uint64(whole) {
		if !drawn || seed < uint64(few) || (mixed(seed)+number)%share == 0 {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

// mixed returns a number that depends on a seed in no simple way: some walks do something else for each even seed, or for each third one.
func mixed(seed uint64) uint64 { return seed * 0x9E3779B97F4A7C15 >> 32 }

// Chosen returns the seeds that two variables set, if the first one is set: how many, and the first seed. Otherwise it returns those of Draw.
func Chosen(number, first string, few, whole int) (seeds []uint64) {
	n, _ := strconv.ParseUint(os.Getenv(number), 10, 64)
	begin, _ := strconv.ParseUint(os.Getenv(first), 10, 64)
	if n == 0 {
		return Draw(few, whole)
	}
	for seed := range n {
		seeds = append(seeds, begin+seed)
	}
	return seeds
}
