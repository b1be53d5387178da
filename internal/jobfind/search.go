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
	// MaxLooked is how many jobs a search looks at, unless it is told otherwise.
	MaxLooked = 20_000
	maxPage   = 500
)

// A Search is a look for the jobs that a filter means: in all queues, one state after the other.
type Search struct {
	Filter Filter
	States []chime.JobState // nil: all; with a state in the filter only that one is looked at, if it is among these
	Limit  int              // jobs to find; 0: 100
	Looked int              // jobs to look at; 0: MaxLooked. A page more may be looked at
	For    time.Duration    // how long to look; 0: as long as it takes. A page more may be read
	Pages  int              // to read; 0: as many as it takes. Each is a call of a few commands

	// Shown is what is shown of a job's last error: a filter by error finds that and nothing that is hidden. nil: all of it is shown. The store knows
	// the whole error only, so with Shown every job of a state is looked at for such a filter.
	Shown func(*chime.JobInfo) string

	Queues []*chime.QueueInfo // all queues as they stood a moment ago; nil: they are read
	After  string             // Found.Next of the search before, with the same filter and states
}

// Found is what a search has found.
type Found struct {
	Jobs   []*chime.JobInfo
	Next   string    // Search.After to go on; empty: there are no more
	Looked int       // jobs that were looked at
	Now    time.Time // the store's clock; zero: there is no queue

	// Restarted: the job that the search before ended with waits no longer, so this one has begun again at the front of its queue.
	Restarted bool
}

// A place is how far a search has come. The zero place is its beginning.
type place struct {
	State    chime.JobState `json:"s"`
	Queue    string         `json:"q"`
	Unlikely bool           `json:"u,omitempty"` // the queue comes behind those that are likely to have such jobs
	After    string         `json:"a,omitempty"`
}

// before reports whether a place is on a queue that comes earlier in the same state.
func (p place) before(q place) bool {
	if p.Unlikely != q.Unlikely {
		return q.Unlikely
	}
	return p.Queue < q.Queue
}

// unlikely reports whether hardly a job of a queue is in a state, though many may have to be looked at to tell: of one where no attempt was
// followed by another only those are retried whose worker has vanished.
func unlikely(q *chime.QueueInfo, state chime.JobState) bool {
	return state == chime.JobRetrying && q.Retried == 0
}

// likelyFirst are the queues in the order in which a state is looked for.
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

// Find looks for jobs in a store. Its first answer to a filter of one word begins with the jobs of that ID. It costs the store a few milliseconds for
// each 500 jobs that it looks at, and a call for each queue. chime.ErrNotFound: there is no queue of the filter's name.
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

// states are those that the search goes through.
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
	if err != nil || at < 0 || p.Queue == "" {
		return start{}, &chime.InvalidError{Field: "after", Value: s.After, Limit: "what a search with the same filter has answered"}
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

// empty reports whether a queue is known to have no job in a state. Waiting does not count occurrences behind others, and done is not counted.
func empty(q *chime.QueueInfo, state chime.JobState) bool {
	switch state {
	case chime.JobRunning, chime.JobTaken:
		return q.Running == 0
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
	pages  int // that were read
	jobs   *chime.Jobs
	found  *Found
	limit  int
	looked int
}

// byID finds the jobs whose ID is the filter's word.
func (w *walk) byID(ctx context.Context, store chime.Store, queues []*chime.QueueInfo, states []chime.JobState) error {
	jobs, err := ByID(ctx, store, queues, w.Filter.Words[0])
	for _, job := range jobs {
		w.found.Looked++
		if slices.Contains(states, job.State) && w.means(job, queues[0].Now) {
			w.found.Jobs = append(w.found.Jobs, job)
		}
	}
	return err
}

// ByID finds the jobs of an ID, on any of some queues. A text that is no ID finds none.
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
			return nil, nil // it is no ID
		case !errors.Is(err, chime.ErrNotFound):
			return found, err
		}
	}
	return found, nil
}

// through goes through the jobs of one state and queue, and reports whether it came to their end. If not, Found.Next says where to go on.
func (w *walk) through(ctx context.Context, p place, now time.Time) (end bool, err error) {
	filter := w.Filter.JobFilter(p.Queue, p.State, now)
	filter.After = p.After
	if w.Shown != nil {
		filter.Error = ""
	}
	part := 0 // jobs of the page that was read last that there is room for; 0: all
	for {
		room := w.limit - len(w.found.Jobs)
		if part == 0 && (room <= 0 || w.found.Looked >= w.looked || w.late()) {
			p.After = filter.After
			w.found.Next = p.cursor()
			return false, nil
		}
		switch filter.Limit = maxPage; {
		case part > 0:
			filter.Limit = part
		case !w.beyond():
			filter.Limit = min(room, maxPage)
		}
		w.pages++
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
		if len(meant) > room { // where to go on is known of whole pages only, so one that ends there is read, however late it is
			part = 1 + slices.Index(page.Jobs, meant[room-1])
			continue
		}
		part = 0
		w.found.Looked += page.Looked
		w.found.Restarted = w.found.Restarted || page.Restarted
		w.found.Jobs = append(w.found.Jobs, meant...)
		if filter.After = page.Next; page.Next == "" {
			return true, nil
		}
	}
}

// late reports whether the search has taken as long as it may. It reads one page at least, or it would never come to an end.
func (w *walk) late() bool {
	return w.pages > 0 && (w.For > 0 && time.Since(w.began) >= w.For || w.Pages > 0 && w.pages >= w.Pages)
}

// meant are those that the filter means, without those that the first answer to it has because its word is their ID.
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

// means reports whether the filter means a job, by what is shown of its error.
func (w *walk) means(job *chime.JobInfo, now time.Time) bool {
	if !w.Filter.Means(job, now) {
		return false
	}
	if w.Filter.Error == "" || w.Shown == nil {
		return strings.Contains(job.LastError, w.Filter.Error)
	}
	return strings.Contains(w.Shown(job), w.Filter.Error)
}

// beyond reports whether the search drops jobs that the store's filter lets through.
func (w *walk) beyond() bool { return w.Filter.beyond() || w.Shown != nil && w.Filter.Error != "" }
