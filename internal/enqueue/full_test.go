package enqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// A fullStore has no room in the group "full".
type fullStore struct {
	protocol.Store
	sent       []protocol.EnqueueItem
	partitions int
	removals   protocol.Removals
}

func (s *fullStore) Enqueue(_ context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	answer := protocol.EnqueueAnswer{}
	for _, item := range calls[0].Items {
		s.sent = append(s.sent, item)
		var why error
		if item.Group == "full" {
			why = protocol.ErrGroupFull
		}
		answer.Full = append(answer.Full, why)
	}
	return []protocol.EnqueueAnswer{answer}
}

func (*fullStore) CheckUse(context.Context, protocol.Use, []string) error { return nil }
func (*fullStore) Check(context.Context) error                            { return nil }
func (s *fullStore) Removals() *protocol.Removals                         { return &s.removals }
func (s *fullStore) Partitions(context.Context, string) (int, error)      { return s.partitions, nil }

// An enqueuer passes on the groups of jobs, also in their bodies. It reports a job whose group is full as not enqueued, and does not take its repetition
// for one.
func TestAJobWhoseGroupIsFullIsNotEnqueued(t *testing.T) {
	store := &fullStore{partitions: 1}
	var enqueued []string
	e := New(store, Options{SendTimeout: time.Minute, Log: slog.New(slog.DiscardHandler), Observe: observe.Observer{Enqueued: func(events []observe.Job) {
		for _, event := range events {
			enqueued = append(enqueued, event.ID)
		}
	}}})
	job := func(id, group string) Job { return Job{Name: "j", Queue: "q", ID: id, Own: true, Group: group} }
	full, free := job("full", "full"), job("free", "free")
	receipt, err := e.One(t.Context(), &full)
	if !errors.Is(err, protocol.ErrGroupFull) || !receipt.Full || receipt.Existing {
		t.Errorf("one job of a full group: %+v, %v", receipt, err)
	}
	if receipt, err := e.One(t.Context(), &free); err != nil || receipt.Full {
		t.Errorf("one job of another group: %+v, %v", receipt, err)
	}
	message, err := wire.DecodeEnvelope(store.sent[1].Body)
	if err != nil || store.sent[1].Group != "free" || message.Details.Group != "free" {
		t.Errorf("sent %+v with the details %+v, %v; want the group in both", store.sent[1], message.Details, err)
	}
	var refused []int
	jobs := []Job{job("a", "full"), job("b", "free"), job("c", ""), job("d", "full")}
	err = e.Many(t.Context(), Jobs{
		Len: len(jobs), Job: func(i int, job *Job) { *job = jobs[i] }, Named: func(int, string, string) {}, Exists: func(int) { t.Error("a job existed") },
		Full: func(i int) { refused = append(refused, i) },
	})
	if !errors.Is(err, protocol.ErrGroupFull) || !strings.Contains(err.Error(), "2 of 4 items") || fmt.Sprint(refused) != "[0 3]" {
		t.Errorf("refused %v, %v; want the first and the last", refused, err)
	}
	if fmt.Sprint(enqueued) != "[free b c]" {
		t.Errorf("enqueued %v", enqueued)
	}
	p := newPending()
	p.items = store.sent[2:6]
	p.refuse(0, []error{protocol.ErrGroupFull, nil, nil, protocol.ErrGroupFull})
	if items := p.carriedOut(0, 4); len(items) != 2 || items[0].ID != "b" {
		t.Errorf("carried out: %+v", items)
	}
}

// A job with a group for a queue with several partitions is refused before anything is sent; in a batch nothing is sent.
func TestAGroupOfAQueueWithPartitionsIsRefused(t *testing.T) {
	store := &fullStore{partitions: 3}
	e := New(store, Options{SendTimeout: time.Minute, Log: slog.New(slog.DiscardHandler)})
	for _, replace := range []bool{false, true} {
		jobs := []Job{{Name: "j", Queue: "q"}, {Name: "j", Queue: "q", ID: "x", Own: true, Group: "g", Replace: replace}}
		_, one := e.One(t.Context(), &Job{Name: "j", Queue: "q", ID: "x", Own: true, Group: "g", Replace: replace})
		many := e.Many(t.Context(), Jobs{Len: 2, Job: func(i int, job *Job) { *job = jobs[i] }, Named: func(int, string, string) {}})
		for what, err := range map[string]error{"one": one, "many": many} {
			if bad := (*protocol.InvalidError)(nil); !errors.As(err, &bad) || bad.Field != "group" || bad.Value != "g" || !strings.Contains(err.Error(), "3 partitions") {
				t.Errorf("%s, replaces %v: %v, want an InvalidError of the group", what, replace, err)
			}
		}
	}
	if len(store.sent) > 0 {
		t.Errorf("sent %+v", store.sent)
	}
}
