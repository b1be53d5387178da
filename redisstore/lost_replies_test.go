package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

var errLost = errors.New("the reply was lost")

// A lossy is a hook of a client that loses the reply of one command or pipeline, the n-th from 0, after it was executed.
type lossy struct{ left *int }

func (l lossy) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (l lossy) lose() bool { *l.left--; return *l.left == -1 }

func (l lossy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if l.lose() && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			cmd.SetErr(errLost)
			return errLost
		}
		return err
	}
}

func (l lossy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if l.lose() {
			for _, cmd := range cmds {
				cmd.SetErr(errLost)
			}
			return errLost
		}
		return err
	}
}

// An action with any lost reply is repeated, and the result is the same as without the loss: there is no conflict with itself, and nothing is
// done, counted or recorded twice.
func TestAnActWhoseReplyIsLostMayBeRepeated(t *testing.T) {
	type act struct {
		name string
		does func(s *store, r int64) error
	}
	declare := func(change func(d *protocol.Declaration)) func(s *store, r int64) error {
		return func(s *store, r int64) error {
			d := protocol.Declaration{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j","recurrence":{"cron":"@daily"}}`), Revision: r}
			change(&d)
			return s.Declare(t.Context(), []protocol.Declaration{d})[0].Err
		}
	}
	until := storesuite.Ago(0)
	measuredOnce := &protocol.Measured{Number: 1, Run: protocol.Durations{3}, Names: []protocol.MeasuredName{{Name: "j", Done: 3, Run: protocol.Durations{3}}},
		Shapes: []protocol.MeasuredShape{{Name: "j", Shape: "no bank", Version: "v1", Count: 2, First: until, Last: until, ID: "j1"}}}
	acts := []act{
		{name: "a change of a revision", does: declare(func(d *protocol.Declaration) { d.Body = []byte(`{"job":"k","recurrence":{"cron":"@daily"}}`) })},
		{name: "a change of a revision that moves", does: declare(func(d *protocol.Declaration) {
			d.Queue, d.Body = "mail", []byte(`{"job":"k","recurrence":{"cron":"@daily"}}`)
		})},
		{name: "a creation of a missing schedule, paused", does: declare(func(d *protocol.Declaration) {
			d.Name, d.Revision, d.Absent, d.Paused = "new", 0, true, &protocol.Note{Text: "wait"}
		})},
		{name: "a declaration of an owner", does: declare(func(d *protocol.Declaration) { d.Revision, d.Owner = 0, protocol.Owner{Name: "a", Version: 2} })},
		{name: "a declaration of an owner that moves", does: declare(func(d *protocol.Declaration) {
			d.Revision, d.Queue, d.Owner = 0, "mail", protocol.Owner{Name: "a", Version: 2}
		})},
		{name: "a pause", does: func(s *store, r int64) error {
			_, err := s.PauseSchedule(t.Context(), protocol.Pausing{Name: "s", Paused: true, Revision: r, Note: &protocol.Note{Text: "why"}})
			return err
		}},
		{name: "a resumption without the gap", does: func(s *store, _ int64) error {
			p := protocol.Pausing{Name: "paused", SkipGap: true}
			answer, err := s.PauseSchedule(t.Context(), p)
			if err != nil || !answer.Recount {
				return err
			}
			p.Change = &protocol.Change{Revision: answer.Revision, Cursor: answer.Cursor, Until: until, Missed: 7}
			_, err = s.PauseSchedule(t.Context(), p)
			return err
		}},
		{name: "a deletion with the waiting jobs", does: func(s *store, r int64) error {
			_, err := s.Remove(t.Context(), protocol.Removal{Name: "s", Revision: r, Waiting: true})
			return err
		}},
		{name: "a backfill", does: func(s *store, r int64) error {
			var jobs []protocol.BackfilledJob
			for h := range 4 {
				jobs = append(jobs, protocol.BackfilledJob{ID: storesuite.OccurrenceID("s", until.Add(time.Duration(h-5)*time.Hour)), Body: []byte("\x01again")})
			}
			_, err := s.Backfill(t.Context(), protocol.Backfilling{Name: "s", Revision: r, Jobs: jobs})
			return err
		}},
		{name: "a sweep with a burial", does: func(s *store, _ int64) error {
			answer := s.Sweep(t.Context(), []protocol.Partition{storesuite.DefaultPartition}, 0)[0]
			if answer.Err != nil || len(answer.Expired) == 0 {
				return answer.Err
			}
			_, err := s.Bury(t.Context(), storesuite.DefaultPartition, []protocol.Burial{{ExpiredJob: answer.Expired[0], Dead: []byte(withDeath + "!"), Follower: &protocol.Follower{Body: []byte(alert)}}})
			return err
		}},
		{name: "a pruning", does: func(s *store, _ int64) error {
			_, _, err := s.Prune(t.Context(), protocol.Owner{Name: "a", Version: 2}, "")
			return err
		}},
		{name: "a sample, the first of an hour", does: func(s *store, _ int64) error {
			return s.Sample(t.Context(), []protocol.Partition{storesuite.DefaultPartition}, 1)[0].Err
		}},
		{name: "a call with measurements", does: func(s *store, _ int64) error {
			return s.Work(t.Context(), []protocol.WorkCall{{
				Partition: storesuite.DefaultPartition, Worker: "w-busy", Session: "busy", Number: 2, TTL: time.Minute, Take: 1, Measured: measuredOnce,
			}})[0].Err
		}},
		{name: "an end of a session with measurements", does: func(s *store, _ int64) error {
			return s.CloseSession(t.Context(), storesuite.DefaultPartition, "idle", measuredOnce)
		}},
	}
	changing := regexp.MustCompile(`\d{10,}|\d{4}-\d\d-\d\dT[0-9:.]+Z|[A-Z2-7]{26}`) // instants, revisions, generations and names of calls
	for _, a := range acts {
		onServersWith(t, settableClock, func(b *bench) {
			once := func(lost int) (state string, was bool) {
				b.flush()
				fresh := newStore(b.client, Options{Namespace: string(b.store.keys)})
				kept := b.store
				b.use(fresh)
				defer b.use(kept)
				b.Owns("default", "owned", protocol.Owner{Name: "a", Version: 1})
				stored := b.Scheduled("s", "skip", storesuite.Ago(time.Minute), storesuite.Ago(-time.Hour))
				waiting := storesuite.OccurrenceID("s", storesuite.Ago(time.Hour)) // once: the next second has another one
				b.client.ZAdd(b.Context(), b.keys().due, redisZ(9e12, waiting))
				b.client.HSet(b.Context(), b.keys().jobs, waiting, "\x01waits")
				b.expired("parked", withDeath, "mail", 1.5)
				b.Scheduled("paused", "skip", storesuite.Ago(-time.Hour))
				if _, err := storesuite.PauseSchedule(b.Context(), fresh, "paused", true); err != nil {
					b.Fatal(err)
				}
				b.worksAndIsSampled(until)
				client := newClient(b.client)
				defer client.Close()
				left := lost
				client.AddHook(lossy{&left})
				beside := newStore(client, Options{Namespace: string(b.store.keys)})
				err := a.does(beside, stored.Revision)
				if was = left < 0 && lost >= 0; was && err != nil && !errors.Is(err, errLost) {
					b.Errorf("%s, reply %d lost: %v", a.name, lost, err)
				}
				if err != nil {
					err = a.does(fresh, stored.Revision)
				}
				if err != nil {
					b.Errorf("%s, reply %d lost, repeated: %v", a.name, lost, err)
				}
				for _, queue := range []string{"default", "mail"} { // a ticker finds a move that is not complete
					p := protocol.Partition{Queue: queue}
					owed := b.store.keys.partition(p).owed
					for _, name := range b.client.ZRange(b.Context(), owed, 0, -1).Val() {
						b.client.ZAdd(b.Context(), owed, redisZ(1000, name))
					}
					if _, err := fresh.Owed(b.Context(), []protocol.Partition{p}); err != nil {
						b.Fatal(err)
					}
				}
				var lines []string
				for _, key := range b.client.Keys(b.Context(), "*").Val() {
					switch b.client.Type(b.Context(), key).Val() {
					case "hash":
						for field, value := range b.client.HGetAll(b.Context(), key).Val() {
							lines = append(lines, fmt.Sprint(key, " ", field, " ", value))
						}
					case "zset":
						for _, member := range b.client.ZRange(b.Context(), key, 0, -1).Val() {
							lines = append(lines, fmt.Sprint(key, " ", member))
						}
					case "list":
						lines = append(lines, fmt.Sprint(key, " ", b.client.LRange(b.Context(), key, 0, -1).Val()))
					case "stream":
						for _, entry := range b.client.XRange(b.Context(), key, "-", "+").Val() {
							lines = append(lines, fmt.Sprint(key, " ", entry.ID, " ", entry.Values))
						}
					}
				}
				for i := range lines {
					lines[i] = changing.ReplaceAllString(lines[i], "#")
				}
				slices.Sort(lines)
				return fmt.Sprintf("%q", lines), was
			}
			want, _ := once(-1)
			lost := 0
			for {
				got, was := once(lost)
				if !was {
					break
				}
				if got != want {
					b.Errorf("%s, reply %d lost: the keys are\n%s\nwant\n%s", a.name, lost, got, want)
				}
				lost++
			}
			if lost < 2 {
				b.Errorf("%s: %d replies were lost, want each", a.name, lost)
			}
		})
	}
}

// worksAndIsSampled gives the default queue a session that holds a job and one that holds none, and a last sample of the hour before.
func (b *bench) worksAndIsSampled(now time.Time) {
	b.Helper()
	b.Numbers = map[string]int64{}
	b.SetClock(now.Add(-time.Hour))
	b.Sample()
	b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"))
	b.SetClock(now.Add(-time.Hour + time.Minute))
	b.Sample()
	b.SetClock(now)
	b.Take("busy", 1)
	held := b.Take("idle", 1)[0]
	b.Settle("idle", protocol.Settlement{ID: held.ID, Fence: held.Fence, Kind: protocol.SettleDone})
	b.client.HSet(b.Context(), b.keys().measured, "R", "0:1", "nk", "d:1 0:1", "names", "\tk")
}

// A copy of a call about a queue or its groups that arrives after a later call changes nothing: a pause that has ended does not begin again.
func TestALateCopyOfAPauseALimitOrARuleChangesNothing(t *testing.T) {
	type act = func(s *store) error
	pause := func(paused bool) act {
		return func(s *store) error { return s.PauseQueue(t.Context(), "default", paused, protocol.Note{}) }
	}
	pauseGroup := func(paused bool) act {
		return func(s *store) error { return s.PauseGroup(t.Context(), "default", "a", paused, protocol.Note{}) }
	}
	limit := func(limit protocol.QueueLimit) act {
		return func(s *store) error { return s.LimitQueue(t.Context(), "default", limit) }
	}
	rule := func(rule protocol.GroupRule) act {
		return func(s *store) error { return s.SetGroup(t.Context(), "default", "a", rule) }
	}
	rules := func(rule protocol.GroupRule) act {
		return func(s *store) error { return s.SetGroups(t.Context(), "default", rule) }
	}
	for what, acts := range map[string][3]act{ // before; the one that is copied; after
		"pause":                 {pause(false), pause(true), pause(false)},
		"second pause":          {pause(true), pause(true), pause(false)},
		"resumption":            {pause(true), pause(false), pause(true)},
		"limit":                 {pause(false), limit(protocol.QueueLimit{Running: 2}), limit(protocol.QueueLimit{})},
		"removal of a limit":    {limit(protocol.QueueLimit{Running: 2}), limit(protocol.QueueLimit{}), limit(protocol.QueueLimit{Running: 2})},
		"pause of a group":      {pause(false), pauseGroup(true), pauseGroup(false)},
		"resumption of a group": {pauseGroup(true), pauseGroup(false), pauseGroup(true)},
		"rule of a group":       {pause(false), rule(protocol.GroupRule{Running: 1}), rule(protocol.GroupRule{})},
		"same rule of a group":  {rule(protocol.GroupRule{Running: 1}), rule(protocol.GroupRule{Running: 1}), rule(protocol.GroupRule{})},
		"rule of all groups":    {pause(false), rules(protocol.GroupRule{Running: 1}), rules(protocol.GroupRule{Running: 2})},
	} {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Enqueue(inGroup("a", "a1"), storesuite.Job("plain"))
				var copies [][]any
				sender := b.hooked(func(cmd redis.Cmder) error {
					if name := cmd.Name(); name == "eval" || name == "evalsha" {
						copies = append(copies, cmd.Args())
					}
					return nil
				})
				for i, s := range []*store{b.store, sender, b.store} {
					if err := acts[i](s); err != nil {
						b.Fatal(err)
					}
				}
				snapshot := func() string {
					k := b.keys()
					return fmt.Sprint(b.client.HGetAll(b.Context(), k.state).Val(), b.client.HGetAll(b.Context(), k.grules).Val(), b.client.ZRange(b.Context(), k.idle, 0, -1).Val(),
						b.client.ZRange(b.Context(), k.turns, 0, -1).Val())
				}
				before := snapshot()
				if len(copies) == 0 {
					b.Fatal("no call was sent")
				}
				for _, args := range copies {
					if err := b.client.Do(b.Context(), args...).Err(); err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
						b.Fatal(err)
					}
				}
				b.Want("after the copy", snapshot(), before)
			})
		})
	}
}
