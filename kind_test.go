package chime

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/wire"
)

type kindArgs struct{ Customer string }

func TestDefineAndHandlePanicOnMistakes(t *testing.T) {
	report := Define[kindArgs]("kind.mistakes")
	if again := Define[kindArgs]("kind.mistakes"); again != report {
		t.Errorf("the same kind again is %v", again)
	}
	worker := NewWorker(asStore(noStore{}), WorkerOptions{})
	handler := func(context.Context, *Job, kindArgs) error { return nil }
	report.Handle(worker, handler)
	for name, act := range map[string]func(){
		"no name":          func() { Define[kindArgs]("") },
		"a bad name":       func() { Define[kindArgs]("a b") },
		"another type":     func() { Define[string]("kind.mistakes") },
		"a nil default":    func() { Define[kindArgs]("kind.nil", nil) },
		"an ID":            func() { Define[kindArgs]("kind.id", ID("x")) },
		"an instant":       func() { Define[kindArgs]("kind.at", At(time.Now())) },
		"a bad queue":      func() { Define[kindArgs]("kind.queue", Queue("a b")) },
		"no attempts":      func() { Define[kindArgs]("kind.attempts", MaxAttempts(0)) },
		"a nil backoff":    func() { Define[kindArgs]("kind.backoff", Backoff(nil)) },
		"no handler":       func() { report.Handle(worker, nil) },
		"a second handler": func() { report.Handle(worker, handler) },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "chime: ") {
					t.Errorf("%s: panic %v, want one that describes the mistake", name, r)
				}
			}()
			act()
		}()
	}
}

func afterMinutes(minutes int) func(int) time.Duration {
	return func(int) time.Duration { return time.Duration(minutes) * time.Minute }
}

func TestAKindsDefaultsHoldForItsSchedules(t *testing.T) {
	kind := Define[kindArgs]("kind.scheduled", Queue("kinds"), MaxAttempts(20), Timeout(time.Minute), In(time.Hour), Backoff(afterMinutes(1)))
	for _, c := range []struct {
		name    string
		options []ScheduleOption
		queue   string
		body    string
	}{
		{"alone", []ScheduleOption{kind.With(kindArgs{"a"})}, "kinds", `"maxAttempts":20,"timeout":"1m0s"`},
		{"With first", []ScheduleOption{kind.With(kindArgs{"a"}), Queue("low"), MaxAttempts(2)}, "low", `"maxAttempts":2,"timeout":"1m0s"`},
		{"With last", []ScheduleOption{Queue("low"), MaxAttempts(2), kind.With(kindArgs{"a"})}, "low", `"maxAttempts":2,"timeout":"1m0s"`},
		{"the last With counts", []ScheduleOption{kind.With(kindArgs{"a"}), Define[kindArgs]("kind.other").With(kindArgs{"a"})}, "default", `"grace":"1m0s","payload"`},
	} {
		d, err := declaration("s", everyMinute, putOptions(c.options))
		if err != nil || d.Queue != c.queue || !strings.Contains(string(d.Body), c.body) {
			t.Errorf("%s: queue %s, %s, %v; want %s and %s", c.name, d.Queue, d.Body, err, c.queue, c.body)
		}
	}
}

// A kind makes the group of its arguments; the group of a call overrides it. So does that of a job that follows another one.
func TestAKindMakesTheGroupOfItsArguments(t *testing.T) {
	type export struct{ Tenant string }
	kind := Define[export]("groups.export", GroupBy(func(args export) string { return args.Tenant }))
	groupOf := func(item Item) string {
		var s enqueueSettings
		for _, option := range item.Options {
			option.enqueue(&s)
		}
		if err := s.err(); err != nil {
			return err.Error()
		}
		return s.group
	}
	if got := groupOf(kind.Item(export{"t1"})); got != "t1" {
		t.Errorf("the group is %q, want t1", got)
	}
	if got := groupOf(kind.Item(export{"t1"}, Group("other"))); got != "other" {
		t.Errorf("with an option the group is %q, want other", got)
	}
	if got := groupOf(kind.Item(export{})); !strings.Contains(got, "group is missing") {
		t.Errorf("without a tenant: %q, want that the group is missing", got)
	}
	for want, options := range map[string][]ScheduleOption{"t1": {kind.With(export{"t1"})}, "other": {Group("other"), kind.With(export{"t1"})}} {
		declared, err := declaration("s", everyMinute, putOptions(options))
		if err != nil || declared.Group != want || !strings.Contains(string(declared.Body), `"group":"`+want+`"`) {
			t.Errorf("a schedule of the kind has the group %q, %v, and %s; want %s", declared.Group, err, declared.Body, want)
		}
	}
	if _, err := declaration("s", everyMinute, putOptions([]ScheduleOption{kind.With(export{})})); err == nil || !strings.Contains(err.Error(), "group is missing") {
		t.Errorf("a schedule without a tenant: %v, want that the group is missing", err)
	}
	body, err := followerBody(kind.Item(export{"t1"}))
	if err != nil {
		t.Fatal(err)
	}
	message, err := wire.DecodeEnvelope(body)
	if err != nil || message.Details == nil || message.Details.Group != "t1" {
		t.Errorf("a job that follows another one: %+v, %v; want the group t1", message.Details, err)
	}
	defer func() {
		if refused, _ := recover().(string); !strings.Contains(refused, "GroupBy has a function of string") {
			t.Errorf("a function of other arguments: %q", refused)
		}
	}()
	Define[export]("groups.other", GroupBy(func(string) string { return "" }))
}
