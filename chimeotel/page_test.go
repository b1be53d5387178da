package chimeotel_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeotel"
	"github.com/chimejobs/chime/chimetest"
)

const page = "../docs/traces.md"

func text(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestThePageShowsCodeThatRuns(t *testing.T) {
	program := text(t, "page_program_test.go")
	blocks := strings.Split(text(t, page), "```go\n")[1:]
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		within := "\n\t" + strings.ReplaceAll(strings.TrimSuffix(code, "\n"), "\n", "\n\t") + "\n" // of a function
		if !strings.Contains(program, "\n"+code) && !strings.Contains(program, within) {
			t.Errorf("the page shows code that is not run:\n%s", code)
		}
	}
	if len(blocks) != 3 {
		t.Errorf("the page has %d pieces of Go, want 3", len(blocks))
	}
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, worker, scheduler := traced(c.Store())
		ran := false
		worker.Handle("job", func(context.Context, *chime.Job) error { ran = true; return nil })
		c.Start(worker, scheduler)
		if _, err := enqueuer.EnqueueMany(t.Context(), []chime.Item{{Name: "job"}, {Name: "job", Options: []chime.EnqueueOption{chime.Queue("mail")}}}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		if !ran {
			t.Error("the page's program does not run its job")
		}
		if err := pauseMail(t.Context(), asParents(), chime.NewQueues(c.Store())); err != nil {
			t.Error(err)
		}
		if info, err := chime.NewQueues(c.Store()).Get(t.Context(), "mail"); err != nil || !info.Paused {
			t.Errorf("the queue is %+v (%v), want paused", info, err)
		}
	})
}

// The story on the page is part of a real run, with fewer attributes: each of its lines was recorded, in this order.
func TestThePageShowsWhatIsRecorded(t *testing.T) {
	_, story, _ := strings.Cut(text(t, page), "```text\n")
	story, _, _ = strings.Cut(story, "```")
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		worker := r.worker(c, "print")
		worker.Handle("invoice", failsOnce)
		c.Start(worker)
		ctx, request := r.tracer.Start(t.Context(), "POST /orders")
		if _, err := r.enqueuer(c).Enqueue(ctx, "invoice", nil, chime.Queue("print"), chime.ID("order-7")); err != nil {
			t.Fatal(err)
		}
		request.End()
		c.Advance(time.Hour)
		rest, lines := sketch(r.spans), 0
		for line := range strings.Lines(story) {
			_, after, found := strings.Cut(rest, line)
			if !found {
				t.Fatalf("the page has %q, which was not recorded there:\n%s", line, rest)
			}
			rest, lines = after, lines+1
		}
		if lines < 15 || strings.Contains(rest, ", consumer") {
			t.Errorf("the page has %d lines, and leaves out\n%s", lines, rest)
		}
	})
}

// The page has exactly the names in names.go.
func TestThePageHasAllNames(t *testing.T) {
	name := regexp.MustCompile(`\b(messaging|chime\.job|chime\.schedule|chime\.session|chime\.settle|exception|error)\.[a-z_.]*[a-z]`)
	names := func(text string) map[string]bool {
		found := map[string]bool{}
		for _, n := range name.FindAllString(text, -1) {
			found[n] = true
		}
		return found
	}
	source, shown := names(text(t, "names.go")), names(text(t, page))
	for n := range source {
		if !shown[n] {
			t.Errorf("the page does not have %s", n)
		}
	}
	for n := range shown {
		if !source[n] {
			t.Errorf("the page has %s, which names.go does not", n)
		}
	}
	if len(source) < 25 {
		t.Errorf("names.go has %d names: this test reads it wrongly", len(source))
	}
}
