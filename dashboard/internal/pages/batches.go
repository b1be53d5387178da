package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	defaultBatches = 50  // of a page
	maxBatches     = 200 // of a page, and the number of batches that a page reads to find those that match
)

// The values of the parameter state that are not a state of a batch.
const (
	allBatches = "all"
	inProgress = "in-progress" // those that have not ended
)

var batchTabs = []string{allBatches, inProgress, string(chime.BatchEnded), string(chime.BatchDone), string(chime.BatchCancelled)}

// Batches is a list of batches, the newest first.
type Batches struct {
	State  string // the open tab
	Prefix string // the beginning of the IDs; empty: any
	Rows   []BatchRow
	Next   string // the cursor of the next page; empty: this is the last page
	Later  bool   // this is not the first page
	Looked int    // number of batches that were read
}

// Tabs returns the tabs of the list: their names, and their values of the parameter state.
func (*Batches) Tabs() (tabs []render.Pair) {
	for _, state := range batchTabs {
		tabs = append(tabs, render.Pair{Name: strings.ReplaceAll(state, "-", " "), Value: state})
	}
	tabs[0].Value = "" // all is the default
	return tabs
}

// Filtered reports whether not all batches are listed.
func (m *Batches) Filtered() bool { return m.State != allBatches || m.Prefix != "" }

// A BatchRow is a row of the list.
type BatchRow struct {
	*chime.BatchInfo
	State plain.State
}

// Over is how many members have ended.
func (r BatchRow) Over() int64 { return r.Total - r.Left }

// Batches reads the list of batches.
func (s *Site) Batches(ctx context.Context, r *Request) (View, error) {
	limit, err := r.number("limit", 1, maxBatches, defaultBatches)
	if err != nil {
		return View{}, err
	}
	state, err := r.choice("state", batchTabs...)
	if err != nil {
		return View{}, err
	}
	m := &Batches{State: state, Prefix: r.Query.Get("prefix"), Later: r.Query.Get("after") != ""}
	after := r.Query.Get("after")
	key := fmt.Sprintf("%s %q %d %q", state, m.Prefix, limit, after)
	found, err := s.batchLists.get(ctx, key, r.Live, func(ctx context.Context, _ *batchList) (*batchList, error) {
		return s.listBatches(ctx, chime.BatchFilter{InProgress: state == inProgress, After: after}, state, m.Prefix, limit)
	})
	if err != nil {
		return View{}, err
	}
	m.Rows, m.Next, m.Looked = found.rows, found.next, found.looked
	return View{"Batches", m}, nil
}

// A batchList is a page of the list.
type batchList struct {
	rows   []BatchRow
	next   string
	looked int
}

func (l *batchList) expensive() bool { return l.looked >= maxBatches }
func (l *batchList) whole() bool     { return true }

// listBatches reads batches until the page is full, and at most maxBatches. The filter of the store has no such limit, so the state and the IDs are compared here.
func (s *Site) listBatches(ctx context.Context, filter chime.BatchFilter, state, prefix string, limit int) (*batchList, error) {
	list := &batchList{}
	last := ""
	for b, err := range s.batches.List(ctx, filter) {
		if err != nil {
			return nil, err
		}
		if len(list.rows) == limit || list.looked == maxBatches {
			list.next = last
			break
		}
		list.looked++
		last = b.Next
		if strings.HasPrefix(b.ID, prefix) && (state == allBatches || state == inProgress || state == string(b.State)) {
			b.Note = shortened(s.hooks.batchNote(b))
			list.rows = append(list.rows, BatchRow{b, plain.Batch(b)})
		}
	}
	return list, nil
}

// Empty is shown if the list has no batches.
func (m *Batches) Empty() render.Empty {
	switch {
	case m.Next != "":
		return render.Empty{Text: "No batch read so far matches."}
	case m.Later:
		return render.Empty{Text: "This is the end of the list."}
	case m.Prefix != "":
		return render.Empty{Text: "No batch matches this filter."}
	case m.State == inProgress:
		return render.Empty{Text: "No batch is in progress."}
	case m.State != allBatches:
		return render.Empty{Text: "No batch is " + m.State + "."}
	}
	return render.Empty{Text: "There are no batches. This line creates one:", Line: `receipt, err := enqueuer.EnqueueBatch(ctx, chime.Batch{ID: "import-2026-11", Items: items, Done: summary})`}
}

// batchNote returns the shown remark of a batch. RedactError gets a job that has only the batch.
func (h Hooks) batchNote(b *chime.BatchInfo) string {
	if h.Bare {
		return ""
	}
	return h.failed(&chime.JobInfo{Batch: b.ID}, b.Note)
}

// findBatch finds the batch with an ID.
func (s *Site) findBatch(ctx context.Context, _ *Standing, m *Search) error {
	b, err := s.batches.Get(ctx, m.Text)
	if unknownID(err) {
		return nil
	}
	if err == nil {
		m.Hits = slices.Insert(m.Hits, 0, Hit{render.Path("batches", b.ID), b.ID, "batch, " + string(b.State)})
	}
	return err
}
