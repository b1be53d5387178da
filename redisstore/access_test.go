package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
)

// userLines returns the lines of docs/access.md by use, without the word user in front.
func userLines(t *testing.T) map[protocol.Use]string {
	t.Helper()
	text, err := os.ReadFile("../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[protocol.Use]string{}
	for _, line := range regexp.MustCompile(`(?m)^user (chime-(\w+) on >SECRET .*)$`).FindAllStringSubmatch(string(text), -1) {
		lines[protocol.Use(line[2])] = line[1]
	}
	return lines
}

func TestTheUsersOfTheDocsHaveExactlyTheRightsThatAreNeeded(t *testing.T) {
	lines := userLines(t)
	if len(lines) != len(grants) {
		t.Errorf("docs/access.md has %d users, want %d", len(lines), len(grants))
	}
	for use, g := range grants {
		if want := fmt.Sprintf("chime-%s on >SECRET %s", use, g.rules("chime")); lines[use] != want {
			t.Errorf("docs/access.md has another line for a %s than it needs, which is:\nuser %s", use, want)
		}
	}
}

// A script that is in no grant would be refused to every user, and a command without arguments would not be tried at start.
func TestEveryScriptAndCommandIsGrantedAndTried(t *testing.T) {
	granted := map[string]bool{}
	for use, g := range grants {
		for _, script := range g.scripts {
			granted[script.Name] = true
		}
		for _, command := range g.commands() {
			_, tried := arguments[command]
			if elsewhere := strings.Fields("eval eval_ro evalsha evalsha_ro hello info publish subscribe unsubscribe"); !tried && !slices.Contains(elsewhere, command) {
				t.Errorf("%s, which a %s needs, has no arguments with which it is tried", command, use)
			}
		}
	}
	for _, name := range scripts.Names() {
		if !granted[name] {
			t.Errorf("no user may run %s.lua: add it to a grant", name)
		}
	}
	titled, _ := readTitle("enqueue", enqueueScript.Text)
	for i, key := range keyspace("n").partition(defaultPartition).enqueueing() {
		if !fits(key, titled.keys[i+1].name) {
			t.Errorf("enqueueing() has %s, KEYS[%d] of enqueue.lua is …:%s", key, i+1, titled.keys[i+1].name)
		}
	}
}

// userEnv is the use as whose user the suite runs, and userServerEnv the address of the server that has this user: see TestTheSuiteAsEachUser.
const (
	userEnv       = "CHIME_TEST_USER"
	userServerEnv = "CHIME_TEST_USER_SERVER"
)

// callsOf are the calls of the protocol that a use makes.
var callsOf = map[protocol.Use][]string{
	protocol.UseEnqueue: {"Check", "CheckUse", "Partitions", "Enqueue"},
	protocol.UseWork: {
		"Check", "CheckUse", "Partitions", "Enqueue", "Replace", "Work", "Report", "Poll", "Leave", "CloseSession", "Reap", "Announce", "AnnounceWorker", "RetireWorker", "Listen",
		"Place", "Owed", "Postpone", "Mend", "Sweep", "Bury", "Queues", "Served", "QueueStats", "Names", "Lease", "Sample",
	},
	protocol.UseSchedule: {
		"Check", "CheckUse", "Partitions", "Enqueue", "Declare", "Remove", "PauseSchedule", "PauseQueue", "LimitQueue", "BeginPurge", "PurgeStep", "DeleteQueue", "CancelJob", "DeleteJobs", "RequeueJobs", "Replace", "Lead", "Resign", "Listen", "Poll", "Reap",
		"Place", "Owed", "Postpone", "Mend", "Sweep", "Bury", "Queues", "Served", "QueueStats", "Unhandled", "Find", "Names", "Standings", "Lease", "Soonest", "Prune", "Runs", "Days", "Backfill", "Sample",
		"PutCollection", "DeleteCollection", "FindCollection", "PageCollections", "ReserveName", "ReleaseNames", "CollectionNames", "FinishTransition", "MoveSwept",
	},
	useView: {"QueueStats", "Samples", "Queues", "Served", "Unhandled", "Find", "Names", "FindJobs", "QueuesOf", "PageJobs", "Newest", "Workers", "Held", "Leader", "Await", "Soonest", "Runs", "Days", "Verify", "FindCollection", "PageCollections", "CollectionNames"},
	useOperate: {
		"Check", "CheckUse", "Partitions", "Enqueue", "Declare", "Remove", "PauseSchedule", "PauseQueue", "LimitQueue", "BeginPurge", "PurgeStep", "DeleteQueue", "CancelJob", "DeleteJobs", "RequeueJobs", "Replace", "Lead", "Resign", "Listen", "Poll", "Reap",
		"Place", "Owed", "Postpone", "Mend", "Sweep", "Bury", "Queues", "Served", "QueueStats", "Unhandled", "Find", "Names", "Standings", "Lease", "Soonest", "Prune", "Runs", "Days", "Backfill", "Sample",
		"PutCollection", "DeleteCollection", "FindCollection", "PageCollections", "ReserveName", "ReleaseNames", "CollectionNames", "FinishTransition", "MoveSwept",
		"FindJobs", "QueuesOf", "PageJobs", "Newest", "Workers", "Held", "Leader", "Await", "Verify", "Samples",
	},
}

// An asUser is a hook of a client that logs in as the user of a use: whatever is not a call of that use is sent by another client, which
// may do everything. So a test of the suite prepares and looks at what it likes, and what it tests is done with the least rights.
type asUser struct {
	use   protocol.Use
	other *redis.Client
}

var calledMethod = regexp.MustCompile(`/redisstore\.\(\*(store|listener)\)\.(\w+)$`)

// own reports whether a command belongs to a call of the use: the outermost method of the store on the stack says so. So do the
// commands with which a connection logs in.
func (u asUser) own(cmd redis.Cmder) bool {
	if name := cmd.Name(); name == "hello" || name == "auth" || name == "client" {
		return true
	}
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	method := ""
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if m := calledMethod.FindStringSubmatch(frame.Function); m != nil {
			method = m[2]
			if m[1] == "listener" {
				method = "Listen"
			}
		}
	}
	return slices.Contains(callsOf[u.use], method)
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

// clientOfUser empties the server of this run and returns a client of the user of the docs for a use, on which other calls are made by a
// user who may do everything. It fails the test if anything was refused to the user by the end. The server has the scripts that earlier tests have
// sent; the first test that runs one has to send it.
func clientOfUser(t *testing.T, use protocol.Use) *redis.Client {
	t.Helper()
	address := os.Getenv(userServerEnv)
	admin := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { admin.Close() })
	for _, command := range [][]any{{"flushall"}, {"acl", "log", "reset"}} {
		if err := admin.Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	client := redis.NewClient(&redis.Options{
		Addr: address, Username: "chime-" + string(use), Password: "SECRET", DisableIdentity: true,
		ContextTimeoutEnabled: true, // else the hook is not asked of calls that are repeated
	})
	client.AddHook(asUser{use, admin})
	t.Cleanup(func() {
		refused, err := admin.Do(context.Background(), "acl", "log").Slice()
		if err != nil || len(refused) > 0 {
			t.Errorf("refused to the user of a %s: %v, %v", use, refused, err)
		}
	})
	return client
}

// TestTheSuiteAsEachUser runs this test binary again for each user of docs/access.md, each time on a server that has that user. Random walks
// are left out: whether a call is allowed needs none.
func TestTheSuiteAsEachUser(t *testing.T) {
	if os.Getenv(clusterEnv) != "" || os.Getenv(userEnv) != "" {
		return // this is such a run
	}
	binary := suiteBinary(t)
	for use, skip := range map[protocol.Use]string{
		// These look at the commands of the store's own client, or listen or run a schedule by hand as well, which a producer and a viewer do not.
		protocol.UseEnqueue:  "ReplyWithoutAllValues|Listen|Leader|Wake|Woken|Alarm|Replac|Heartbeat|HalfReaped|Poll|Guard|Overlap|AScheduleHasLeft|IsToldWhenItsSession",
		protocol.UseWork:     "ReplyWithoutAllValues",
		protocol.UseSchedule: "ReplyWithoutAllValues",
		useView:              "ReplyWithoutAllValues|Listen|Leader|Wake|Woken|Alarm|Replac|Heartbeat|HalfReaped|Poll|Guard|Overlap|Repair",
		useOperate:           "ReplyWithoutAllValues",
	} {
		t.Run(string(use), func(t *testing.T) {
			t.Parallel()
			only, least := "", 30
			if use == useOperate {
				only, least = "Damage|Repair|Verif", 3 // the rest an operator does as a scheduler and a viewer do
			}
			tests := suiteTests(t, only, "^TestReadme|^TestScript|Random|DoesNotMove|Lint|TLS|Password|Role|Right|NoUser|FirstJob|TheUsers|EveryScript|"+skip)
			server := redistest.Start(t, redistest.Options{Users: []string{userLines(t)[use]}})
			again := exec.Command(binary, "-test.run", tests, "-test.v")
			again.Env = append(os.Environ(), userEnv+"="+string(use), userServerEnv+"="+server.Addr())
			out, err := again.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if n := strings.Count(string(out), "--- PASS: Test"); n < least {
				t.Errorf("%d tests ran as %s, want the whole suite:\n%s", n, use, out)
			}
		})
	}
}

// What a user may not do is refused, as a command and from inside a script.
func TestNoUserMayDoMore(t *testing.T) {
	lines := userLines(t)
	server := redistest.Start(t, redistest.Options{Users: []string{
		lines[protocol.UseEnqueue], lines[protocol.UseWork], lines[protocol.UseSchedule], lines[useView], lines[useOperate],
	}})
	admin := newStore(server.Client(nil), Options{})
	if _, err := admin.Partitions(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	enqueued := admin.Enqueue(t.Context(), []protocol.EnqueueCall{{Partition: defaultPartition, Caller: "c", Number: 1, Items: []protocol.EnqueueItem{job("a")}}})
	if enqueued[0].Err != nil {
		t.Fatal(enqueued[0].Err)
	}
	server.Client(nil).Set(t.Context(), "other:key", "theirs", 0)
	before := snapshot(t, server.Client(nil))
	for use := range grants {
		client := server.Client(&redis.Options{Username: "chime-" + string(use), Password: "SECRET", DisableIdentity: true})
		for _, command := range [][]any{
			{"flushall"}, {"flushdb"}, {"keys", "*"}, {"config", "get", "*"}, {"config", "set", "maxmemory", "1"}, {"script", "flush"}, {"acl", "list"},
			{"debug", "sleep", "0"}, {"shutdown"}, {"monitor"}, {"client", "kill", "id", "1"}, {"replicaof", "127.0.0.1", "1"}, {"module", "list"},
			{"get", "other:key"}, {"set", "other:key", "x"}, {"hget", "other:key", "f"}, {"hset", "other:hash", "f", "v"}, {"hset", "chimes:queues", "f", "v"},
			{"zrange", "other:key", 0, 0}, {"subscribe", "other:wake:x"}, {"subscribe", "__keyspace@0__:chime:queues"}, {"publish", "other", "x"},
		} {
			if err := client.Do(t.Context(), command...).Err(); !denied(err) {
				t.Errorf("%s: %v is answered with %v, want that it is refused", use, command, err)
			}
			if command[0] == "subscribe" || use == useView { // not from scripts; a viewer may run none that may write
				continue
			}
			inside := "return redis.call('" + strings.Trim(strings.ReplaceAll(fmt.Sprintf("%q", texts(command)), `" "`, `','`), `["]`) + "')"
			if err := client.Eval(t.Context(), inside, nil).Err(); !denied(err) && !strings.Contains(fmt.Sprint(err), "not allowed from script") {
				t.Errorf("%s: %s is answered with %v, want that it is refused", use, inside, err)
			}
		}
	}

	viewer := server.Client(&redis.Options{Username: "chime-" + string(useView), Password: "SECRET", DisableIdentity: true})
	for _, text := range []string{"return redis.call('hset', KEYS[1], 'f', 'v')", "return redis.call('get', 'other:key')"} {
		if err := viewer.EvalRO(t.Context(), text, []string{admin.keys.queues()}).Err(); err == nil {
			t.Errorf("a viewer ran %s", text)
		}
		if err := viewer.Eval(t.Context(), text, []string{admin.keys.queues()}).Err(); !denied(err) {
			t.Errorf("a viewer may run EVAL: %v", err)
		}
	}

	as := func(use protocol.Use) *store {
		return newStore(server.Client(&redis.Options{Username: "chime-" + string(use), Password: "SECRET", DisableIdentity: true}), Options{})
	}
	work := protocol.WorkCall{Partition: defaultPartition, Worker: "w", Session: "s", Number: 1, TTL: 1e9, Take: 1}
	for _, use := range []protocol.Use{protocol.UseEnqueue, useView} {
		if err := as(use).Work(t.Context(), []protocol.WorkCall{work})[0].Err; !denied(err) {
			t.Errorf("a %s took a job: %v", use, err)
		}
		declared := as(use).Declare(t.Context(), []protocol.Declaration{{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j"}`)}})
		if !denied(declared[0].Err) {
			t.Errorf("a %s declared a schedule: %v", use, declared[0].Err)
		}
	}
	if _, err := as(useView).Leader(t.Context()); err != nil {
		t.Errorf("a viewer asked who leads: %v", err)
	}
	enqueued = as(useView).Enqueue(t.Context(), []protocol.EnqueueCall{{Partition: defaultPartition, Caller: "v", Number: 1, Items: []protocol.EnqueueItem{job("b")}}})
	if _, err := as(useView).Partitions(t.Context(), "new"); !denied(err) || !denied(enqueued[0].Err) {
		t.Errorf("a viewer registered a queue: %v, and enqueued: %v", err, enqueued[0].Err)
	}
	if _, err := as(protocol.UseEnqueue).Find(t.Context(), []string{"s"}); !denied(err) {
		t.Errorf("a producer read a schedule: %v", err)
	}
	if _, err := as(protocol.UseEnqueue).Replace(t.Context(), protocol.ReplaceCall{Partition: defaultPartition, Token: "t", Item: job("a")}); !denied(err) || !errors.Is(err, protocol.ErrUnfit) {
		t.Errorf("a producer replaced a job: %v; want an error that is not waited out", err)
	}
	if after := snapshot(t, server.Client(nil)); after != before {
		t.Errorf("the keys are\n%s\nwant them as they were:\n%s", after, before)
	}
}

func texts(values []any) []string {
	all := make([]string, len(values))
	for i := range values {
		all[i] = fmt.Sprint(values[i])
	}
	return all
}

// snapshot is all that a server holds.
func snapshot(t *testing.T, client *redis.Client) string {
	t.Helper()
	var all []string
	for _, key := range client.Keys(t.Context(), "*").Val() {
		dump, err := client.Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s: %q", key, dump))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// Each right, taken away, is found when a process starts: the error names it and has the rule that grants it.
func TestAMissingRightIsNamedAtStart(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	admin := server.Client(nil)
	for _, use := range []protocol.Use{protocol.UseEnqueue, protocol.UseWork, protocol.UseSchedule} {
		g := grants[use]
		rules := strings.Fields(g.rules("chime"))
		check := func(without string) error {
			name := "u" + string(use)
			command := []any{"acl", "setuser", name, "reset", "on", ">SECRET"}
			for _, rule := range rules {
				if rule != without {
					command = append(command, rule)
				}
			}
			if err := admin.Do(t.Context(), command...).Err(); err != nil {
				t.Fatal(err)
			}
			client := server.Client(&redis.Options{Username: name, Password: "SECRET", DisableIdentity: true})
			defer client.Close()
			return newStore(client, Options{}).CheckUse(t.Context(), use, []string{"default", "mail"})
		}
		if err := check(""); err != nil {
			t.Errorf("%s with every right: %v", use, err)
		}
		for _, rule := range rules {
			switch rule {
			case "resetchannels", "-@all", "+hello", "+info", "+eval_ro", "+type", "+ping":
				continue // not rights, or ones without which it works
			}
			err := check(rule)
			if !errors.Is(err, protocol.ErrUnfit) || !strings.Contains(err.Error(), "ACL SETUSER u"+string(use)) || !strings.HasSuffix(err.Error(), " "+rule) {
				t.Errorf("%s without %s: %v, want ErrUnfit that ends with the rule", use, rule, err)
			}
		}
	}
	if n := admin.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("the checks wrote %d keys: %v", n, admin.Keys(t.Context(), "*").Val())
	}
}

// A key without a type would not be checked for another program's, and no rule would be tried for it.
func TestEveryKeyOfAPartitionHasItsType(t *testing.T) {
	p := keyspace("chime").partition(defaultPartition)
	types := p.types()
	for field, value := range reflect.ValueOf(p).Fields() {
		if field.Name != "prefix" && types[value.String()] == "" {
			t.Errorf("types() does not have the key %s", field.Name)
		}
	}
}
