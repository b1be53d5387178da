package jobfind

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

const (
	// MaxLooked is how many jobs a search reads by default.
	MaxLooked = 20_000
	maxPage   = 500
)

// A Search searches for the jobs that match a filter: in all queues, one state after the other.
type Search struct {
	Filter Filter
	States []chime.JobState // nil: all states; if the filter has a state, only that one is searched, if it is among these
	Limit  int              // jobs to find; 0: 100
	Looked int              // jobs to read; 0: MaxLooked
	For    time.Duration    // how long to search; 0: no limit. Up to a page more may be read
	Pages  int              // pages to read; 0: no limit. Each is a call of a few commands

	// Shown returns the part of a job's last error that is shown: a filter by error matches that part and nothing hidden. nil: the whole error is
	// shown. The store knows only the whole error, so with Shown such a filter reads every job of a state.
	Shown func(*chime.JobInfo) string

	// Arguments returns the part of a job's arguments that is shown, for a filter by arguments. ok is false if it has none. nil: Decoded.
	Arguments func(*chime.JobInfo) (arguments any, ok bool)

	// Only is a further condition on a job. nil: none.
	Only func(*chime.JobInfo) bool

	Queues []*chime.QueueInfo // all queues as they were a moment ago; nil: the search reads them
	After  string             // Found.Next of the previous search, with the same filter, states and order

	// Order is the order of the jobs of a state over all queues, for the states that have one: see chime.JobFilter. Empty: queue by queue.
	Order chime.JobOrder
}

// Found is the result of a search.
type Found struct {
	Jobs []*chime.JobInfo
	Next string // Search.After of the next search; empty: there are no more jobs
	// Previous is Search.After of a search in the other order, for the jobs before these; empty: there are none, or the list has no order.
	Previous string
	Looked   int       // jobs that were read
	Now      time.Time // the store's clock; zero: there is no queue

	// Restarted: the last job of the previous search does not wait any more, so this search has begun again at the front of its queue.
	Restarted bool
}

// A place is the position of a search. The zero place is its beginning.
type place struct {
	State    chime.JobState `json:"s"`
	Queue    string         `json:"q"`
	Unlikely bool           `json:"u,omitempty"` // the queue comes after those that are likely to have such jobs
	Ordered  bool           `json:"o,omitempty"` // it is a place in the list of all queues
	After    string         `json:"a,omitempty"`
}

// before reports whether a place is on a queue that comes earlier in the same state.
func (p place) before(q place) bool {
	if p.Unlikely != q.Unlikely {
		return q.Unlikely
	}
	return p.Queue < q.Queue
}

// unlikely reports whether a queue has hardly any jobs in a state, though many may have to be read to find that out. In a queue in which no
// attempt was followed by another one, only jobs whose worker has vanished are retried.
func unlikely(q *chime.QueueInfo, state chime.JobState) bool {
	return state == chime.JobRetrying && q.Retried == 0
}

// likelyFirst returns the queues in the order in which a state is searched.
func likelyFirst(queues []*chime.QueueInfo, state chime.JobState) []*chime.QueueInfo {
	return slices.SortedStableFunc(slices.Values(queues), func(a, b *chime.QueueInfo) int {
		return cmp.Compare(counted(unlikely(a, state)), counted(unlikely(b, state)))
	})
}

func counted(one bool) int {
	if one {
		return 1
	}
	return 0
}

func (p place) cursor() string {
	text, _ := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(text)
}

// Find searches for jobs in a store. If the filter is one word, the first result begins with the jobs that have this word as their ID. It costs
// the store a few milliseconds for each 500 jobs that it reads, and a call for each queue. chime.ErrNotFound: no queue has the filter's name.
func (s Search) Find(ctx context.Context, store chime.Store) (Found, error) {
	found := Found{Jobs: []*chime.JobInfo{}}
	states := s.states()
	from, err := s.from(states)
	if err != nil {
		return found, err
	}
	queues, err := s.queues(ctx, store)
	if err != nil || len(queues) == 0 {
		return found, err
	}
	found.Now = queues[0].Now
	w := walk{Search: s, began: time.Now(), jobs: chime.NewJobs(store), found: &found, limit: cmp.Or(s.Limit, 100), looked: cmp.Or(s.Looked, MaxLooked)}
	if len(s.Filter.Words) == 1 && s.After == "" {
		if err := w.byID(ctx, store, queues, states); err != nil {
			return found, err
		}
	}
	for i, state := range states[from.at:] {
		if s.ordered(state, queues) {
			at := place{}
			if i == 0 {
				at = from.place
			}
			done, err := w.inOrder(ctx, state, at, queues)
			if err != nil || !done {
				return found, err
			}
			continue
		}
		for _, queue := range likelyFirst(queues, state) {
			p := place{State: state, Queue: queue.Name, Unlikely: unlikely(queue, state)}
			if i == 0 && p.Queue == from.Queue {
				p.After, p.Unlikely = from.After, from.Unlikely
			}
			if i == 0 && p.before(from.place) {
				continue
			}
			if empty(queue, state) {
				continue
			}
			done, err := w.through(ctx, p, queue.Now)
			if err != nil || !done {
				return found, err
			}
		}
	}
	return found, nil
}

// states returns the states that are searched.
func (s Search) states() []chime.JobState {
	states := s.States
	if states == nil {
		states = States
	}
	if s.Filter.State != "" {
		states = slices.DeleteFunc(slices.Clone(states), func(state chime.JobState) bool { return state != s.Filter.State })
	}
	return states
}

type start struct {
	place
	at int // the state's number
}

func (s Search) from(states []chime.JobState) (start, error) {
	if s.After == "" {
		return start{}, nil
	}
	var p place
	text, err := base64.RawURLEncoding.DecodeString(s.After)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	at := slices.Index(states, p.State)
	if err != nil || at < 0 || (p.Queue == "") != p.Ordered {
		return start{}, &chime.InvalidError{Field: "after", Value: s.After, Limit: "what a search with the same filter has returned"}
	}
	return start{p, at}, nil
}

func (s Search) queues(ctx context.Context, store chime.Store) ([]*chime.QueueInfo, error) {
	queues := chime.NewQueues(store)
	if s.Filter.Queue == "" && s.Queues != nil {
		return s.Queues, nil
	}
	if s.Filter.Queue == "" {
		return queues.List(ctx)
	}
	queue, err := queues.Get(ctx, s.Filter.Queue)
	if err != nil {
		return nil, err
	}
	return []*chime.QueueInfo{queue}, nil
}

// empty reports whether a queue certainly has no job in a state. Waiting does not count occurrences that wait for others, and done is not
// counted.
func empty(q *chime.QueueInfo, state chime.JobState) bool {
	switch state {
	case chime.JobRunning, chime.JobTaken:
		return q.InFlight() == 0 // also jobs that workers have taken ahead, and those of vanished workers
	case chime.JobRetrying, chime.JobDelayed:
		return q.Delayed == 0
	case chime.JobDead:
		return q.Dead == 0
	case chime.JobParked:
		return q.Parked == 0
	}
	return false
}

// A walk is a search under way.
type walk struct {
	Search
	began  time.Time
	pages  int // pages that were read
	jobs   *chime.Jobs
	found  *Found
	limit  int
	looked int
}

// byID finds the jobs whose ID is the filter's word.
func (w *walk) byID(ctx context.Context, store chime.Store, queues []*chime.QueueInfo, states []chime.JobState) error {
	w.pages += len(queues) / 2
	jobs, err := ByID(ctx, store, queues, w.Filter.Words[0])
	for _, job := range jobs {
		w.found.Looked++
		if slices.Contains(states, job.State) && w.means(job, queues[0].Now) {
			w.found.Jobs = append(w.found.Jobs, job)
		}
	}
	return err
}

// ByID finds the jobs with an ID on several queues. If the text is not an ID it finds none.
func ByID(ctx context.Context, store chime.Store, queues []*chime.QueueInfo, id string) ([]*chime.JobInfo, error) {
	if id == "" {
		return nil, nil
	}
	names := make([]string, len(queues))
	for i, queue := range queues {
		names[i] = queue.Name
	}
	having, err := store.Protocol().QueuesOf(ctx, id, names)
	if err != nil {
		return nil, err
	}
	var found []*chime.JobInfo
	for _, queue := range having {
		job, err := chime.NewJobs(store).Get(ctx, queue, id)
		switch {
		case job != nil:
			found = append(found, job)
		case errors.As(err, new(*chime.InvalidError)):
			return nil, nil // it is not an ID
		case !errors.Is(err, chime.ErrNotFound):
			return found, err
		}
	}
	return found, nil
}

// maxOrdered is how many queues a list in order may have.
const maxOrdered = 1000

// ordered reports whether the jobs of a state are searched in order over all queues.
func (s Search) ordered(state chime.JobState, queues []*chime.QueueInfo) bool {
	switch state {
	case chime.JobDelayed, chime.JobRetrying, chime.JobDead, chime.JobDone:
		return s.Order != "" && len(queues) <= maxOrdered
	}
	return false
}

// inOrder searches the jobs of one state over all queues: first the queues that are likely to have such jobs, then the others.
func (w *walk) inOrder(ctx context.Context, state chime.JobState, from place, queues []*chime.QueueInfo) (end bool, err error) {
	for _, unlike := range []bool{false, true} {
		var names []string
		for _, queue := range queues {
			if unlikely(queue, state) == unlike && !empty(queue, state) {
				names = append(names, queue.Name)
			}
		}
		if len(names) == 0 || from.Unlikely && !unlike {
			continue
		}
		p := place{State: state, Unlikely: unlike, Ordered: true}
		if from.Unlikely == unlike {
			p.After = from.After
		}
		filter := w.Filter.JobFilter("", state, w.found.Now)
		filter.Queues, filter.Order = names, w.Order
		if end, err := w.pagesOf(ctx, p, filter, w.found.Now); err != nil || !end {
			return false, err
		}
	}
	return true, nil
}

// through searches the jobs of one state and queue, and reports whether it reached their end. If not, Found.Next has the place to continue.
func (w *walk) through(ctx context.Context, p place, now time.Time) (end bool, err error) {
	return w.pagesOf(ctx, p, w.Filter.JobFilter(p.Queue, p.State, now), now)
}

// pagesOf reads the pages of a filter from a place on.
func (w *walk) pagesOf(ctx context.Context, p place, filter chime.JobFilter, now time.Time) (end bool, err error) {
	filter.After = p.After
	if w.Shown != nil {
		filter.Error = ""
	}
	part := 0 // number of jobs of the last page for which there is room; 0: all
	for {
		room := w.limit - len(w.found.Jobs)
		cost := max(1, len(filter.Queues)/2) // a page of many queues costs some commands for each
		if part == 0 && (room <= 0 || w.found.Looked >= w.looked || w.late(cost)) {
			p.After = filter.After
			w.found.Next = p.cursor()
			return false, nil
		}
		switch filter.Limit = min(maxPage, max(w.looked-w.found.Looked, 1)); {
		case part > 0:
			filter.Limit = part
		case !w.beyond(p.State):
			filter.Limit = min(room, filter.Limit)
		}
		w.pages += cost
		page, err := w.jobs.Page(ctx, filter)
		switch {
		case errors.As(err, new(*chime.InvalidError)) && filter.Name != "" && filter.After == "":
			return true, nil // no job has such a name
		case errors.Is(err, chime.ErrNotFound):
			return true, nil // the queue was deleted meanwhile
		case err != nil:
			return false, err
		}
		meant := w.meant(page.Jobs, now)
		if len(meant) > room { // the place to continue is known only for whole pages, so a page with a cut is read even if the search is late
			part = 1 + slices.Index(page.Jobs, meant[room-1])
			continue
		}
		part = 0
		if p.Ordered && w.found.Looked == 0 && page.Previous != "" {
			w.found.Previous = place{State: p.State, Unlikely: p.Unlikely, Ordered: true, After: page.Previous}.cursor()
		}
		w.found.Looked += page.Looked
		w.found.Restarted = w.found.Restarted || page.Restarted
		w.found.Jobs = append(w.found.Jobs, meant...)
		if filter.After = page.Next; page.Next == "" {
			return true, nil
		}
	}
}

// late reports whether the search has used its time. It always reads at least one page, otherwise it would never end.
func (w *walk) late(cost int) bool {
	return w.pages > 0 && (w.For > 0 && time.Since(w.began) >= w.For || w.Pages > 0 && w.pages+cost > w.Pages)
}

// meant returns the jobs that match the filter, without those that its first result contains because the word is their ID.
func (w *walk) meant(jobs []*chime.JobInfo, now time.Time) []*chime.JobInfo {
	var meant []*chime.JobInfo
	for _, job := range jobs {
		byID := len(w.Filter.Words) == 1 && w.Filter.Words[0] == job.ID
		if !byID && w.means(job, now) {
			meant = append(meant, job)
		}
	}
	return meant
}

// means reports whether a job matches the filter, by the part of its error that is shown.
func (w *walk) means(job *chime.JobInfo, now time.Time) bool {
	if !w.Filter.Means(job, now) || w.Only != nil && !w.Only(job) {
		return false
	}
	if len(w.Filter.Arguments) > 0 {
		decode := w.Arguments
		if decode == nil {
			decode = Decoded
		}
		if arguments, ok := decode(job); !ok || !w.Filter.argued(arguments) {
			return false
		}
	}
	if w.Filter.Error == "" || w.Shown == nil {
		return strings.Contains(job.LastError, w.Filter.Error)
	}
	return strings.Contains(w.Shown(job), w.Filter.Error)
}

// beyond reports whether the search drops jobs that match the store's filter.
func (w *walk) beyond(state chime.JobState) bool {
	return w.Filter.beyond(state) || w.Only != nil || w.Shown != nil && w.Filter.Error != ""
}
