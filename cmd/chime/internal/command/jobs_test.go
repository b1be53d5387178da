package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

func TestJobsAreListed(t *testing.T) {
	s := newShop(t)
	for _, c := range []struct {
		args string
		want wants
	}{
		{"jobs list", wants{out: []string{"ID ", "JOB ", "QUEUE ", "STATE ", "WHEN ", "ATTEMPT ", "ERROR", "times are UTC", "r00", "wait1"}}},
		{"jobs list state:dead queue:mail", wants{out: []string{"m01", "1/1  no such customer \"m01\""}}},
		{"jobs list again", wants{out: []string{`again  import  mail   retrying`, `2/25  \x1b[31mred`}}},
		{"jobs list same -o name", wants{out: []string{"mail/same\nmedia/same\n"}}},
		{"jobs list state:retrying -o jsonl", wants{out: []string{`"id":"again"`, `"state":"retrying"`}}},
		{"jobs list state:gone", wants{code: 2, err: []string{`filter state "gone": want waiting`}}},
		{"jobs list queue:nothing", wants{code: 3, err: []string{"nothing"}}},
		{"jobs list --limit 0", wants{code: 2, err: []string{"--limit 0: want 1 to 10000"}}},
		{"jobs list --after x", wants{code: 2, err: []string{"after"}}},
		{"jobs groups", wants{out: []string{"COUNT", "FIRST", "QUEUES", "   12  resize  dial #.#.#.#: connection refused", "3  report  no such customer #", `import  \x#b[#mred`}}},
		{"jobs groups --state retrying -o name", wants{out: []string{"import\n"}}},
		{"jobs groups --state waiting", wants{code: 2, err: []string{`--state "waiting": want dead or retrying`}}},
		{"jobs groups queue:mail --json", wants{out: []string{`"count": 3`, `"queues": [`}}},
		{"jobs show m01", wants{out: []string{"m01  report  on queue mail\nIt died", "after its only attempt; it does not run again unless it is requeued.", "Header tenant", `t\x1b[2J`, "bytes; --payload shows it", `no such customer "m01"`}}},
		{"jobs show m01 --payload", wants{out: []string{`{"customer":1}`}}},
		{"jobs show m01 --payload --json", wants{out: []string{`"payload": {`, `"customer": 1`, `"id": "m01"`}}},
		{"jobs show m01 -o name", wants{out: []string{"mail/m01\n"}}},
		{"jobs show again", wants{out: []string{"Its 2nd of 25 attempts is due in ", `  \x1b[31mred`, "second line"}}},
		{"jobs show mail/same", wants{out: []string{"Its 1st attempt is due in 2d 11h, but no live worker serves queue mail."}}},
		{"jobs show same", wants{code: 2, err: []string{`job "same" is on 2 queues; want one of mail/same, media/same`}}},
		{"jobs show mail/r00", wants{code: 3, err: []string{`job "r00": not found on queue "mail"; a finished job is kept only if`}}},
		{"jobs show mial/r00", wants{code: 3, err: []string{`job "mial/r00": not found on any queue, and there is no queue "mial"; did you mean "mail"?`}}},
		{"jobs show nothing", wants{code: 3, err: []string{`job "nothing": not found on any queue (QUEUE/ID names one); a finished job is kept only if`}}},
		{"jobs wait nothing", wants{code: 3, err: []string{`job "nothing": not found on any queue`}}},
		{"jobs show", wants{code: 2, err: []string{"1 arg"}}},
	} {
		args := strings.Fields(c.args)
		c.want.check(t, s.Run(t, args...), args...)
	}
}

// A command that has commands below it lists what there is.
func TestACommandAloneListsWhatThereIs(t *testing.T) {
	s := newShop(t)
	for _, name := range []string{"jobs", "queues", "batches", "schedules", "workers"} {
		list, alone := s.Run(t, name, "list", "-o", "name"), s.Run(t, name, "-o", "name")
		if alone.Code != 0 || alone.Out != list.Out || alone.Err != "" {
			t.Errorf("%s: %+v, want %+v", name, alone, list)
		}
		hint := "chime " + name + " -h lists the other commands\n"
		if alone := s.Run(t, name); alone.Code != 0 || !strings.HasSuffix(alone.Err, hint) || alone.Out == "" && !strings.Contains(alone.Err, "no ") {
			t.Errorf("%s: %+v, want a list and %q", name, alone, hint)
		}
		wants{code: 2, err: []string{`unknown command "lsit" for "chime ` + name + `"; did you mean "list"?`}}.check(t, s.Run(t, name, "lsit"))
		wants{out: []string{"Available Commands:"}}.check(t, s.Run(t, name, "-h"))
	}
	wants{out: []string{"What is in the store:"}}.check(t, s.Run(t))
}

func TestAJobShowsWhenItExpires(t *testing.T) {
	s := emptyShop(t)
	s.enqueue(t,
		chime.Item{Name: "code", Options: []chime.EnqueueOption{chime.ID("soon"), chime.Expire(59*time.Hour + 30*time.Minute)}},
		chime.Item{Name: "code", Options: []chime.EnqueueOption{chime.ID("over"), chime.Expire(time.Millisecond)}},
		chime.Item{Name: "code", Options: []chime.EnqueueOption{chime.ID("never")}},
	)
	wants{out: []string{"no live worker serves queue default; it expires in 2d 11h unless it begins before.", "\nExpires ", "  in 2d 11h\n"}}.check(t, s.Run(t, "jobs", "show", "soon"))
	wants{out: []string{"; its time was over ", ", so it ends as expired when a worker takes it.", "\nExpires "}}.check(t, s.Run(t, "jobs", "show", "over"))
	if got := s.Run(t, "jobs", "show", "never"); strings.Contains(strings.ToLower(got.Out), "expire") {
		t.Errorf("a job without Expire: %s", got.Out)
	}
}

func TestAJobShowsWhatFollowsIt(t *testing.T) {
	s := emptyShop(t)
	chain := chime.OnDone(chime.Item{Name: "publish", Options: []chime.EnqueueOption{chime.OnDone(chime.Item{Name: "notify"})}})
	s.enqueue(t, chime.Item{Name: "resize", Options: []chime.EnqueueOption{chime.ID("chain"), chain}}, chime.Item{Name: "resize", Options: []chime.EnqueueOption{chime.ID("alone")}})
	wants{out: []string{"\nWhen done ", "publish\n", "\nChain ", "2 jobs may follow\n"}}.check(t, s.Run(t, "jobs", "show", "chain"))
	if got := s.Run(t, "jobs", "show", "alone"); strings.Contains(got.Out, "When done") || strings.Contains(got.Out, "Chain") {
		t.Errorf("a job that nothing follows: %s", got.Out)
	}
}

func TestAJobShowsWhatItFollows(t *testing.T) {
	s := emptyShop(t)
	late := func(name string) chime.Item {
		return chime.Item{Name: name, Options: []chime.EnqueueOption{chime.In(time.Hour)}}
	}
	s.enqueue(t, chime.Item{Name: "good", Options: []chime.EnqueueOption{chime.ID("a"), chime.OnDone(late("publish"))}})
	s.work(t, 1, map[string]chime.Handler{"good": func(context.Context, *chime.Job) error { return nil }}, "default")
	id := strings.TrimSpace(s.Run(t, "jobs", "list", "publish", "-o", "name").Out)
	wants{out: []string{"\nFollows ", "  default/a\n"}}.check(t, s.Run(t, "jobs", "show", id), id)
}

// A shell offers files only where an argument can be a file.
func TestNoFilesAreCompletedWhereNoneAreMeant(t *testing.T) {
	s := emptyShop(t)
	const noFiles, files = ":4\n", ":0\n"
	for line, want := range map[string]string{
		"jobs list -o ": "table\njson\njsonl\nname\n" + noFiles, "next --rule-zone ": noFiles, "jobs show ": noFiles, "jobs requeue ": noFiles, "queues list --zone ": noFiles,
		"schedules put report ": noFiles, "man ": files, "next --file ": files, "queues list --tls-ca ": files,
	} {
		if got := s.Run(t, append([]string{"__complete"}, strings.Split(line, " ")...)...); got.Out != want {
			t.Errorf("%s: %q, want %q", line, got.Out, want)
		}
	}
}

func TestAnEmptyListSaysWhatMakesItsFirst(t *testing.T) {
	s := emptyShop(t)
	for args, want := range map[string]string{
		"jobs list": "no job matches", "queues list": "no queue yet: the first job, schedule or worker that uses a name creates its queue", "workers list": "no worker is live: start a program that runs one",
		"jobs groups": "no failed job matches",
	} {
		got := s.Run(t, strings.Split(args, " ")...)
		if got.Code != 0 || !strings.Contains(got.Err, want+"\n") {
			t.Errorf("%s: %+v, want %q", args, got, want)
		}
	}
}

// A namespace that was mistyped says which there are.
func TestAnEmptyNamespaceSaysWhichThereAre(t *testing.T) {
	s := emptyShop(t)
	if got := s.Run(t, "queues", "list", "--namespace", "shop"); strings.Contains(got.Err, "namespace") {
		t.Errorf("of an empty database: %+v", got)
	}
	s.enqueue(t, chime.Item{Name: "report"}) // in the namespace chime
	s.Run(t, "jobs", "enqueue", "report", "--namespace", "billing")
	const others = `namespace "shop" holds nothing; this database has billing, chime: choose one with --namespace`
	for _, args := range []string{"queues list", "jobs list", "jobs groups", "schedules list", "workers list"} {
		if got := s.Run(t, append(strings.Fields(args), "--namespace", "shop")...); got.Code != 0 || !strings.Contains(got.Err, others+"\n") {
			t.Errorf("%s: %+v, want %q", args, got, others)
		}
		if got := s.Run(t, append(strings.Fields(args), "--namespace", "shop", "--json")...); got.Code != 0 || got.Err != "" {
			t.Errorf("%s --json: %+v, want nothing on standard error", args, got)
		}
	}
	if got := s.Run(t, "queues", "show", "mail", "--namespace", "shop"); got.Code != 3 || !strings.Contains(got.Err, `queue "mail": not found; `+others) {
		t.Errorf("a queue of an empty namespace: %+v", got)
	}
	if got := s.Run(t, "workers", "list"); strings.Contains(got.Err, "namespace") {
		t.Errorf("a namespace that holds something: %+v", got)
	}
}

func TestVerboseSaysWhichStoreIsAskedAndForHowLong(t *testing.T) {
	s := emptyShop(t)
	got := s.Run(t, "queues", "list", "--verbose", "--namespace", "shop")
	if !strings.Contains(got.Err, "chime: asks shop @ 127.0.0.1:") || !strings.Contains(got.Err, "chime: queues list took ") {
		t.Errorf("%+v", got)
	}
}

func TestAnIDThatThereIsSaysHowThatJobStands(t *testing.T) {
	s := emptyShop(t)
	args := []string{"jobs", "enqueue", "report", "--id", "c1", "--in", "1h", "--args", "7"}
	s.Run(t, args...)
	wants{out: []string{"Job default/c1 exists already and is delayed. Nothing was added."}}.check(t, s.Run(t, args...), args...)
	wants{out: []string{"2 bytes; --payload shows it"}}.check(t, s.Run(t, "jobs", "show", "c1"))
}

func slipOfAPen() { panic("a slip") }

func TestAJobShowsItsStack(t *testing.T) {
	s := emptyShop(t)
	s.enqueue(t, chime.Item{Name: "slip", Options: []chime.EnqueueOption{chime.ID("s1"), chime.MaxAttempts(1)}}, chime.Item{Name: "slip", Options: []chime.EnqueueOption{chime.ID("s2"), chime.MaxAttempts(1)}})
	s.work(t, 2, map[string]chime.Handler{"slip": func(_ context.Context, job *chime.Job) error {
		if job.ID == "s1" {
			slipOfAPen()
		}
		return errors.New("no slip")
	}}, "default")
	wants{out: []string{"  panic: a slip\n", "\nStack of the last failure\n  goroutine ", "command_test.slipOfAPen("}}.check(t, s.Run(t, "jobs", "show", "s1"))
	wants{out: []string{`"stack": "goroutine `}}.check(t, s.Run(t, "jobs", "show", "s1", "--json"))
	if got := s.Run(t, "jobs", "show", "s2"); strings.Contains(got.Out, "Stack") {
		t.Errorf("a job that returned an error: %s", got.Out)
	}
}

func TestAPayloadIsShownOnlyOnRequest(t *testing.T) {
	s := emptyShop(t)
	s.enqueue(t, chime.Item{Name: "report", Args: map[string]string{"password": "canary-7"}, Options: []chime.EnqueueOption{chime.ID("j1")}})
	for _, args := range []string{"jobs list", "jobs list --json", "jobs show j1", "jobs show j1 --json", "jobs list j1 -o jsonl", "jobs groups"} {
		if got := s.Run(t, strings.Fields(args)...); strings.Contains(got.Out+got.Err, "canary-7") || got.Code != 0 {
			t.Errorf("%s: exit %d, printed %s%s", args, got.Code, got.Out, got.Err)
		}
	}
	for id, c := range map[string]struct {
		args any
		want string
	}{"j2": {json.RawMessage("5"), "Payload   5\n"}, "j3": {53, "Payload   53\n"}, "j4": {map[int]string{7: "a"}, `{"7":"a"}`}} {
		s.enqueue(t, chime.Item{Name: "report", Args: c.args, Options: []chime.EnqueueOption{chime.ID(id)}})
		if got := s.Run(t, "jobs", "show", id, "--payload"); !strings.Contains(got.Out, c.want) {
			t.Errorf("%v is shown as %s%s, want %q as its handler gets it", c.args, got.Out, got.Err, c.want)
		}
	}
	if got := s.Run(t, "jobs", "show", "j1", "--payload"); !strings.Contains(got.Out, `{"password":"canary-7"}`) {
		t.Errorf("with --payload: %s%s", got.Out, got.Err)
	}
}

func TestAListGoesOnAfterItsEnd(t *testing.T) {
	s := newShop(t)
	var names []string
	after := ""
	for {
		got := s.Run(t, "jobs", "list", "--json", "--limit", "5", "--after", after)
		var page struct {
			Items []struct{ ID, Queue string }
			Next  string
		}
		if err := json.Unmarshal([]byte(got.Out), &page); err != nil || got.Code != 0 {
			t.Fatalf("%v; exit %d, %s", err, got.Code, got.Err)
		}
		for _, item := range page.Items {
			names = append(names, item.Queue+"/"+item.ID)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(names) != 20 {
		t.Errorf("listed %d jobs by 5: %v, want each of 20 once", len(names), names)
	}
	if got := s.Run(t, "jobs", "list", "--limit", "1"); !strings.Contains(got.Out, "There are more: add --after ") {
		t.Errorf("printed %q without how to continue", got.Out)
	}
}

func TestAJobIsEnqueued(t *testing.T) {
	s := emptyShop(t)
	s.Typed = `{"from": "stdin"}`
	for _, c := range []struct {
		args []string
		want wants
	}{
		{[]string{"--id", "e1", "--queue", "mail", "--args", `{"customer": "c1"}`}, wants{out: []string{"Enqueued mail/e1.\n"}}},
		{[]string{"--id", "e1", "--queue", "mail"}, wants{out: []string{"Job mail/e1 exists already and is waiting. Nothing was added.\n"}}},
		{[]string{"--id", "e2", "--in", "2h", "-o", "name"}, wants{out: []string{"default/e2\n"}}},
		{[]string{"--id", "e3", "--at", "+3d", "--json"}, wants{out: []string{`"id": "e3"`, `"existing": false`}}},
		{[]string{"--id", "e4", "--args", "-"}, wants{out: []string{"Enqueued default/e4."}}},
		{[]string{"--in", "2h", "--at", "now"}, wants{code: 2, err: []string{"--in and --at: want one of them"}}},
		{[]string{"--in", "soon"}, wants{code: 2, err: []string{`--in "soon"`}}},
		{[]string{"--at", "soon"}, wants{code: 2, err: []string{`--at "soon"`}}},
		{[]string{"--args", "{"}, wants{code: 2, err: []string{"--args: want JSON"}}},
		{[]string{"--queue", "a b"}, wants{code: 2, err: []string{`queue "a b"`}}},
		{[]string{"--read-only"}, wants{code: 4, err: []string{"--read-only"}}},
	} {
		args := append([]string{"jobs", "enqueue", "report"}, c.args...)
		c.want.check(t, s.Run(t, args...), args...)
	}
	var customer struct{ Customer string }
	if job := s.get(t, "mail", "e1"); job == nil || job.Decode(&customer) != nil || customer.Customer != "c1" || job.State != chime.JobWaiting {
		t.Errorf("got %v with %+v, want a waiting job of customer c1", job, customer)
	}
	if job := s.get(t, "default", "e3"); job == nil || time.Until(job.Due) < 71*time.Hour {
		t.Errorf("got %v, want it due in three days", job)
	}
	var from struct{ From string }
	if job := s.get(t, "default", "e4"); job == nil || job.Decode(&from) != nil || from.From != "stdin" {
		t.Errorf("got %v with %+v, want arguments of standard input", job, from)
	}
}

func TestAJobIsWaitedFor(t *testing.T) {
	s := emptyShop(t)
	keep := func(id string) chime.Item {
		return chime.Item{Name: "sum", Options: []chime.EnqueueOption{chime.ID(id), chime.Keep(time.Hour), chime.MaxAttempts(1)}}
	}
	s.enqueue(t, keep("good"), keep("bad"), keep("silent"))
	s.work(t, 3, map[string]chime.Handler{"sum": func(ctx context.Context, job *chime.Job) error {
		switch job.ID {
		case "good":
			return job.Return(map[string]int{"sum": 7})
		case "bad":
			return context.DeadlineExceeded
		}
		return nil
	}}, "default")
	s.enqueue(t, chime.Item{Name: "sum", Options: []chime.EnqueueOption{chime.ID("late"), chime.In(time.Hour)}})
	for _, c := range []struct {
		args string
		want wants
	}{
		{"good", wants{out: []string{"{\"sum\":7}\n"}}},
		{"default/good --json", wants{out: []string{`"outcome": "done"`, `"sum": 7`}}},
		{"silent", wants{out: []string{"done\n"}}},
		{"bad", wants{code: 1, out: []string{"dead\n"}, err: []string{"job default/bad ended as dead: context deadline exceeded"}}},
		{"late --for 20ms", wants{code: 124, err: []string{"job default/late has not ended within 20ms"}}},
		{"nothing", wants{code: 3, err: []string{`job "nothing": not found`}}},
		{"good --for 0s", wants{code: 2, err: []string{"--for 0s"}}},
	} {
		args := append([]string{"jobs", "wait"}, strings.Fields(c.args)...)
		c.want.check(t, s.Run(t, args...), args...)
	}
}

func TestQueuesAndKeysOfAFilterAreCompleted(t *testing.T) {
	s := newShop(t)
	for begun, want := range map[string]string{
		"que":     "queue:\n",
		"queue:m": "queue:mail\nqueue:media\n",
		"state:d": "state:delayed\nstate:dead\nstate:done\n",
	} {
		got := s.Run(t, "__complete", "jobs", "list", begun)
		lines := strings.Split(got.Out, "\n")
		all := map[string]bool{}
		for _, line := range lines {
			all[line] = true
		}
		for _, line := range strings.Fields(want) {
			if !all[line] {
				t.Errorf("%q: completed as %q, want %q", begun, got.Out, line)
			}
		}
	}
	if got := s.Run(t, "__complete", "jobs", "enqueue", "report", "--queue", "d"); !strings.HasPrefix(got.Out, "default\n") {
		t.Errorf("a queue is completed as %q", got.Out)
	}
}
