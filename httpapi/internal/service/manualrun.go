package service

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// runOnce is the time for which a key gives the same run.
const runOnce = 24 * time.Hour

// RunJob runs a job once now, and returns the occurrence's ID. The same key, which may be empty, gives the same run for 24 hours.
func (s *Service) RunJob(ctx context.Context, n resource.JobName, key string) (id string, err error) {
	schedule, m, c, err := s.find(ctx, n)
	if err == nil {
		err = runnable(schedule, c)
	}
	if err != nil {
		return "", err
	}
	var options []chime.TriggerOption
	if key != "" {
		id = schedule.Name + "#" + runID(m.Name, key)
		options = append(options, chime.ID(id), chime.Once(runOnce))
	}
	if err := s.addUse(ctx, c, schedule); err != nil {
		if repeated, failed := s.wasAccepted(ctx, schedule.Queue, id); repeated || failed != nil {
			return id, failed
		}
		return "", err
	}
	receipt, err := s.schedules.Trigger(ctx, schedule.Name, options...)
	if receipt.Existing || errors.Is(err, chime.ErrNotFound) || errors.Is(err, chime.ErrMaxUnfinished) || errors.Is(err, chime.ErrGroupFull) {
		s.dropUse(c, runBytes(schedule))
	}
	switch {
	case errors.Is(err, chime.ErrNotFound):
		return "", noJob(n)
	case errors.Is(err, chime.ErrMaxUnfinished):
		return "", tooManyRuns(schedule)
	case errors.Is(err, chime.ErrGroupFull):
		return "", problem.New(problem.GroupFull, "group %.200q of queue %s has as many jobs waiting as its rule allows: try again when some have begun",
			schedule.Group, schedule.Queue)
	}
	return receipt.ID, err
}

func tooManyRuns(schedule *chime.Schedule) error {
	return problem.New(problem.QuotaRuns, "%d runs of job %s have not ended, the maximum: try again when some have", maxUnfinished, schedule.Name)
}

// runnable returns why a job cannot run now; nil: it can.
func runnable(schedule *chime.Schedule, c *collection.Record) error {
	switch n := jobOf(schedule.Name); {
	case c.State == collection.Deleted:
		return deleting(n.Collection)
	case c.State == collection.Disabled:
		return disabled(n)
	case final(stateOf(schedule)):
		return problem.New(problem.JobFinal, "job %s has ended and cannot run again: delete it and create it again", schedule.Name)
	}
	return nil
}

// wasAccepted reports whether a run with an ID was accepted within the time for which the ID gives the same run. An empty ID never was.
func (s *Service) wasAccepted(ctx context.Context, queue, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	_, err := chime.NewJobs(s.options.Store).Get(ctx, queue, id)
	barred := (*chime.NotFoundError)(nil)
	if errors.Is(err, chime.ErrNotFound) {
		return errors.As(err, &barred), nil
	}
	return err == nil, err
}

// runID is built from a client's key and the job's reserved name, which is unique: a later job with the same name has other runs.
func runID(name reservedName, key string) string {
	sum := sha256.Sum256([]byte(string(name) + "\x00" + key))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:15]))
}
