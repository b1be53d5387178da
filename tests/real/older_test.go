//go:build real && unix

package real_test

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// An olderProgram is a hook that makes a client that of a program that knows the layout before groups: it sends the scripts with that number. What such
// a program may do to a queue with groups depends on its scripts alone, and each script that moves, ends or buries a job compares this number first.
type olderProgram struct{ texts map[string]string } // digest of a script → its text with the earlier number

// layoutLine is the number of the layout in a script; older returns the script with that before groups.
var layoutLine = regexp.MustCompile(`local LAYOUT = '\d+'`)

func older(script string) string { return layoutLine.ReplaceAllString(script, "local LAYOUT = '3'") }

func newOlderProgram() olderProgram {
	p := olderProgram{map[string]string{}}
	for _, text := range redisstore.Scripts() {
		digest := sha1.Sum([]byte(text))
		p.texts[hex.EncodeToString(digest[:])] = older(text)
	}
	return p
}

func (p olderProgram) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (p olderProgram) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		p.replace(cmd)
		return next(ctx, cmd)
	}
}

func (p olderProgram) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			p.replace(cmd)
		}
		return next(ctx, cmds)
	}
}

// replace makes a call of a script one of the script with the earlier number.
func (p olderProgram) replace(cmd redis.Cmder) {
	args := cmd.Args()
	switch cmd.Name() {
	case "evalsha", "evalsha_ro":
		if text, ok := p.texts[fmt.Sprint(args[1])]; ok {
			args[0], args[1] = strings.Replace(cmd.Name(), "evalsha", "eval", 1), text
		}
	case "eval", "eval_ro":
		args[1] = older(fmt.Sprint(args[1]))
	}
}

func (p program) olderStore() *redisstore.Store {
	client := redis.NewClient(&redis.Options{Addr: p.Addr, ContextTimeoutEnabled: true}) // else the store uses a copy without the hook for some calls
	client.AddHook(newOlderProgram())
	return redisstore.New(client, redisstore.Options{Logger: slog.New(slog.DiscardHandler)})
}

// A sayer sends each log line of a child as an event.
type sayer struct{ c *childproc.Child }

func (sayer) Enabled(context.Context, slog.Level) bool { return true }

func (s sayer) Handle(_ context.Context, r slog.Record) error {
	text := ""
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	s.c.Say("log %s%s", r.Message, text)
	return nil
}

func (s sayer) WithAttrs([]slog.Attr) slog.Handler { return s }
func (s sayer) WithGroup(string) slog.Handler      { return s }

// groupedProcess is a worker that reports when each job begins and ends; olderProcess is an older program that works and schedules.
func groupedProcess(c *childproc.Child) error { return workOnGroups(c, program.store, false) }
func olderProcess(c *childproc.Child) error   { return workOnGroups(c, program.olderStore, true) }

func workOnGroups(c *childproc.Child, open func(program) *redisstore.Store, schedules bool) error {
	var p program
	if err := c.Config(&p); err != nil {
		return err
	}
	store := open(p)
	worker := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, SessionTTL: quickTTL, Logger: slog.New(sayer{c})})
	worker.Handle("work", func(ctx context.Context, job *chime.Job) error {
		c.Say("began %s at %d", job.ID, time.Now().UnixMicro())
		time.Sleep(p.Work) // the work; real time
		c.Say("ended %s at %d", job.ID, time.Now().UnixMicro())
		return nil
	})
	roles := []chime.Role{worker}
	if schedules {
		roles = append(roles, chime.NewScheduler(store, chime.SchedulerOptions{LeaderTTL: quickTTL, SafetyTick: time.Second, Logger: slog.New(sayer{c})}))
	}
	return run(c, roles...)
}

// A groupedRun is a run of a job of a group, in µs; ended is 0 if its worker was killed.
type groupedRun struct {
	id           string
	began, ended int64
}

// runsOf returns the runs that a process has reported.
func runsOf(p *childproc.Process) (runs []groupedRun) {
	at := map[string]int{}
	for _, line := range p.Events() {
		words := strings.Fields(line)
		if len(words) != 4 || words[0] != "began" && words[0] != "ended" {
			continue
		}
		us, _ := strconv.ParseInt(words[3], 10, 64)
		if words[0] == "began" {
			at[words[1]] = len(runs)
			runs = append(runs, groupedRun{words[1], us, 0})
		} else {
			runs[at[words[1]]].ended = us
		}
	}
	return runs
}

// groupIn returns the group of a job.
func groupIn(id string) string {
	group, _, _ := strings.Cut(id, ".")
	return group
}

// An older program works, leads and enqueues beside newer ones. As soon as a queue has groups it takes nothing there, reaps no session and adds no job,
// and logs that it must be upgraded. The newer ones lose and double nothing, and no job overtakes another one of its ordered group, also if a worker
// is killed.
func TestAnOlderProgramRefusesGroups(t *testing.T) {
	const groups, each = 6, 30
	server := redistest.Start(t, redistest.Options{})
	p := program{Addr: server.Addr(), Work: 20 * time.Millisecond}
	if !slices.ContainsFunc(redisstore.Scripts(), layoutLine.MatchString) {
		t.Fatalf("no script has the line %s any more: change it here", layoutLine)
	}
	older := childproc.Start(t, "older", p)
	older.Await("log chime: this scheduler is the leader")
	enqueuerBefore := chime.NewEnqueuer(p.olderStore(), chime.EnqueuerOptions{SendTimeout: time.Second})
	if _, err := enqueuerBefore.Enqueue(t.Context(), "work", nil, chime.ID("plain")); err != nil {
		t.Fatal(err)
	}
	older.Await("ended plain")

	var newer []*childproc.Process
	for range 3 {
		newer = append(newer, childproc.Start(t, "grouped", p))
		newer[len(newer)-1].Await("ready")
	}
	if err := chime.NewQueues(p.store()).SetGroups(t.Context(), "default", chime.GroupRule{Ordered: chime.On}); err != nil {
		t.Fatal(err)
	}
	enqueuer := chime.NewEnqueuer(p.store(), chime.EnqueuerOptions{})
	var items []chime.Item
	for i := range groups * each {
		group := fmt.Sprint("g", i%groups)
		items = append(items, chime.Item{Name: "work", Options: []chime.EnqueueOption{chime.ID(fmt.Sprintf("%s.%03d", group, i/groups)), chime.Group(group)}})
	}
	if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	if _, err := chime.NewEnqueuer(p.olderStore(), chime.EnqueuerOptions{SendTimeout: time.Second}).Enqueue(t.Context(), "work", nil, chime.In(time.Hour)); err == nil || !strings.Contains(err.Error(), "upgrade it") {
		t.Errorf("an older program enqueues: %v, want an error that demands an upgrade", err)
	}
	newer[0].Await("began g")
	newer[0].Kill()
	newer[0].Wait()
	until(t, "all jobs are done", func() bool {
		info, err := chime.NewQueues(p.store()).Get(t.Context(), "default")
		return err == nil && info.Done == groups*each+1
	})
	older.Await("log") // it has logged something since it ran the plain job
	until(t, "the older program logs that it must be upgraded", func() bool {
		return slices.ContainsFunc(older.Events(), func(line string) bool { return strings.HasPrefix(line, "log ") && strings.Contains(line, "upgrade it") })
	})

	if runs := runsOf(older); len(runs) != 1 {
		t.Errorf("the older program ran %+v, want the plain job alone", runs)
	}
	byGroup := map[string][]groupedRun{}
	killed := map[string]groupedRun{} // group → the last run of the killed worker
	for _, r := range runsOf(newer[0]) {
		killed[groupIn(r.id)] = r
	}
	again := map[string]bool{} // jobs that ran elsewhere
	for _, process := range newer[1:] {
		for _, r := range runsOf(process) {
			again[r.id] = true
		}
	}
	for i, process := range newer {
		for _, r := range runsOf(process) {
			if i == 0 && r == killed[groupIn(r.id)] && again[r.id] {
				r.ended = 0 // the worker was killed before the store had this end
			}
			if r.ended == 0 && i > 0 {
				t.Errorf("%s has not ended, and its worker was not killed", r.id)
			}
			byGroup[groupIn(r.id)] = append(byGroup[groupIn(r.id)], r)
		}
	}
	for group, runs := range byGroup {
		slices.SortFunc(runs, func(a, b groupedRun) int { return cmp.Compare(a.began, b.began) })
		ended := map[string]int{}
		for i, r := range runs {
			if ended[r.id]++; r.ended == 0 {
				ended[r.id]--
			}
			if i == 0 {
				continue
			}
			before := runs[i-1]
			if r.id < before.id || r.id == before.id && before.ended != 0 || r.id > before.id && (before.ended == 0 || r.began < before.ended) {
				t.Errorf("group %s: %+v came after %+v", group, r, before)
			}
		}
		if len(ended) != each {
			t.Errorf("group %s: %d jobs have run, want %d", group, len(ended), each)
		}
		for id, n := range ended {
			if n != 1 {
				t.Errorf("%s was done %d times", id, n)
			}
		}
	}
	if len(byGroup) != groups {
		t.Errorf("%d groups have run, want %d", len(byGroup), groups)
	}
	for _, line := range older.Events() {
		if strings.HasPrefix(line, "log ") {
			t.Log("older: " + line)
		}
	}
}
