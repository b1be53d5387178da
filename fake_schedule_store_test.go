package chime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// A fakeScheduleStore is a Store in memory that treats schedules and the leader as the real one does: it compares revision, state
// and cursor before it places anything, and fails the test if an instant is placed twice. Its clock is the bubble's.
type fakeScheduleStore struct {
	protocol.Store // methods without a fake panic
	t              testing.TB

	mu        *sync.Mutex    // fakeSchedules: see there
	sizes     map[string]int // queues seen, with their partitions
	schedules map[string]*fakeSchedule
	revision  int64
	lease     struct {
		id    string
		term  int64
		until time.Time
	}
	epoch     string
	listeners map[string]*fakeScheduleListener
	absent    []string // job names that no live worker handles
	lapsed    []protocol.LapsedSession
	calls     map[string]int
	written   []string // schedules created or changed, in order
	ran       map[string]int
	missed    map[string]int
	swept     int
	plans     schedule.Plans
	deleted   map[string]time.Time

	// fault, if set, returns for each call an error before it is carried out, or one in place of its answer.
	fault func(act string) (before, after error)
	// refuse, if set, returns the error of a declaration.
	refuse  func(name string) error
	unfit   error
	noPlace bool // the method work takes occurrences and does not place what follows
}

// A fakeSchedule is what the scripts keep of one schedule.
type fakeSchedule struct {
	queue, state, overlap, body string
	revision                    int64
	created                     time.Time
	cursor                      protocol.Cursor
	owed                        time.Time // since when it is owed; zero: it is not
	due                         []time.Time
	placed                      map[int64]bool  // every instant ever placed
	stored                      protocol.Stored // the counters
}

// fakeSchedules guards all fakes of schedules. A test reads a fake without the lock while all goroutines of the bubble wait. pass,
// which lets time go on, locks and unlocks it, so that the race detector sees the test's reads before the writes that follow.
var fakeSchedules sync.Mutex

func newFakeScheduleStore(t testing.TB) *fakeScheduleStore {
	s := &fakeScheduleStore{t: t, mu: &fakeSchedules, listeners: map[string]*fakeScheduleListener{}, calls: map[string]int{}, ran: map[string]int{}, missed: map[string]int{}}
	s.lose()
	return s
}

// lose forgets everything, like a server that is restarted empty.
func (s *fakeScheduleStore) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes, s.schedules, s.deleted = map[string]int{}, map[string]*fakeSchedule{}, map[string]time.Time{}
	s.lease.id, s.lease.term, s.epoch = "", 0, ""
}

// enter begins a call and locks the store; the caller unlocks it. It returns the errors of fault.
func (s *fakeScheduleStore) enter(ctx context.Context, act string) (after, before error) {
	s.mu.Lock()
	s.calls[act]++
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s.fault != nil {
		before, after = s.fault(act)
	}
	return after, before
}

func (s *fakeScheduleStore) count(act string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[act]
}

func (s *fakeScheduleStore) setFault(fault func(act string) (before, after error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *fakeScheduleStore) now() time.Time { return time.Now() }

func (s *fakeScheduleStore) CheckUse(context.Context, protocol.Use, []string) error { return nil }

func (s *fakeScheduleStore) Check(ctx context.Context) error {
	after, before := s.enter(ctx, "check")
	defer s.mu.Unlock()
	return errors.Join(before, after, s.unfit)
}

func (s *fakeScheduleStore) partition(name string) protocol.Partition {
	queue := s.schedules[name].queue
	return protocol.Partition{Queue: queue, Index: protocol.PartitionOf(name, max(s.sizes[queue], 1))}
}

func (f *fakeSchedule) text() []byte {
	return storedText(protocol.Declaration{Overlap: f.overlap, Body: []byte(f.body)}, f.state, f.revision, f.created)
}

func (s *fakeScheduleStore) owe(name string) protocol.Owed {
	f := s.schedules[name]
	return protocol.Owed{Partition: s.partition(name), Name: name, Definition: f.text(), Cursor: f.cursor, Since: f.owed, Now: s.now()}
}

// withdraw takes back what is placed in the future, and sets the cursor to now.
func (s *fakeScheduleStore) withdraw(f *fakeSchedule) {
	for i, at := range f.due {
		if at.After(s.now()) && f.cursor.Placed && at.Equal(f.cursor.At) {
			f.due = slices.Delete(f.due, i, i+1)
			delete(f.placed, at.Unix())
			f.cursor.Used--
			break
		}
	}
	f.cursor = protocol.Cursor{At: s.now().UTC().Truncate(time.Second), Used: f.cursor.Used}
	f.owed = time.Time{}
}

func (s *fakeScheduleStore) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	after, before := s.enter(ctx, "declare")
	defer s.mu.Unlock()
	answers := make([]protocol.DeclareAnswer, len(declarations))
	if len(declarations) > 100 {
		s.t.Errorf("%d declarations in one call", len(declarations))
	}
	for i, d := range declarations {
		a := &answers[i]
		if a.Err = before; a.Err == nil && s.refuse != nil {
			a.Err = s.refuse(d.Name)
		}
		if a.Err != nil {
			continue
		}
		if s.sizes[d.Queue] == 0 {
			s.sizes[d.Queue] = 1
		}
		f := s.schedules[d.Name]
		changes := f != nil && (f.body != string(d.Body) || f.overlap != string(d.Overlap) || f.queue != d.Queue)
		switch {
		case f == nil && d.Revision != 0:
			a.Err = fmt.Errorf("fake: %w", ErrNotFound)
			continue
		case changes && (d.Absent || d.Revision != 0 && d.Revision != f.revision):
			a.Err = fmt.Errorf("fake: %w", ErrConflict)
			continue
		case f == nil:
			a.New = true
			f = &fakeSchedule{queue: d.Queue, state: "live", overlap: string(d.Overlap), body: string(d.Body), created: s.now().UTC().Truncate(time.Second), placed: map[int64]bool{}}
			f.owed = s.now()
			if d.Paused != nil {
				f.state, f.owed = "paused", time.Time{}
				f.stored.Note = protocol.Note{Text: d.Paused.Text, By: d.Paused.By, At: s.now()}
			}
			s.schedules[d.Name] = f
		case changes:
			a.Changed, a.Old = true, f.text()
			f.queue, f.overlap, f.body = d.Queue, string(d.Overlap), string(d.Body)
			s.withdraw(f)
			if f.state == "completed" {
				f.state = "live"
			}
			if f.state == "live" {
				f.owed = s.now()
			}
		}
		if a.New || a.Changed {
			s.revision++
			f.revision = s.revision
			s.written = append(s.written, d.Name)
			if f.state == "live" {
				owed := s.owe(d.Name)
				a.Owed = &owed
			}
		}
		a.Partition, a.Created, a.Revision, a.Stored, a.Now = s.partition(d.Name), f.created, f.revision, f.text(), s.now()
		if after != nil {
			*a = protocol.DeclareAnswer{Err: after}
		}
	}
	return answers
}

func (s *fakeScheduleStore) Place(ctx context.Context, placements []protocol.Placement) []protocol.PlaceAnswer {
	after, before := s.enter(ctx, "place")
	defer s.mu.Unlock()
	answers := make([]protocol.PlaceAnswer, len(placements))
	for i := range placements {
		if answers[i].Err = before; before == nil {
			answers[i] = s.place(&placements[i])
			if after != nil {
				answers[i] = protocol.PlaceAnswer{Err: after}
			}
		}
	}
	return answers
}

func (s *fakeScheduleStore) place(p *protocol.Placement) protocol.PlaceAnswer {
	f := s.schedules[p.Name]
	same := f != nil && f.revision == p.Revision && f.state == "live" && f.cursor.At.Equal(p.Cursor.At) && f.cursor.Placed == p.Cursor.Placed && s.partition(p.Name) == p.Partition
	if !same {
		return protocol.PlaceAnswer{Lost: true}
	}
	instants := p.Instants
	if p.Count > 0 {
		instants = instants[:min(len(instants), max(p.Count-f.cursor.Used, 0))]
	}
	f.owed = time.Time{}
	f.stored.Missed += int64(p.Missed)
	f.stored.CaughtUp += int64(min(p.CaughtUp, len(instants)))
	if len(instants) == 0 {
		f.state = "completed"
		return protocol.PlaceAnswer{Completed: true}
	}
	for _, at := range instants {
		if f.placed[at.Unix()] || f.cursor.Placed && !at.After(f.cursor.At) {
			s.t.Errorf("%s@%v is placed again, or not after its cursor", p.Name, at)
		}
		f.placed[at.Unix()] = true
		f.due = append(f.due, at)
		f.cursor = protocol.Cursor{At: at, Used: f.cursor.Used + 1, Placed: true}
	}
	return protocol.PlaceAnswer{Placed: len(instants)}
}

func (s *fakeScheduleStore) Owed(ctx context.Context, partitions []protocol.Partition) ([]protocol.Owed, error) {
	after, before := s.enter(ctx, "owed")
	defer s.mu.Unlock()
	if err := errors.Join(before, after); err != nil {
		return nil, err
	}
	var owed []protocol.Owed
	in := map[protocol.Partition]int{}
	names := slices.SortedFunc(maps.Keys(s.schedules), func(a, b string) int { return s.schedules[a].owed.Compare(s.schedules[b].owed) })
	for _, name := range names {
		f, p := s.schedules[name], s.partition(name)
		if !f.owed.IsZero() && s.now().Sub(f.owed) >= time.Second && slices.Contains(partitions, p) && in[p] < 100 {
			owed = append(owed, s.owe(name))
			in[p]++
		}
	}
	return owed, nil
}

func (s *fakeScheduleStore) Postpone(ctx context.Context, owed protocol.Owed) error {
	after, before := s.enter(ctx, "postpone")
	defer s.mu.Unlock()
	if f := s.schedules[owed.Name]; before == nil && f != nil && f.owed.Equal(owed.Since) {
		f.owed = s.now().Add(time.Minute)
	}
	return errors.Join(before, after)
}

// Mend finds nothing: a map loses nothing.
func (s *fakeScheduleStore) Mend(context.Context, string) (string, []protocol.Mended, error) {
	return "", nil, nil
}

func (s *fakeScheduleStore) read(name string) protocol.Stored {
	f := s.schedules[name]
	if f == nil {
		return protocol.Stored{}
	}
	stored := f.stored
	stored.Name, stored.Partition, stored.Definition, stored.Cursor = name, s.partition(name), f.text(), f.cursor
	stored.Placed, stored.Now = int64(f.cursor.Used), time.Now()
	stored.Waiting = f.cursor.Placed && slices.ContainsFunc(f.due, f.cursor.At.Equal)
	return stored
}

func (s *fakeScheduleStore) Find(ctx context.Context, names []string) ([]protocol.Stored, error) {
	after, before := s.enter(ctx, "find")
	defer s.mu.Unlock()
	var found []protocol.Stored
	for _, name := range names {
		found = append(found, s.read(name))
	}
	return found, errors.Join(before, after)
}

// Names returns three names at a time, in order. It deletes the schedules whose names begin with "deleted", so that nobody can read them.
func (s *fakeScheduleStore) Names(ctx context.Context, of protocol.NameRange) (names []string, last string, err error) {
	lost, before := s.enter(ctx, "names")
	defer s.mu.Unlock()
	if err := errors.Join(before, lost); err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(s.schedules)) {
		if name <= of.After || !strings.HasPrefix(name, of.Prefix) || of.Queue != "" && s.schedules[name].queue != of.Queue {
			continue
		}
		if len(names) == 3 {
			return names, names[2], nil
		}
		names = append(names, name)
		if strings.HasPrefix(name, "deleted") {
			delete(s.schedules, name)
		}
	}
	return names, "", nil
}

func (s *fakeScheduleStore) Standings(ctx context.Context, asked []protocol.Address) ([]protocol.Standing, error) {
	after, before := s.enter(ctx, "standings")
	defer s.mu.Unlock()
	standings := make([]protocol.Standing, len(asked))
	for i, a := range asked {
		standings[i].Deleted = s.deleted[a.Name]
		if f := s.schedules[a.Name]; f != nil {
			standings[i].Moved = f.queue != a.Partition.Queue
			if !standings[i].Moved {
				standings[i].Revision = f.revision
			}
		}
	}
	return standings, errors.Join(before, after)
}

func (s *fakeScheduleStore) Remove(ctx context.Context, r protocol.Removal) (bool, error) {
	after, before := s.enter(ctx, "remove")
	defer s.mu.Unlock()
	f := s.schedules[r.Name]
	if f != nil && r.Revision != 0 && r.Revision != f.revision {
		return true, fmt.Errorf("fake: %w", ErrConflict)
	}
	if before == nil {
		delete(s.schedules, r.Name)
		s.deleted[r.Name] = s.now()
	}
	return f != nil, errors.Join(before, after)
}

// Prune finds nothing: these schedules have no owner.
func (s *fakeScheduleStore) Prune(context.Context, protocol.Owner, string) (string, []string, error) {
	return "", nil, nil
}

// Soonest names every schedule.
func (s *fakeScheduleStore) Soonest(ctx context.Context, _ int) (coming []protocol.Coming, err error) {
	after, before := s.enter(ctx, "soonest")
	defer s.mu.Unlock()
	for name := range s.schedules {
		coming = append(coming, protocol.Coming{Name: name})
	}
	return coming, errors.Join(before, after)
}

func (s *fakeScheduleStore) PauseSchedule(ctx context.Context, p protocol.Pausing) (answer protocol.PauseAnswer, err error) {
	after, before := s.enter(ctx, "pause")
	defer s.mu.Unlock()
	f := s.schedules[p.Name]
	if err := errors.Join(before, after); err != nil {
		return answer, err
	}
	if f == nil {
		return answer, fmt.Errorf("fake: %w", ErrNotFound)
	}
	renotes := p.Paused && f.state == "paused" && p.Note != nil && (f.stored.Note.Text != p.Note.Text || f.stored.Note.By != p.Note.By)
	if f.state == "completed" || p.Paused == (f.state == "paused") && !renotes {
		return answer, nil
	}
	if p.Revision != 0 && p.Revision != f.revision {
		return answer, fmt.Errorf("fake: %w", ErrConflict)
	}
	answer = protocol.PauseAnswer{Revision: f.revision, Definition: f.text(), Cursor: f.cursor, Now: s.now()}
	if answer.Recount = p.SkipGap && (p.Change == nil || p.Change.Revision != f.revision); answer.Recount {
		return answer, nil
	}
	s.revision++
	f.revision = s.revision
	switch {
	case renotes:
	case p.Paused:
		s.withdraw(f)
		f.state = "paused"
	default:
		f.state, f.owed, f.stored.Note = "live", s.now(), protocol.Note{}
		if p.Change != nil {
			f.cursor = protocol.Cursor{At: p.Change.Until, Used: f.cursor.Used}
			f.stored.Missed += int64(p.Change.Missed)
		}
		owed := s.owe(p.Name)
		answer.Owed = &owed
	}
	if p.Note != nil {
		f.stored.Note = protocol.Note{Text: p.Note.Text, By: p.Note.By, At: s.now()}
	}
	return answer, nil
}

func (s *fakeScheduleStore) Lead(ctx context.Context, candidate string, ttl time.Duration) (protocol.Leadership, error) {
	after, before := s.enter(ctx, "lead")
	defer s.mu.Unlock()
	if before != nil {
		return protocol.Leadership{}, before
	}
	l, now := &s.lease, s.now()
	if l.id != "" && l.id != candidate && l.until.After(now) {
		return protocol.Leadership{Leader: l.id, Term: l.term, Left: l.until.Sub(now), Epoch: s.epoch}, after
	}
	if l.id != candidate || !l.until.After(now) {
		l.term++
	}
	if s.epoch == "" {
		s.epoch = fmt.Sprint(candidate, now.UnixNano())
	}
	l.id, l.until = candidate, now.Add(ttl)
	return protocol.Leadership{Leading: true, Leader: candidate, Term: l.term, Left: ttl, Epoch: s.epoch}, after
}

func (s *fakeScheduleStore) Resign(ctx context.Context, candidate string) error {
	after, before := s.enter(ctx, "resign")
	defer s.mu.Unlock()
	if before == nil && s.lease.id == candidate {
		s.lease.id = ""
		for _, listener := range s.listeners {
			listener.send(protocol.Signal{Elect: true})
		}
	}
	return errors.Join(before, after)
}

func (s *fakeScheduleStore) leader() (id string, term int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lease.until.After(s.now()) {
		return "", s.lease.term
	}
	return s.lease.id, s.lease.term
}

// storedText is a declaration as the store keeps it.
func storedText(d protocol.Declaration, state string, revision int64, created time.Time) []byte {
	return fmt.Appendf(nil, `{"revision":%d,"state":"%s","created":"%s","overlap":"%s",%s`,
		revision, state, created.UTC().Format(time.RFC3339), d.Overlap, d.Body[1:])
}

func (s *fakeScheduleStore) Server() string { return "a store in memory" }

func (s *fakeScheduleStore) Node(protocol.Partition) string { return "" }

func (s *fakeScheduleStore) QueueStats(context.Context, []string) ([]protocol.QueueStats, error) {
	return nil, nil
}
