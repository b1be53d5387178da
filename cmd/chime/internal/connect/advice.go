package connect

import (
	"context"
	"errors"
	"strings"

	"github.com/chimejobs/chime"
)

// setting is what said where the server is; empty: nothing did, and it is the default.
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

// Advice says, of an error of a server that does not answer, which setting has named it and what to try, in one line without a password; empty
// for other errors.
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
