package httpapi

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// addBatch adds a batch that has ended.
func (f *fakeBackend) addBatch(collection, batch string) {
	f.batches[resource.BatchName{Collection: collection, Batch: batch}] = &resource.BatchView{ID: batch, State: "done", Total: 1, Done: 1, Created: time.Unix(1e9, 0)}
}

func (f *fakeBackend) AddBatch(ctx context.Context, collection string, b *resource.Batch) (*resource.BatchView, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err == nil {
		_, err = f.collection(collection)
	}
	if err != nil {
		return nil, err
	}
	n := resource.BatchName{Collection: collection, Batch: cmp.Or(b.ID, "made")}
	if v := f.batches[n]; v != nil {
		again := *v
		again.Repeated = true
		return &again, nil
	}
	v := &resource.BatchView{ID: n.Batch, State: "running", Note: b.Note, Total: int64(len(b.Tasks)), Left: int64(len(b.Tasks)), Created: time.Unix(1e9, 0)}
	f.batches[n] = v
	f.next()
	return v, nil
}

func (f *fakeBackend) ListBatches(ctx context.Context, collection, state string, skip, top int, after string) (found []*resource.BatchView, next string, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err == nil {
		_, err = f.collection(collection)
	}
	if err != nil {
		return nil, "", err
	}
	for n, v := range f.batches {
		if n.Collection == collection && (state == "" || state == v.State) && v.ID > after {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b *resource.BatchView) int { return strings.Compare(a.ID, b.ID) })
	found = found[min(skip, len(found)):]
	if len(found) > top {
		return found[:top], found[top-1].ID, nil
	}
	return found, "", nil
}

func (f *fakeBackend) GetBatch(ctx context.Context, n resource.BatchName) (*resource.BatchView, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err == nil {
		_, err = f.collection(n.Collection)
	}
	switch {
	case err != nil:
		return nil, err
	case f.batches[n] == nil:
		return nil, problem.New(problem.NotFound, "there is no batch %s", n.Batch)
	}
	return f.batches[n], nil
}

func (f *fakeBackend) CancelBatch(ctx context.Context, n resource.BatchName) (*resource.BatchView, error) {
	return f.GetBatch(ctx, n)
}

func (f *fakeBackend) DeleteBatch(ctx context.Context, n resource.BatchName) (existed bool, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil || f.batches[n] == nil {
		return false, err
	}
	delete(f.batches, n)
	return true, nil
}
