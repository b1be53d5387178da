package protocol

import (
	"crypto/rand"
	"strconv"
	"strings"
)

// A worker's name is "<host>:<pid>:<version>:<random>": each start has its own. The store keeps it with every attempt, so that people see where and in which
// version an attempt ran for as long as the attempt is kept, without another key. No part contains a colon, a space, a tab or a "|", because these
// separate texts in the store.
const (
	maxWorkerHost    = 63 // bytes: a label of the DNS, such as the name of a pod
	maxWorkerVersion = 20 // bytes
	revisionDigits   = 12 // as in Go's pseudo-versions
	workerRandom     = 13 // letters of base32: 65 bits
)

// NewWorkerName returns the name of a worker that starts. host and version may be empty: unknown.
func NewWorkerName(host string, pid int, version string) string {
	if len(host) > maxWorkerHost {
		host, _, _ = strings.Cut(host, ".")
	}
	host = host[:min(len(host), maxWorkerHost)]
	return strings.Join([]string{clean(host), strconv.Itoa(pid), clean(shortVersion(version)), rand.Text()[:workerRandom]}, ":")
}

// ParseWorkerName returns the parts of a worker's name; false: it is a name of another form, as of earlier versions.
func ParseWorkerName(name string) (host string, pid int, version string, ok bool) {
	parts := strings.Split(name, ":")
	if len(parts) != 4 || len(parts[3]) != workerRandom || clean(parts[0]) != parts[0] || clean(parts[2]) != parts[2] {
		return "", 0, "", false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid < 1 || parts[1] != strconv.Itoa(pid) {
		return "", 0, "", false
	}
	return parts[0], pid, parts[2], true
}

// shortVersion cuts a long version. Of a revision, and of a version that ends with one, it returns the first digits of the revision, so that programs of one
// commit have one version, however they were built.
func shortVersion(version string) string {
	if len(version) <= maxWorkerVersion {
		return version
	}
	plain, dirty := strings.CutSuffix(version, "+dirty")
	revision := plain[strings.LastIndexByte(plain, '-')+1:]
	if len(revision) < revisionDigits || strings.Trim(revision, "0123456789abcdef") != "" {
		return version[:maxWorkerVersion]
	}
	if revision = revision[:revisionDigits]; dirty {
		revision += "+dirty"
	}
	return revision
}

// clean replaces every byte that a part of a worker's name may not contain.
func clean(part string) string {
	b := []byte(part)
	for i, c := range b {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '.' && c != '-' && c != '+' && c != '_' {
			b[i] = '-'
		}
	}
	return string(b)
}
