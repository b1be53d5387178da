package redisstore

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/internal/storesuite"
)

// callsOf are the calls of the protocol that a use makes.
var callsOf = map[protocol.Use][]string{
	protocol.UseEnqueue: {"Check", "CheckUse", "Partitions", "Enqueue"},
	protocol.UseWork: {
		"Check", "CheckUse", "Partitions", "Enqueue", "Replace", "Work", "Report", "Poll", "Leave", "CloseSession", "Reap", "Announce", "AnnounceWorker", "Beat", "RetireWorker", "Listen",
		"Place", "Owed", "Postpone", "RepairOrphans", "Sweep", "Bury", "Queues", "Served", "QueueStats", "Workers", "Names", "Lease", "Sample",
	},
	protocol.UseSchedule: {
		"Check", "CheckUse", "Partitions", "Enqueue", "Declare", "Remove", "PauseSchedule", "PauseQueue", "LimitQueue", "SetGroup", "SetGroups", "PauseGroup", "PurgeGroup", "BeginPurge", "PurgeStep", "DeleteQueue", "CancelJob", "DeleteJobs", "RequeueJobs", "Replace", "Lead", "Resign", "Listen", "Poll", "Reap",
		"Place", "Owed", "Postpone", "RepairOrphans", "Sweep", "Bury", "Queues", "Served", "QueueStats", "Workers", "Unhandled", "Find", "Names", "Standings", "Lease", "Soonest", "Prune", "Runs", "Days", "Backfill", "Sample",
		"PutCollection", "DeleteCollection", "FindCollection", "PageCollections", "ReserveName", "ReleaseNames", "CollectionNames", "FinishTransition", "MoveSwept", "SecretsVersion", "RaiseSecretsVersion",
	},
	useView: {"QueueStats", "Samples", "Queues", "Served", "Unhandled", "Find", "Names", "FindJobs", "QueuesOf", "PageJobs", "PageGroups", "CountGroups", "PlaceOf", "Newest", "Workers", "Versions", "Held", "Leader", "Await", "Soonest", "Runs", "Days", "Verify", "FindCollection", "PageCollections", "CollectionNames", "SecretsVersion"},
	useOperate: {
		"Check", "CheckUse", "Partitions", "Enqueue", "Declare", "Remove", "PauseSchedule", "PauseQueue", "LimitQueue", "SetGroup", "SetGroups", "PauseGroup", "PurgeGroup", "BeginPurge", "PurgeStep", "DeleteQueue", "CancelJob", "DeleteJobs", "RequeueJobs", "Replace", "Lead", "Resign", "Listen", "Poll", "Reap",
		"Place", "Owed", "Postpone", "RepairOrphans", "Sweep", "Bury", "Queues", "Served", "QueueStats", "Unhandled", "Find", "Names", "Standings", "Lease", "Soonest", "Prune", "Runs", "Days", "Backfill", "Sample",
		"PutCollection", "DeleteCollection", "FindCollection", "PageCollections", "ReserveName", "ReleaseNames", "CollectionNames", "FinishTransition", "MoveSwept", "SecretsVersion", "RaiseSecretsVersion",
		"FindJobs", "QueuesOf", "PageJobs", "PageGroups", "CountGroups", "PlaceOf", "Newest", "Workers", "Versions", "Held", "Leader", "Await", "Verify", "Samples",
	},
}

// An asUser is a hook of a client that logs in as the user of a use. All other calls are sent by another client, which
// may do everything. So a test of the suite can prepare and read anything, and what it tests is done with the least rights.
type asUser struct {
	use   protocol.Use
	other *redis.Client
}

var (
	calledMethod    = regexp.MustCompile(`/redisstore[^(]*\.\(?\*?(\w+)\)?\.(\w+)$`)
	protocolMethods = func() map[string]bool {
		names := map[string]bool{}
		for method := range reflect.TypeFor[protocol.Store]().Methods() {
			names[method.Name] = true
		}
		return names
	}()
	callsOfUser atomic.Int64 // commands that users have sent
	calledAt    sync.Map     // program counter → the call of the protocol that it is in; empty: in none
)

// own reports whether a command belongs to a call of the use. The outermost protocol method on the stack decides. The
// commands with which a connection logs in belong to the use too.
func (u asUser) own(cmd redis.Cmder) bool {
	if name := cmd.Name(); name == "hello" || name == "auth" || name == "client" {
		return true
	}
	pcs := make([]uintptr, 100)
	pcs = pcs[:runtime.Callers(0, pcs)]
	outermost := ""
	for _, pc := range pcs {
		if call := protocolCall(pc); call != "" {
			outermost = call
		}
	}
	own := slices.Contains(callsOf[u.use], outermost)
	if own {
		callsOfUser.Add(1)
	}
	return own
}

// protocolCall returns the call of the protocol that a program counter is in. All methods of a listener are of Listen.
func protocolCall(pc uintptr) string {
	if known, ok := calledAt.Load(pc); ok {
		return known.(string)
	}
	call := ""
	frames := runtime.CallersFrames([]uintptr{pc})
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch m := calledMethod.FindStringSubmatch(frame.Function); {
		case m == nil:
		case m[1] == "listener":
			call = "Listen"
		case protocolMethods[m[2]]:
			call = m[2]
		}
	}
	calledAt.Store(pc, call)
	return call
}

func (u asUser) DialHook(next redis.DialHook) redis.DialHook { return next }

func (u asUser) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if u.own(cmd) {
			return next(ctx, cmd)
		}
		return u.other.Process(ctx, cmd)
	}
}

func (u asUser) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if u.own(cmds[0]) {
			return next(ctx, cmds)
		}
		pipe := u.other.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(ctx, cmd)
		}
		_, err := pipe.Exec(ctx)
		return err
	}
}

// userServer is a redis-server on which the calls of a use are made by its user; of several uses, each test has one that has what the test needs.
// A test fails if any command of the user was refused. The server has the scripts that earlier tests have sent; the first test that runs one must send
// it.
func userServer(name string, uses ...protocol.Use) testServer {
	lacks := lacksOf(uses[0])
	for _, use := range uses {
		if callsOf[use] == nil {
			panic(fmt.Sprintf("%s=%s: there is no use %s", serverEnv, name, use))
		}
		lacks &= lacksOf(use)
	}
	start := sync.OnceValues(func() (*redistest.Server, *redis.Client) {
		var users []string
		for _, use := range uses {
			users = append(users, redistest.DocumentedUsers(shared)[string(use)])
		}
		server := redistest.Start(shared, redistest.Options{Users: users})
		return server, server.Client(nil)
	})
	return testServer{name: name, lacks: lacks, open: func(t *testing.T, needs storesuite.Need) (redis.UniversalClient, func(time.Time)) {
		server, admin := start()
		empty(t, admin)
		if err := admin.Do(t.Context(), "acl", "log", "reset").Err(); err != nil {
			t.Fatal(err)
		}
		fit := slices.DeleteFunc(slices.Clone(uses), func(use protocol.Use) bool { return lacksOf(use)&needs != 0 })
		use := fit[long.Pick(t.Name(), len(fit))]
		client := redis.NewClient(&redis.Options{
			Addr: server.Addr(), Username: "chime-" + string(use), Password: "SECRET", DisableIdentity: true, ReadTimeout: longestRead,
			ContextTimeoutEnabled: true, // else the hook does not see calls that are repeated
		})
		client.AddHook(asUser{use, admin})
		t.Cleanup(func() {
			refused, err := admin.Do(context.Background(), "acl", "log").Slice()
			if err != nil || len(refused) > 0 {
				t.Errorf("refused to the user of a %s: %v, %v", use, refused, err)
			}
		})
		return client, nil
	}}
}

// lacksOf returns what a test as the user of a use does not have.
func lacksOf(use protocol.Use) storesuite.Need {
	lacks := settableClock | namespaces | hookedCalls | randomCalls
	switch use {
	case protocol.UseEnqueue:
		lacks |= listening | manualRuns
	case useView:
		lacks |= listening | repairing
	}
	return lacks
}

// If the calls of a use were not recognized on the stack, the other client would make all of them, and a user without rights would pass every
// test.
func TestTheUserOfARunMakesTheCallsOfItsUse(t *testing.T) {
	for use, calls := range callsOf {
		for _, call := range calls {
			if !protocolMethods[call] {
				t.Errorf("callsOf has %s for a %s, which is no call of the protocol", call, use)
			}
		}
	}
	onEveryServer(t, func(b *bench) {
		before := callsOfUser.Load()
		if _, err := b.store.QueueStats(b.Context(), []string{"default"}); err != nil {
			b.Fatal(err)
		}
		b.Enqueue(storesuite.Job("a"))
		if strings.HasPrefix(selectedServer().name, "user") && callsOfUser.Load() == before {
			b.Error("the user has made neither of two calls, although one belongs to its use")
		}
	})
}
