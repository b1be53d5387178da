package redisstore

import (
	"cmp"
	"context"

	"github.com/redis/go-redis/v9"
)

// inLine reports for each job whether it waits in line for the turn of its group.
func (j *jobReader) inLine(ctx context.Context, ids []string) ([]bool, error) {
	lined := make([]bool, len(ids))
	entries := j.client.HMGet(ctx, j.keys.places, ids...)
	if err := cmp.Or(entries.Err(), complete(entries)); err != nil {
		return nil, err
	}
	args, at := []any{"zmscore", j.keys.line}, []int{}
	for i, id := range ids {
		if group, place, ok := parsePlace(reply(entries.Val()).text(i)); ok {
			args, at = append(args, group+"\t"+place+"\t"+id), append(at, i)
		}
	}
	if len(at) == 0 {
		return lined, nil
	}
	scores := redis.NewSliceCmd(ctx, args...) // go-redis returns 0 for a missing member too
	err := j.client.Process(ctx, scores)
	if err := cmp.Or(err, complete(scores)); err != nil {
		return nil, err
	}
	for k, score := range scores.Val() {
		lined[at[k]] = score != nil
	}
	return lined, nil
}

// waitUntaken reports for each occurrence whether it is in line and was not taken yet. None of them is in due, and none has a body.
func (j *jobReader) waitUntaken(ctx context.Context, ids []string) ([]bool, error) {
	waiting, err := j.inLine(ctx, ids)
	if err != nil {
		return nil, err
	}
	begun := j.client.HMGet(ctx, j.keys.crashes, ids...)
	if err := cmp.Or(begun.Err(), complete(begun)); err != nil {
		return nil, err
	}
	for i := range ids {
		waiting[i] = waiting[i] && reply(begun.Val()).text(i) == ""
	}
	return waiting, nil
}
