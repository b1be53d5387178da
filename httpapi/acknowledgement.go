package httpapi

import (
	"context"
	"net/http"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// acknowledgeJob records that the caller knows that a job is failing.
func acknowledgeJob(ctx context.Context, c *call) (*answer, error) {
	read, mistakes := resource.ReadAcknowledgement(c.text)
	if err := asError(problem.Invalid(mistakes)); err != nil {
		return nil, err
	}
	found, err := c.api.service.Acknowledge(ctx, c.name, c.principal.Name, read)
	if err != nil {
		return nil, err
	}
	return &answer{status: http.StatusOK, body: found.Append(nil)}, nil
}

func listAcknowledgements(ctx context.Context, c *call) (*answer, error) {
	found, err := c.api.service.Acknowledgements(ctx, c.name.Collection)
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, len(found))
	for i, a := range found {
		entries[i] = a.Append(nil)
	}
	return c.list("", entries, ""), nil
}

func endAcknowledgement(ctx context.Context, c *call) (*answer, error) {
	existed, err := c.api.service.EndAcknowledgement(ctx, c.name)
	switch {
	case err != nil:
		return nil, err
	case !existed:
		return &answer{status: http.StatusNoContent}, nil
	}
	return &answer{status: http.StatusOK, body: c.deleted(c.jobPath() + "/acknowledge")}, nil
}
