package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// sentCommands counts the commands of a client, and those that read all of something, however much that is. These reads of all are permitted, because all has to
// be counted or shown: the sessions of a queue's workers, the names of jobs that are parked there (1,000 at most) and the acknowledgements (500 at most).
type sentCommands struct{ all, unbounded atomic.Int64 }

// unboundedCommands read a whole key, or all keys, with any arguments.
var unboundedCommands = []string{"keys", "hgetall", "hkeys", "hvals", "smembers", "sinter", "sunion", "sdiff", "sort", "dump"}

func (s *sentCommands) count(cmd redis.Cmder) {
	s.all.Add(1)
	if isUnbounded(cmd.Args()) {
		s.unbounded.Add(1)
	}
}

// isUnbounded reports whether a command reads all of something.
func isUnbounded(args []any) bool {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = strings.ToLower(fmt.Sprint(arg))
	}
	switch {
	case len(words) == 0:
		return false
	case slices.Contains(unboundedCommands, words[0]):
		return !strings.HasSuffix(words[min(1, len(words)-1)], ":acknowledged")
	case slices.Contains([]string{"lrange", "zrange", "zrevrange"}, words[0]) && len(words) >= 4:
		bounded := strings.HasSuffix(words[1], ":sessions") || strings.HasSuffix(words[1], ":unhandled")
		return words[2] == "0" && words[3] == "-1" && !bounded
	case strings.HasPrefix(words[0], "zrange") || strings.HasPrefix(words[0], "zrevrange"):
		return slices.Contains([]string{"-inf", "-", "+inf", "+"}, words[min(2, len(words)-1)]) && !slices.Contains(words, "limit")
	}
	return false
}

// DialHook leaves connecting as it is.
func (s *sentCommands) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a command.
func (s *sentCommands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.count(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts the commands of a pipeline.
func (s *sentCommands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			s.count(cmd)
		}
		return next(ctx, cmds)
	}
}
