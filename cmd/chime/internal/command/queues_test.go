package command_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
)

// The errors of jobs that are gone remain.
func TestTheErrorsOfAQueueAreListed(t *testing.T) {
	s := newShop(t)
	if _, err := chime.NewJobs(s.store).Delete(t.Context(), chime.JobFilter{Queue: "media", State: chime.JobDead}, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want wants
	}{
		{"queues errors media", wants{out: []string{"FAILED  JOB", "ERROR", "VERSIONS", "    12  resize  dial #.#.#.#: connection refused", "times are UTC"}}},
		{"queues errors mail --job import", wants{out: []string{"     1  import  \\x#b[#mred"}}},
		{"queues errors mail --json", wants{out: []string{`"shape": "no such customer #"`, `"failed": 3`, `"last_id": "m0`}}},
		{"queues errors mail --job nothing", wants{err: []string{"no attempt on queue mail has failed"}}},
		{"queues errors mial", wants{code: 3}},
	} {
		args := strings.Fields(c.args)
		c.want.check(t, s.Run(t, args...), args...)
	}
}

func TestQueuesAreListedAndShown(t *testing.T) {
	s := newShop(t)
	if err := chime.NewQueues(s.store).Pause(t.Context(), "mail", chime.Note{Text: "moving house", By: "anna"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want wants
	}{
		{"queues list", wants{out: []string{
			"QUEUE    STATE        WAIT  DELAYED  RUN  DEAD  PARKED  OLDEST  IN/MIN  OUT/MIN  FAIL/MIN  WORKERS\n",
			"mail     ‖ paused        0        2    0     3       0", "default  ⚠ no worker     1        1    0     0       0",
		}}},
		{"queues list -o name", wants{out: []string{"default\nmail\nmedia\n"}}},
		{"queues list --json", wants{out: []string{`"name": "media"`, `"dead": 12`, `"workers": 0`}}},
		{"queues show mail", wants{out: []string{"mail  ‖ paused", "Paused     by anna: moving house", "Limit      none", "Dead       3", "3 jobs dead"}}},
		{"queues show media", wants{out: []string{"media  ⚠ no worker\nNo live worker serves it, so none of its jobs runs.\n\n"}}},
		{"verify", wants{out: []string{"no live worker serves default", "jobs wait there"}}},
		{"queues show mail --json", wants{out: []string{`"paused": true`, `"by": "anna"`}}},
		{"queues show mial", wants{code: 3, err: []string{`queue "mial": not found; did you mean "mail"?`}}},
		{"jobs list queue:mial", wants{code: 3, err: []string{`queue "mial": not found; did you mean "mail"?`}}},
		{"queues show", wants{code: 2}},
	} {
		args := strings.Fields(c.args)
		c.want.check(t, s.Run(t, args...), args...)
	}
}

func TestInstantsOfQueuesAreUTC(t *testing.T) {
	s := newShop(t)
	got := s.Run(t, "queues", "list", "--json", "--zone", "Asia/Kathmandu")
	for line := range strings.Lines(got.Out) {
		if (strings.Contains(line, `"now"`) || strings.Contains(line, `"oldest"`)) && !strings.Contains(line, `Z"`) {
			t.Errorf("printed %s, want UTC", line)
		}
	}
}

func TestQueuesArePausedLimitedPurgedAndDeleted(t *testing.T) {
	s := newShop(t)
	s.Env["USER"] = "anna"
	for _, c := range []struct {
		args  string
		typed string
		want  wants
	}{
		{"pause mail --note moving", "", wants{out: []string{"Paused mail.\n"}}},
		{"show mail", "", wants{out: []string{"by anna: moving"}}},
		{"resume mail --json", "", wants{out: []string{`"action": "resume"`}}},
		{"pause nothing", "", wants{code: 3, err: []string{`queue "nothing": not found`}}},
		{"pause mail --read-only", "", wants{code: 4}},
		{"resume mail --read-only", "", wants{code: 4}},
		{"limit mail --read-only --running 1", "", wants{code: 4}},
		{"purge mail --read-only --confirm mail", "", wants{code: 4}},
		{"delete mail --read-only -y", "", wants{code: 4}},
		{"limit mail", "", wants{code: 2, err: []string{"want --running or --starts"}}},
		{"limit mail --running 10", "", wants{out: []string{"Limit of mail: 10 at once.\n"}}},
		{"limit mail --starts 100/m", "", wants{out: []string{"Limit of mail: 10 at once, 100 starts in 1m.\n"}}},
		{"limit mail --running 0 --json", "", wants{out: []string{`"starts": 100`, `"per_ms": 60000`}}},
		{"limit mail --starts 0", "", wants{out: []string{"Limit of mail: none.\n"}}},
		{"limit mail --starts many", "", wants{code: 2, err: []string{`--starts "many": want a number and a time`}}},
		{"limit mail --starts 5/long", "", wants{code: 2, err: []string{`--starts "5/long"`}}},
		{"limit mail --running -1", "", wants{code: 2, err: []string{"-1"}}},
		{"limit nothing --running 1", "", wants{code: 3}},
		{"purge mail --confirm media", "", wants{code: 2, err: []string{`--confirm "media": want the name of the queue, mail`}}},
		{"purge mail", "", wants{code: 4, err: []string{"nothing was changed"}}},
		{"purge mail", "y\n", wants{code: 4, err: []string{"Delete 0 waiting, 2 delayed, 0 parked and 3 dead jobs of queue mail? Type mail to continue: "}}},
		{"purge mail", "mail\n", wants{out: []string{"5 jobs of mail deleted.\n"}, err: []string{"Type mail"}}},
		{"purge media --confirm media --json", "", wants{out: []string{`"action": "purge"`, `"changed": 13`}}},
		{"delete default -y", "", wants{code: 4, err: []string{"chime queues purge default deletes its jobs"}}},
		{"delete mail", "", wants{code: 4, err: []string{"-y is not given"}}},
		{"delete mail", "y\n", wants{out: []string{"Deleted mail.\n"}, err: []string{"Delete queue mail, its limit and its counts? [y/N] "}}},
		{"show mail", "", wants{code: 3}},
	} {
		s.Typed, s.Asks = c.typed, c.typed != ""
		args := append([]string{"queues"}, strings.Fields(c.args)...)
		c.want.check(t, s.Run(t, args...), args...)
	}
}

func TestAPurgeCanBeInterrupted(t *testing.T) {
	s := emptyShop(t)
	var items []chime.Item
	for i := range 3 {
		items = append(items, chime.Item{Name: "report", Options: []chime.EnqueueOption{chime.ID(fmt.Sprint(i))}})
	}
	s.enqueue(t, items...)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if got := s.RunContext(t, ctx, "queues", "purge", "default", "--confirm", "default"); got.Code != 130 {
		t.Errorf("exit %d, %s; want 130", got.Code, got.Err)
	}
}

func TestTheFirstArgumentIsCompletedAsAQueue(t *testing.T) {
	s := newShop(t)
	for _, verb := range []string{"show", "groups", "rule", "pause", "resume", "limit", "purge", "delete"} {
		if got := s.Run(t, "__complete", "queues", verb, "me"); !strings.HasPrefix(got.Out, "media\n") {
			t.Errorf("%s: completed as %q, want media", verb, got.Out)
		}
		if got := s.Run(t, "__complete", "queues", verb, "media", "m"); strings.Contains(got.Out, "m\n") || strings.Contains(got.Out, "mail") {
			t.Errorf("%s: a second queue is completed as %q", verb, got.Out)
		}
	}
}

func TestTheGroupsOfAQueueAreListed(t *testing.T) {
	s := newShop(t)
	queues := chime.NewQueues(s.store)
	for _, group := range []string{"t1", "t1", "t2"} {
		s.enqueue(t, chime.Item{Name: "export", Options: []chime.EnqueueOption{chime.Queue("mail"), chime.Group(group)}})
	}
	if err := queues.SetGroup(t.Context(), "mail", "t1", chime.GroupRule{Weight: 5, Ordered: chime.On}); err != nil {
		t.Fatal(err)
	}
	if err := queues.PauseGroup(t.Context(), "mail", "t2"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want wants
	}{
		{"queues groups mail", wants{out: []string{"GROUP  BLOCKED  WAIT  RUN  WEIGHT", "t1                 2    0       5", "in order", "t2     paused      1    0       1"}}},
		{"queues groups mail --paused -o name", wants{out: []string{"t2\n"}}},
		{"queues groups mail --prefix t1 --json", wants{out: []string{`"key": "t1"`, `"ordered": "on"`, `"waiting": 2`}}},
		{"queues groups mail --limit 0", wants{code: 2}},
		{"queues groups mial", wants{code: 3}},
	} {
		args := strings.Fields(c.args)
		c.want.check(t, s.Run(t, args...), args...)
	}
}

func TestGroupsAreRuledPausedAndPurged(t *testing.T) {
	s := newShop(t)
	s.Env["USER"] = "anna"
	for range 3 {
		s.enqueue(t, chime.Item{Name: "export", Options: []chime.EnqueueOption{chime.Queue("mail"), chime.Group("t 1")}})
	}
	group := func() *chime.GroupInfo {
		t.Helper()
		info, err := chime.NewQueues(s.store).Group(t.Context(), "mail", "t 1")
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	for _, c := range []struct {
		args  string // _ is a space within an argument
		typed string
		want  wants
	}{
		{"group set mail t_1", "", wants{code: 2, err: []string{"want at least one of --weight, --running, --starts, --ordered, --waiting"}}},
		{"group set mail t_1 --weight 5 --running 10 --starts 100/m", "", wants{out: []string{"Rule of group t 1 of mail: weight 5, 10 at once, 100 starts in 1m.\n"}}},
		{"group set mail t_1 --running none --starts 0 --ordered off", "", wants{out: []string{"Rule of group t 1 of mail: weight 5, in no order, any number at once.\n"}}},
		{"group set mail t_1 --waiting 1000 --json", "", wants{out: []string{`"action": "set"`, `"group": "t 1"`, `"waiting": 1000`, `"running": -1`}}},
		{"group set mail t_1 --running -1", "", wants{code: 2, err: []string{`--running "-1": want a number, none for no limit, or 0`}}},
		{"group set mail t_1 --running many", "", wants{code: 2, err: []string{`--running "many"`}}},
		{"group set mail t_1 --starts many", "", wants{code: 2, err: []string{`--starts "many": want a number and a time as 100/1m, none for no limit, or 0`}}},
		{"group set mail t_1 --starts -1/1m", "", wants{code: 2, err: []string{`--starts "-1/1m"`}}},
		{"group set mail t_1 --ordered maybe", "", wants{code: 2, err: []string{`--ordered "maybe": want on, off or 0`}}},
		{"group set mail t_1 --weight 1001", "", wants{code: 2, err: []string{"GroupRule.Weight", "1001", "1000"}}},
		{"group set mail t_1 --ordered on --running 2", "", wants{code: 2, err: []string{"GroupRule.Running", "Ordered"}}},
		{"group set mial t_1 --weight 2", "", wants{code: 3, err: []string{`queue "mial": not found; did you mean "mail"?; the first job, schedule or worker that uses a name creates its queue`}}},
		{"group set mail t_1 --weight 2 --read-only", "", wants{code: 4}},
		{"group show mail t_1", "", wants{out: []string{"t 1  ● live\n", "Waiting    3", "Own rule   weight 5, 1,000 waiting, in no order, any number at once", "In effect  weight 5"}}},
		{"rule mail --running 2 --ordered 0", "", wants{out: []string{"Rule of all groups of mail: 2 at once.\n"}}},
		{"rule mail --weight 3 --json", "", wants{out: []string{`"action": "rule"`, `"weight": 3`, `"running": 2`}}},
		{"rule mail", "", wants{code: 2}},
		{"rule mail --weight 0 --running 0 --read-only", "", wants{code: 4}},
		{"rule nothing --weight 1", "", wants{code: 3, err: []string{"creates its queue"}}},
		{"show mail", "", wants{out: []string{"Rule of groups  weight 3, 2 at once", "Groups          1 may start a job, none is blocked"}}},
		{"group pause mail t_1 --note moving", "", wants{out: []string{"Paused group t 1 of mail.\n"}}},
		{"group show mail t_1", "", wants{out: []string{"‖ paused", "Paused     by anna: moving"}}},
		{"show mail", "", wants{out: []string{"Groups          0 may start a job, 1 is blocked (1 paused)"}}},
		{"group pause mail t_1 --read-only", "", wants{code: 4}},
		{"group reset mail t_1", "", wants{out: []string{"Removed the rule of group t 1 of mail.\n"}}},
		{"group show mail t_1 --json", "", wants{out: []string{`"paused": true`, `"weight": 3`}}},
		{"group resume mail t_1 --json", "", wants{out: []string{`"action": "resume"`}}},
		{"group show mail", "", wants{code: 2}},
		{"group purge mail t_1", "", wants{code: 4, err: []string{"nothing was changed"}}},
		{"group purge mail t_1", "y\n", wants{code: 4, err: []string{"Delete 3 waiting jobs of group t 1 of queue mail? Type t 1 to continue: "}}},
		{"group purge mail t_1 --confirm other", "", wants{code: 2, err: []string{`--confirm "other": want the name of the group, t 1`}}},
		{"group purge mail t_1 --read-only -y", "", wants{code: 4}},
		{"group purge mail t_1", "t 1\n", wants{out: []string{"3 jobs of group t 1 of mail deleted.\n"}, err: []string{"Type t 1"}}},
		{"group purge mail t_1 --confirm t_1 --json", "", wants{out: []string{`"action": "purge"`, `"changed": 0`, `"group": "t 1"`}}},
	} {
		s.Typed, s.Asks = c.typed, c.typed != ""
		args := append([]string{"queues"}, strings.Fields(c.args)...)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		c.want.check(t, s.Run(t, args...), args...)
	}
	if g := group(); g.Own != (chime.GroupRule{}) || g.Effective != (chime.GroupRule{Weight: 3, Running: 2}) || g.Paused || g.Waiting != 0 {
		t.Errorf("at the end: %+v", g)
	}
}

func TestGroupsAreCompleted(t *testing.T) {
	s := newShop(t)
	for _, group := range []string{"tenant-1", "tenant-2", "other"} {
		s.enqueue(t, chime.Item{Name: "export", Options: []chime.EnqueueOption{chime.Queue("mail"), chime.Group(group)}})
	}
	for _, c := range []struct{ args, want string }{{"me", "media\n"}, {"mail ten", "tenant-1\ntenant-2\n"}, {"mail tenant-1 x", ":"}, {"nothing t", ":"}} {
		args := append([]string{"__complete", "queues", "group", "show"}, strings.Fields(c.args)...)
		if got := s.Run(t, args...); !strings.HasPrefix(got.Out, c.want) {
			t.Errorf("%s: completed as %q, want %q", c.args, got.Out, c.want)
		}
	}
}
