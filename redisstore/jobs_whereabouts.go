package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// whereabouts are the sessions and lists of parked jobs of a partition that a call searches for jobs.
type whereabouts struct {
	sessions, lists []string
	shared          map[string]string // ID → its member in the shared list of parked jobs
	mark            string            // of what is parked, before the shared list was searched; empty: there is no such list
}

// maxNamedLook is for how many jobs the members of the shared list are computed. For more jobs the list is read once.
const maxNamedLook = 20

// look reads them. It searches the shared list for jobs with these IDs, because its members contain names too. lost: also for jobs that have lost
// their bodies; then it may have to read the whole list for IDs without a job.
func (w *whereabouts) look(ctx context.Context, j *jobReader, ids []string, lost bool) error {
	k := &j.keys
	pipe := j.client.Pipeline()
	sessions, lists, mark := pipe.ZRange(ctx, k.sessions, 0, -1), pipe.ZRange(ctx, k.unhandled, 0, -1), pipe.HMGet(ctx, k.state, "parked")
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	*w = whereabouts{sessions: sessions.Val(), lists: lists.Val()}
	if !slices.Contains(w.lists, sharedParked) {
		return nil
	}
	w.shared, w.mark = make(map[string]string), reply(mark.Val()).text(0)
	if len(ids) <= maxNamedLook {
		var err error
		if ids, err = w.lookUpNamed(ctx, j, ids, lost); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return w.scan(ctx, j, ids)
}

// lookUpNamed searches the shared list for the members that jobs must have there, by the names in their bodies. It returns the IDs of the jobs for
// which the whole list must be read: their names are unknown. These are occurrences without a body that wait for another one or were given back,
// because their schedules may have had other job names when they were parked; and jobs whose bodies are lost or have no name.
//
// A job that is parked after the mark was read changes the mark. A job that leaves the list is in another place, where the script finds it.
func (w *whereabouts) lookUpNamed(ctx context.Context, j *jobReader, ids []string, lost bool) (unknown []string, err error) {
	for _, id := range ids {
		members, known, err := j.sharedMembers(ctx, id)
		if err != nil {
			return nil, err
		}
		scores, err := j.scores(ctx, j.keys.parked(sharedParked), members)
		if err != nil {
			return nil, err
		}
		for i, score := range scores {
			if score != 0 {
				w.shared[id] = members[i]
			}
		}
		if known == namedJob || known == noBody && !lost || w.shared[id] != "" {
			continue
		}
		elsewhere, err := w.isElsewhere(ctx, j, id)
		if err != nil {
			return nil, err
		}
		if !elsewhere {
			unknown = append(unknown, id)
		}
	}
	return unknown, nil
}

// isElsewhere reports whether a job is in a place where it is found fast, so that it is not parked.
func (w *whereabouts) isElsewhere(ctx context.Context, j *jobReader, id string) (bool, error) {
	pipe := j.client.Pipeline()
	due, dead := pipe.ZMScore(ctx, j.keys.due, id), pipe.ZMScore(ctx, j.keys.dead, id)
	held := make([]*redis.BoolCmd, len(w.sessions))
	for i, session := range w.sessions {
		held[i] = pipe.HExists(ctx, j.keys.inflight(session), id)
	}
	cmds, err := pipe.Exec(ctx)
	if err == nil {
		err = complete(cmds...)
	}
	if err != nil {
		return false, err
	}
	return due.Val()[0] != 0 || dead.Val()[0] != 0 || slices.ContainsFunc(held, func(cmd *redis.BoolCmd) bool { return cmd.Val() }), nil
}

// scan reads the whole shared list.
func (w *whereabouts) scan(ctx context.Context, j *jobReader, ids []string) error {
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		members, next, err := j.client.ZScan(ctx, j.keys.parked(sharedParked), cursor, "", 1000).Result()
		if err != nil {
			return err
		}
		cursor = next
		for i := 0; i < len(members); i += 2 {
			if _, id, ok := strings.Cut(members[i], "\t"); ok && wanted[id] {
				w.shared[id] = members[i]
			}
		}
	}
	return nil
}

// What is known of the name under which a job may be parked.
const (
	namedJob   = iota // its body has it: while a job is parked, its body does not change
	noBody            // there is no body and no such job, unless the job has lost its body
	otherNames        // it may be another one
)

// sharedMembers returns the members that a job may have in the shared list: one with its name, and one with the name of the list of jobs that
// cannot be read; and what is known of the name.
func (j *jobReader) sharedMembers(ctx context.Context, id string) (members []string, known int, err error) {
	schedule, _, occurrence := protocol.CutOccurrence(id)
	pipe := j.client.Pipeline()
	body := pipe.HMGet(ctx, j.keys.jobs, id)
	definition := pipe.HMGet(ctx, j.keys.schedules, schedule)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, 0, err
	}
	text := reply(body.Val()).text(0)
	name := nameOf(text)
	switch {
	case name != "":
		known = namedJob
	case occurrence && text == "":
		known = otherNames
		if m := definedJob.FindStringSubmatch(reply(definition.Val()).text(0)); m != nil {
			name = m[1]
		}
	case text == "":
		known = noBody
	default:
		known = otherNames
	}
	name = cmp.Or(name, "?")
	return []string{name + "\t" + id, unreadableParked + name + "\t" + id}, known, nil
}
