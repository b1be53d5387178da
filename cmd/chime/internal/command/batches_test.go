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

var errFile = errors.New("line 3 is broken")

// newBatches is a store with four batches: done, ended with a dead member, running on two queues, and open.
func newBatches(t *testing.T) *shop {
	t.Helper()
	s := emptyShop(t)
	item := func(name string, options ...chime.EnqueueOption) chime.Item {
		return chime.Item{Name: name, Options: append(options, chime.MaxAttempts(1))}
	}
	s.enqueueBatch(t, nil, chime.Batch{ID: "good", Note: "uploaded\nby anna"}, item("line"), item("line"))
	s.enqueueBatch(t, nil, chime.Batch{ID: "bad", Done: item("summary"), Ended: item("remove")}, item("line"), item("broken"))
	handlers := map[string]chime.Handler{
		"line": func(context.Context, *chime.Job) error { return nil }, "broken": func(context.Context, *chime.Job) error { return errors.New("no") }, "remove": func(context.Context, *chime.Job) error { return nil },
	}
	s.work(t, 5, handlers, "default")
	s.enqueueBatch(t, nil, chime.Batch{ID: "import/7"}, item("line", chime.Queue("mail"), chime.ID("l1")), item("line", chime.Queue("media"), chime.In(time.Hour)))
	s.enqueueBatch(t, errFile, chime.Batch{ID: "open"}, item("line"), item("line"))
	return s
}

// enqueueBatch creates a batch with these items; with failed, it remains open.
func (s *shop) enqueueBatch(t *testing.T, failed error, batch chime.Batch, items ...chime.Item) {
	t.Helper()
	batch.Items = func(yield func(chime.Item, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
		if failed != nil {
			yield(chime.Item{}, failed)
		}
	}
	if _, err := chime.NewEnqueuer(s.store, chime.EnqueuerOptions{Logger: quiet}).EnqueueBatch(t.Context(), batch); !errors.Is(err, failed) {
		t.Fatal(err)
	}
}

func TestBatchesAreShown(t *testing.T) {
	s := newBatches(t)
	for _, c := range []struct {
		args string
		want wants
	}{
		{"batches list", wants{out: []string{"BATCH ", "STATE ", "LEFT ", "TOTAL ", "CANCELLED ", "CREATED ", "NOTE", "⚠ open ", "● running ", "✕ ended ", "✓ done ", "uploaded"}}},
		{"batches list -o name", wants{out: []string{"open\nimport/7\nbad\ngood\n"}}},
		{"batches list --in-progress -o name", wants{out: []string{"open\nimport/7\n"}}},
		{"batches list --state ended -o name", wants{out: []string{"bad\n"}}},
		{"batches list --prefix imp -o name", wants{out: []string{"import/7\n"}}},
		{"batches list --prefix none", wants{err: []string{"no batch matches"}}},
		{"batches list --state odd", wants{code: 2, err: []string{"BatchFilter.State", "odd"}}},
		{"batches list --after x", wants{code: 2, err: []string{"BatchFilter.After"}}},
		{"batches list --limit 0", wants{code: 2, err: []string{"--limit 0: want 1 to 10000"}}},
		{"batches show import/7", wants{out: []string{
			"import/7  ● running\n2 members have not ended.\n", "Members   2: 2 left, 0 done, 0 dead, 0 cancelled\n", "Complete ", "Kept for  1d after its end; at least 7 days if members are dead\n", "LEFT  TOTAL", "   1      1     0     0          0  mail\n", "  media\n",
		}}},
		{"batches show bad", wants{out: []string{"All members have ended: 1 dead, 0 cancelled.", "When done   summary\n", "When ended  remove\n", "Ended "}}},
		{"batches show open", wants{out: []string{"⚠ open\n", "Items     2 so far\n"}}},
		{"batches show good", wants{out: []string{"Note      uploaded\n          by anna\n"}}},
		{"batches show import/7 --json", wants{out: []string{`"id": "import/7"`, `"state": "running"`, `"queue": "mail"`}}},
		{"batches show none", wants{code: 3, err: []string{`batch "none": not found; one that has ended is kept for 24 hours`}}},
		{"jobs list --batch import/7", wants{out: []string{"l1", "mail", "media"}}},
		{"jobs list batch:import/7 queue:mail -o name", wants{out: []string{"mail/l1\n"}}},
		{"jobs list --batch none", wants{err: []string{"no job matches"}}},
		{"jobs list batch:a --batch b", wants{code: 2, err: []string{`--batch "b": want the ID of a batch, and no batch: in the filter`}}},
		{"jobs show mail/l1", wants{out: []string{"\nBatch ", "import/7\n"}}},
	} {
		args := strings.Fields(c.args)
		c.want.check(t, s.Run(t, args...), args...)
	}
	if got := s.Run(t, "__complete", "batches", "show", "imp"); !strings.HasPrefix(got.Out, "import/7\n") {
		t.Errorf("completed: %s", got.Out)
	}
	var names []string
	for after := ""; ; {
		var page struct {
			Items []struct{ ID string }
			Next  string
		}
		if got := s.Run(t, "batches", "list", "--json", "--limit", "1", "--after", after); json.Unmarshal([]byte(got.Out), &page) != nil {
			t.Fatal(got)
		}
		for _, item := range page.Items {
			names = append(names, item.ID)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "open import/7 bad good" {
		t.Errorf("one by one: %s", got)
	}
}

func TestBatchesAreChanged(t *testing.T) {
	s := newBatches(t)
	for _, c := range []struct {
		args string
		want wants
	}{
		{"batches cancel import/7", wants{code: 4, err: []string{"nothing was changed"}}},
		{"batches cancel import/7 -y --read-only", wants{code: 4, err: []string{"--read-only"}}},
		{"batches cancel import/7 -y", wants{out: []string{"Cancelled batch import/7. It was cancelled, and all members have ended.\n"}}},
		{"batches cancel good -y", wants{code: 4, err: []string{"good"}}},
		{"batches cancel none -y", wants{code: 3, err: []string{"not found"}}},
		{"batches recount bad", wants{out: []string{"Counted batch bad. All members have ended: 1 dead, 0 cancelled.\n"}}},
		{"batches recount bad --json", wants{out: []string{`"action": "recount"`, `"dead": 1`}}},
		{"batches delete open -y", wants{code: 4, err: []string{"open"}}},
		{"batches seal open -y", wants{out: []string{"Sealed batch open with 2 items. 2 members have not ended.\n"}}},
		{"batches delete bad -y", wants{out: []string{"Deleted the record of batch bad.\n"}}},
		{"batches delete bad -y", wants{code: 3, err: []string{"not found"}}},
	} {
		args := strings.Fields(c.args)
		c.want.check(t, s.Run(t, args...), args...)
	}
	if job := s.get(t, "mail", "l1"); job != nil {
		t.Errorf("a member that was cancelled: %v", job)
	}
}
