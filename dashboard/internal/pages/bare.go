package pages

import (
	"context"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// A bareStore is a store for the pages that anybody may see: it returns no note of a pause or of a run, and no shape of an error.
type bareStore struct{ chime.Store }

// Protocol is the protocol of the store, without notes.
func (s bareStore) Protocol() protocol.Store { return bareProtocol{s.Store.Protocol()} }

type bareProtocol struct{ protocol.Store }

func (p bareProtocol) QueueStats(ctx context.Context, queues []string) ([]protocol.QueueStats, error) {
	found, err := p.Store.QueueStats(ctx, queues)
	for i := range found {
		found[i].Note = withoutText(found[i].Note)
	}
	return found, err
}

func (p bareProtocol) Find(ctx context.Context, names []string) ([]protocol.Stored, error) {
	found, err := p.Store.Find(ctx, names)
	for i := range found {
		found[i].Note = withoutText(found[i].Note)
	}
	return found, err
}

func (p bareProtocol) Runs(ctx context.Context, names []string) ([]protocol.ScheduleRuns, error) {
	found, err := p.Store.Runs(ctx, names)
	for i := range found {
		found[i].Note = withoutText(found[i].Note)
		for j := range found[i].Runs {
			found[i].Runs[j].Note = ""
		}
	}
	return found, err
}

func (p bareProtocol) Days(ctx context.Context, name string) (protocol.Stored, []protocol.DayRecord, error) {
	found, days, err := p.Store.Days(ctx, name)
	found.Note = withoutText(found.Note)
	return found, days, err
}

func (p bareProtocol) PageGroups(ctx context.Context, call protocol.GroupPageCall) (protocol.GroupPage, error) {
	page, err := p.Store.PageGroups(ctx, call)
	for i := range page.Groups {
		page.Groups[i].Note = withoutText(page.Groups[i].Note)
	}
	return page, err
}

// Shapes returns the counts of errors, without their shapes.
func (p bareProtocol) Shapes(ctx context.Context, queue string) ([]protocol.ErrorShape, error) {
	found, err := p.Store.Shapes(ctx, queue)
	for i := range found {
		found[i].Shape = ""
	}
	return found, err
}

func (p bareProtocol) Acknowledgements(ctx context.Context) ([]protocol.Acknowledgement, error) {
	found, err := p.Store.Acknowledgements(ctx)
	for i := range found {
		found[i].Note = withoutText(found[i].Note)
	}
	return found, err
}

// withoutText returns a note that has only its instant.
func withoutText(note protocol.Note) protocol.Note {
	return protocol.Note{At: note.At, Until: note.Until}
}

// Namespace returns the namespace of the store, or "" if it is not known.
func (s bareStore) Namespace() string { return namespaceOf(s.Store) }

// hideJob removes what only a viewer with a name may see from a job that is shown in full.
func (h Hooks) hideJob(job *chime.JobInfo) {
	if h.Bare {
		job.Header, job.Note, job.Stack = nil, "", ""
	}
}

// hideSchedule removes what only a viewer with a name may see from a schedule that is shown in full.
func (h Hooks) hideSchedule(of *chime.Schedule) {
	if h.Bare {
		of.Header, of.Meta = nil, nil
	}
}
