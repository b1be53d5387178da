package command_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
)

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
	for _, verb := range []string{"show", "pause", "resume", "limit", "purge", "delete"} {
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
