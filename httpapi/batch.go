package httpapi

import (
	"context"
	"net/http"
	"regexp"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// batchToken is the form of the place of a batch in a list.
var batchToken = regexp.MustCompile(`^[A-Za-z0-9_-]{1,400}$`)

func (c *call) batchPath() string { return c.collectionPath() + "/batches/" + c.batch }

func (c *call) batchName() resource.BatchName {
	return resource.BatchName{Collection: c.name.Collection, Batch: c.batch}
}

// postBatch adds a batch of up to 500 tasks.
func postBatch(ctx context.Context, c *call) (*answer, error) {
	batch, mistakes := resource.ReadBatch(c.text)
	if err := asError(problem.Invalid(mistakes)); err != nil {
		return nil, err
	}
	c.tasks = len(batch.Tasks)
	if err := c.charge(parts(len(batch.Tasks), tasksOfWrite) - c.parts); err != nil {
		return nil, err
	}
	added, err := c.api.service.AddBatch(ctx, c.name.Collection, batch)
	if err != nil {
		return nil, err
	}
	c.batch = added.ID
	return &answer{status: http.StatusOK, body: added.Append(nil)}, nil
}

func listBatches(ctx context.Context, c *call) (*answer, error) {
	var states []string
	for _, state := range chime.BatchStates() {
		states = append(states, string(state))
	}
	p, err := c.page("state", states, batchToken)
	if err != nil {
		return nil, err
	}
	found, next, err := c.api.service.ListBatches(ctx, c.name.Collection, p.only, p.skip, p.top, p.after)
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, len(found))
	for i, batch := range found {
		entries[i] = batch.Append(nil)
	}
	return c.list(c.collectionPath()+"/batches", entries, next), nil
}

func getBatch(ctx context.Context, c *call) (*answer, error) {
	found, err := c.api.service.GetBatch(ctx, c.batchName())
	if err != nil {
		return nil, err
	}
	return &answer{status: http.StatusOK, body: found.Append(nil)}, nil
}

func cancelBatch(ctx context.Context, c *call) (*answer, error) {
	now, err := c.api.service.CancelBatch(ctx, c.batchName())
	if err != nil {
		return nil, err
	}
	return &answer{status: http.StatusOK, body: now.Append(nil)}, nil
}

// deleteBatch deletes the record of a batch.
func deleteBatch(ctx context.Context, c *call) (*answer, error) {
	existed, err := c.api.service.DeleteBatch(ctx, c.batchName())
	switch {
	case err != nil:
		return nil, err
	case !existed:
		return &answer{status: http.StatusNoContent}, nil
	}
	return &answer{status: http.StatusOK, body: c.deleted(c.batchPath())}, nil
}
