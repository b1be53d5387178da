package protocol

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// NewCandidate returns a candidate's name: "<host>:<pid>:<random>", so that each start has its own and people see where it runs.
func NewCandidate() string {
	host, _ := os.Hostname() // empty: unknown
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text())
}

// SplitCandidate returns where a candidate runs; nothing if its name does not contain that, as in earlier versions.
func SplitCandidate(name string) (host string, pid int) {
	random := strings.LastIndexByte(name, ':')
	if random < 0 {
		return "", 0
	}
	at := strings.LastIndexByte(name[:random], ':')
	if at < 0 {
		return "", 0
	}
	pid, err := strconv.Atoi(name[at+1 : random])
	if err != nil || pid < 1 {
		return "", 0
	}
	return name[:at], pid
}
