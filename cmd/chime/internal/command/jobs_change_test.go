package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/command"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
)

func TestJobsAreRequeuedCancelledAndDeletedAfterAQuestion(t *testing.T) {
	for _, c := range []struct {
		args  string
		typed string // "": no terminal
		want  wants
		dead  int64 // dead jobs left on queue media, of 12
	}{
		{"requeue r00 r01 -y", "", wants{out: []string{"2 jobs requeued.\n"}}, 10},
		{"requeue r00", "y\n", wants{out: []string{"1 job requeued.\n"}, err: []string{"Requeue 1 job, media/r00 (1 dead; on queue media)? [y/N] "}}, 11},
		{"requeue r00", "\n", wants{code: 4, err: []string{"declined; nothing was changed"}}, 12},
		{"requeue r00", "", wants{code: 4, err: []string{"-y is not given; nothing was changed"}}, 12},
		{"requeue r00 --read-only -y", "", wants{code: 4, err: []string{"--read-only"}}, 12},
		{"requeue r00 --read-only --dry-run", "", wants{out: []string{"r00"}, err: []string{"would requeue 1 job, media/r00"}}, 12},
		{"requeue r00 nothing -y", "", wants{code: 6, out: []string{"1 job requeued.\n"}, err: []string{`job "nothing": not found`, "not all of the jobs were requeued"}}, 11},
		{"requeue nothing -y", "", wants{code: 3, err: []string{`job "nothing": not found`}}, 12},
		{"requeue wait1 -y", "", wants{code: 4, err: []string{"job default/wait1 is waiting: requeue does not change such jobs"}}, 12},
		{"requeue same -y", "", wants{code: 2, err: []string{"want one of mail/same, media/same"}}, 12},
		{"requeue --filter state:dead -y", "", wants{out: []string{"15 jobs requeued.\n"}}, 0},
		{"requeue --filter state:dead", "y\n", wants{out: []string{"15 jobs requeued.\n"}, err: []string{"Requeue 15 jobs (15 dead; on 2 queues)? [y/N] "}}, 0},
		{"requeue --filter resize --json -y", "", wants{out: []string{`"action": "requeue"`, `"meant": 12`, `"changed": 12`, `"left": 0`, `"more": false`}}, 0},
		{"requeue --filter queue:media -y", "", wants{out: []string{"12 jobs requeued.\n"}}, 0}, // and not the delayed one
		{"requeue --filter state:dead,queue:mail -y", "", wants{code: 2, err: []string{"filter state"}}, 12},
		{"requeue --filter resize --max 5 -y", "", wants{code: 6, out: []string{"5 jobs requeued.\nThere are more: run the same command again"}, err: []string{"--max 5"}}, 7},
		{"requeue --filter resize --max 0 -y", "", wants{code: 2, err: []string{"--max 0: want 1 to 1000000"}}, 12},
		{"requeue --filter state:waiting -y", "", wants{code: 2, err: []string{"state:waiting: requeue does not change such jobs; want retrying, dead, parked or delayed"}}, 12},
		{"requeue -y", "", wants{code: 2, err: []string{"want either IDs or --filter"}}, 12},
		{"requeue r00 --filter resize -y", "", wants{code: 2, err: []string{"want either IDs or --filter"}}, 12},
		{"delete --filter= -y", "", wants{code: 2, err: []string{"--filter: is empty"}}, 12},
		{"delete r00", "y\n", wants{out: []string{"1 job deleted.\n"}, err: []string{"Delete 1 job, media/r00 (1 dead; on queue media)? [y/N] "}}, 11},
		{"delete --filter resize", "12\n", wants{out: []string{"12 jobs deleted.\n"}, err: []string{"Delete 12 jobs (12 dead; on queue media)? Type 12 to continue: "}}, 0},
		{"delete --filter resize", "y\n", wants{code: 4, err: []string{"declined"}}, 12},
		{"delete --filter resize", "", wants{code: 4, err: []string{"nothing was changed"}}, 12},
		{"delete --filter job:none -y", "", wants{out: []string{"0 jobs deleted.\n"}}, 12},
		{"cancel wait1 late1 -y", "", wants{out: []string{"2 jobs cancelled.\n"}}, 12},
		{"cancel r00 -y", "", wants{code: 4, err: []string{"job media/r00 is dead: cancel does not change such jobs"}}, 12},
		{"cancel --filter state:delayed --dry-run -o name", "", wants{out: []string{"default/late1\nmail/same\nmedia/same\n"}, err: []string{"would cancel 3 jobs"}}, 12},
	} {
		s := newShop(t)
		s.Typed, s.Asks = c.typed, c.typed != ""
		args := append([]string{"jobs"}, strings.Fields(c.args)...)
		c.want.check(t, s.Run(t, args...), args...)
		queue, err := chime.NewQueues(s.store).Get(t.Context(), "media")
		if err != nil || queue.Dead != c.dead {
			t.Errorf("%q: %d dead on media, %v; want %d", args, queue.Dead, err, c.dead)
		}
	}
}

func TestACancelledJobIsGone(t *testing.T) {
	s := newShop(t)
	s.Run(t, "jobs", "cancel", "wait1", "-y")
	if job := s.get(t, "default", "wait1"); job != nil {
		t.Errorf("got %v, want it gone", job)
	}
}

// manyDead puts dead jobs on queue media.
func manyDead(t *testing.T, n int) *shop {
	t.Helper()
	s := emptyShop(t)
	var items []chime.Item
	for i := range n {
		items = append(items, chime.Item{Name: "resize", Options: []chime.EnqueueOption{chime.Queue("media"), chime.ID(fmt.Sprintf("d%05d", i)), chime.MaxAttempts(1)}})
	}
	s.enqueue(t, items...)
	s.work(t, n, map[string]chime.Handler{"resize": func(context.Context, *chime.Job) error { return errors.New("full") }}, "media")
	return s
}

func TestCtrlCStopsBetweenTwoStepsAndSaysHowFarItCame(t *testing.T) {
	s := manyDead(t, 1200)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, stderr bytes.Buffer
	dead := func() int64 {
		queue, err := chime.NewQueues(s.store).Get(t.Context(), "media")
		if err != nil {
			t.Fatal(err)
		}
		return queue.Dead
	}
	p := &process.Process{
		Args: []string{"jobs", "requeue", "--filter", "state:dead", "-y"}, Env: func(name string) string { return s.Env[name] },
		In: strings.NewReader(""), Out: &out, Err: &stderr, Local: time.UTC, Width: func() int { return 80 },
		Now: func() time.Time { // is asked after each step
			if dead() < 1200 {
				interrupt()
			}
			return time.Now()
		},
	}
	code := command.Run(ctx, p)
	if code != 130 || !strings.Contains(stderr.String(), "interrupted; 500 of 1,200 jobs requeued. Run the same command again to continue") {
		t.Errorf("exit %d, %q; want 130 and how far it came", code, stderr.String())
	}
	if n := dead(); n != 700 {
		t.Errorf("%d are dead, want 700", n)
	}
	if got := s.Run(t, p.Args...); got.Code != 0 || got.Out != "700 jobs requeued.\n" {
		t.Errorf("again: exit %d, %s%s; want the rest requeued", got.Code, got.Out, got.Err)
	}
}
