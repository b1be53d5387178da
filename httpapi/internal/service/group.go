package service

import (
	"context"
	"errors"
	"strconv"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A collection with a group shares the slots of its queue with other groups, so its writers may choose neither the group of others nor a new one: a
// job names the collection's group or none. In a collection without a group, a job may name any. The collection's group is one of the collection's
// queue: a job action on a queue of its own has only the group that it names. An error action has the group of its job.

// groupOf is the group of a job. own is what the job names, queue is its queue, and home the collection's queue.
func groupOf(own, queue string, limits *resource.Collection, home string) string {
	if own == "" && queue == home {
		return limits.Group
	}
	return own
}

// inGroup are the options of an action that puts it and its error action into a group; empty: none.
func inGroup(group string) []chime.JobOption {
	if group == "" {
		return nil
	}
	return []chime.JobOption{chime.Group(group)}
}

// groupForbidden returns why a job may not name a group: its collection has another one.
func groupForbidden(name string, limits *resource.Collection, own string) error {
	if own == "" || limits.Group == "" || own == limits.Group {
		return nil
	}
	return problem.New(problem.GroupForbidden, "the group is %.200q, but the jobs of collection %s may name its group %.200q only: "+
		"omit the group, or let an admin change chime.group of the collection", own, name, limits.Group)
}

// checkGroupQueue returns an error if a queue cannot have groups. prefix is the beginning of the field's path. A queue that does not exist yet may have any number of partitions: the store checks
// them when it is created.
func (s *Service) checkGroupQueue(ctx context.Context, group, queue, prefix string) error {
	if group == "" {
		return nil
	}
	info, err := s.queues.Get(ctx, queue)
	switch {
	case errors.Is(err, chime.ErrNotFound):
		return nil
	case err != nil:
		return err
	case info.Partitions > 1:
		return mistake("group_queue", prefix+"group", group, "want no group, or a queue with one partition: queue "+queue+" has "+strconv.Itoa(info.Partitions))
	}
	return nil
}

// groupError converts the store's refusal of a group, whose queue was created with several partitions after checkGroupQueue, to a mistake of its field.
func groupError(err error, prefix string) error {
	bad := (*chime.InvalidError)(nil)
	if errors.As(err, &bad) && bad.Field == "group" {
		return mistake("group_queue", prefix+"group", bad.Value, "want "+bad.Limit)
	}
	return err
}
