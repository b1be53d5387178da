package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// definitions are new schedules.
func (l *limits) definitions(n, bytes int) []protocol.Declaration {
	all := make([]protocol.Declaration, n)
	for i := range all {
		l.ids++
		body := `{"version":1,"job":"work","args":"`
		all[i] = protocol.Declaration{Name: fmt.Sprintf("schedule%08d", l.ids), Queue: "default", Overlap: string(chime.OverlapSkip),
			Body: []byte(body + strings.Repeat("x", bytes-len(body)-2) + `"}`)}
	}
	return all
}

func (l *limits) declare(ctx context.Context, n, bytes int) error {
	all := l.definitions(n, bytes)
	return l.timed(ctx, func() error { _, err := l.declared(ctx, all); return err })
}

// declared declares and returns an occurrence of now for each to be placed.
func (l *limits) declared(ctx context.Context, all []protocol.Declaration) ([]protocol.Placement, error) {
	var placements []protocol.Placement
	for _, answer := range l.store.Protocol().Declare(ctx, all) {
		if answer.Err != nil {
			return nil, answer.Err
		}
		placements = append(placements, protocol.Placement{Partition: answer.Partition, Name: answer.Owed.Name, Revision: answer.Revision,
			Cursor: answer.Owed.Cursor, Instants: []time.Time{answer.Created}})
	}
	return placements, nil
}

// placements are for 500 new schedules.
func (l *limits) placements(ctx context.Context) ([]protocol.Placement, error) {
	var all []protocol.Placement
	for range 5 {
		some, err := l.declared(ctx, l.definitions(100, 250))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (l *limits) putPlaced(ctx context.Context, placements []protocol.Placement) error {
	for _, answer := range l.store.Protocol().Place(ctx, placements) {
		if answer.Err != nil || answer.Placed != 1 {
			return fmt.Errorf("place: %+v", answer)
		}
	}
	return nil
}

func (l *limits) place(ctx context.Context) error {
	all, err := l.placements(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Instants[0] = all[i].Instants[0].AddDate(1, 0, 0)
	}
	return l.timed(ctx, func() error { return l.putPlaced(ctx, all) })
}

// occurrences makes n occurrences due, which nobody takes.
func (l *limits) occurrences(ctx context.Context, n int) error {
	all, err := l.placements(ctx)
	if err != nil {
		return err
	}
	return l.putPlaced(ctx, all[:n])
}

// takeFirst makes a timed call for 500 jobs, which takes n: the store's limit of occurrences in a call.
func (l *limits) takeFirst(ctx context.Context, n int, call protocol.WorkCall) ([]protocol.TakenJob, error) {
	call.Take = 500
	var answer protocol.WorkAnswer
	if err := l.timed(ctx, func() (err error) { answer, err = l.work(ctx, call); return err }); err != nil {
		return nil, err
	}
	if len(answer.Taken) != n {
		return nil, fmt.Errorf("a call took %d occurrences, want %d", len(answer.Taken), n)
	}
	return answer.Taken, nil
}

// takeAll takes n jobs in as many calls as needed, without timing them.
func (l *limits) takeAll(ctx context.Context, n int, ttl time.Duration) (taken []protocol.TakenJob, err error) {
	for len(taken) < n {
		answer, err := l.work(ctx, protocol.WorkCall{Take: n - len(taken), TTL: ttl})
		if err != nil {
			return nil, err
		}
		if len(answer.Taken) == 0 {
			return nil, fmt.Errorf("took %d of %d", len(taken), n)
		}
		taken = append(taken, answer.Taken...)
	}
	return taken, nil
}

func (l *limits) takeOccurrences(ctx context.Context) error {
	if err := l.occurrences(ctx, 500); err != nil {
		return err
	}
	l.begin()
	taken, err := l.takeFirst(ctx, 150, protocol.WorkCall{})
	if err != nil {
		return err
	}
	rest, err := l.takeAll(ctx, 350, sessionTTL)
	if err != nil {
		return err
	}
	return l.finish(ctx, append(taken, rest...))
}

// skipOccurrences takes 500 while the ones before them are in flight: each is skipped, counted and recorded.
func (l *limits) skipOccurrences(ctx context.Context) error {
	placed, err := l.placements(ctx)
	if err != nil {
		return err
	}
	if err := l.putPlaced(ctx, placed); err != nil {
		return err
	}
	l.begin()
	taken, owed := []protocol.TakenJob(nil), map[string]protocol.Cursor{}
	for len(taken) < len(placed) {
		answer, err := l.work(ctx, protocol.WorkCall{Take: 500})
		if err != nil {
			return err
		}
		if len(answer.Taken) == 0 {
			return fmt.Errorf("took %d of %d", len(taken), len(placed))
		}
		taken = append(taken, answer.Taken...)
		for _, o := range answer.Owed {
			owed[o.Name] = o.Cursor
		}
	}
	for i := range placed {
		p := &placed[i]
		p.Cursor, p.Instants[0] = owed[p.Name], p.Instants[0].Add(time.Second)
	}
	if err := l.putPlaced(ctx, placed); err != nil {
		return err
	}
	if err := pause(ctx, 1100*time.Millisecond); err != nil { // until they are due
		return err
	}
	before, err := l.client.ZCard(ctx, l.key("due")).Result()
	if err != nil {
		return err
	}
	var answer protocol.WorkAnswer
	if err := l.timed(ctx, func() (err error) { answer, err = l.work(ctx, protocol.WorkCall{Take: 500}); return err }); err != nil {
		return err
	}
	after, err := l.client.ZCard(ctx, l.key("due")).Result()
	if err != nil {
		return err
	}
	if before-after != 150 {
		return fmt.Errorf("a call skipped %d occurrences, want 150", before-after)
	}
	for answer.More {
		if answer, err = l.work(ctx, protocol.WorkCall{Take: 500}); err != nil {
			return err
		}
	}
	return l.finish(ctx, taken)
}

// settleOccurrences settles the maximum of a worker's call, and takes more jobs in the same call.
func (l *limits) settleOccurrences(ctx context.Context) error {
	if err := l.occurrences(ctx, 250); err != nil {
		return err
	}
	l.begin()
	taken, err := l.takeAll(ctx, 250, sessionTTL)
	if err != nil {
		return err
	}
	settled := settlements(taken, protocol.SettleDone, nil)
	for i := range settled {
		settled[i].Run = &protocol.RunRecord{Started: time.Now(), Ended: time.Now(), Outcome: "done"}
	}
	if err := l.occurrences(ctx, 250); err != nil {
		return err
	}
	taken, err = l.takeFirst(ctx, 50, protocol.WorkCall{Settle: settled})
	if err != nil {
		return err
	}
	rest, err := l.takeAll(ctx, 200, sessionTTL)
	if err != nil {
		return err
	}
	return l.finish(ctx, append(taken, rest...))
}

// standing declares and places schedules whose next occurrences are a year ahead.
func (l *limits) standing(ctx context.Context, n int) error {
	for range n / 500 {
		all, err := l.placements(ctx)
		if err != nil {
			return err
		}
		for i := range all {
			all[i].Instants[0] = all[i].Instants[0].AddDate(1, 0, 0)
		}
		if err := l.putPlaced(ctx, all); err != nil {
			return err
		}
	}
	return nil
}

func (l *limits) names(ctx context.Context) error {
	return l.timed(ctx, func() error { _, _, err := l.store.Protocol().Names(ctx, protocol.NameRange{}); return err })
}
