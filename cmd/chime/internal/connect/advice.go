package connect

import (
	"context"
	"errors"
	"strings"

	"github.com/chimejobs/chime"
)

// setting names the setting that gave the server's address; empty: no setting did, and the default is used.
func (f *Flags) setting(env func(string) string) string {
	switch {
	case f.Master != "":
		return "--sentinel"
	case f.Redis != "":
		return "--redis"
	case env("REDIS_URL") != "":
		return "REDIS_URL"
	}
	return ""
}

// Advice returns one line for an error of a server that does not answer: the setting that named the server, and what to try. It has no password,
// and is empty for other errors.
func (f *Flags) Advice(env func(string) string, err error) string {
	if !Unreachable(err) || errors.Is(err, chime.ErrUnfit) || errors.Is(err, chime.ErrStoreFull) {
		return ""
	}
	options, bad := f.options(env)
	if bad != nil {
		return ""
	}
	setting := f.setting(env)
	address := strings.Join(options.Addrs, ",")
	advice := address + " is what " + setting + " says: does Redis run there, and may this machine reach it?"
	if setting == "" {
		advice = "neither --redis nor REDIS_URL names a server, so it is " + address + ": start Redis there, or name yours"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		advice = "--timeout " + f.Timeout.String() + " ran out; " + advice
	}
	return advice
}
