package redisstore

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// PlaceOf returns where a job waits. It writes nothing. The search of 10,000 IDs of the list takes the server about 0.1 ms. A job of a group
// costs a second round trip, of about 10 us of the server.
func (s *store) PlaceOf(ctx context.Context, queue, id string) (protocol.JobPlace, error) {
	partitions, err := s.registeredPartitions(ctx, queue)
	if err != nil {
		return protocol.JobPlace{}, err
	}
	k := s.keys.partition(protocol.Partition{Queue: queue, Index: protocol.PartitionOf(id, partitions)})
	pipe := s.client.Pipeline()
	entry := pipe.HMGet(ctx, k.places, id)
	at, length := pipe.LPos(ctx, k.ready, id, redis.LPosArgs{MaxLen: protocol.MaxPlace}), pipe.LLen(ctx, k.ready)
	var behind []*redis.StringSliceCmd
	var open *redis.SliceCmd
	if schedule, instant, ok := protocol.CutOccurrence(id); ok {
		for _, member := range []string{schedule + "\t" + instant, schedule + "\t~" + instant} {
			behind = append(behind, pipe.ZRangeByLex(ctx, k.behind, &redis.ZRangeBy{Min: "[" + member, Max: "[" + member, Count: 1}))
		}
		open = pipe.HMGet(ctx, k.open, schedule)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return protocol.JobPlace{}, failure("find the place of job", id, err)
	}
	for _, found := range behind {
		if len(found.Val()) > 0 {
			holder, _, _ := strings.Cut(reply(open.Val()).text(0), "\t")
			return protocol.JobPlace{IsBehind: true, Behind: holder}, nil
		}
	}
	if group, place, ok := parsePlace(reply(entry.Val()).text(0)); ok {
		return s.placeInGroup(ctx, k, group, group+"\t"+place+"\t"+id)
	}
	if errors.Is(at.Err(), redis.Nil) {
		return protocol.JobPlace{Beyond: length.Val() > protocol.MaxPlace}, nil
	}
	return protocol.JobPlace{Place: int(at.Val()) + 1}, nil
}

// placeInGroup returns the place of a member of line among the jobs of its group that wait; the zero place: it is not in line.
func (s *store) placeInGroup(ctx context.Context, k partitionKeys, group, member string) (protocol.JobPlace, error) {
	pipe := s.client.Pipeline()
	found := pipe.ZRangeByLex(ctx, k.line, &redis.ZRangeBy{Min: "[" + member, Max: "[" + member, Count: 1})
	before := pipe.ZLexCount(ctx, k.line, "["+group+"\t", "("+member)
	if _, err := pipe.Exec(ctx); err != nil {
		return protocol.JobPlace{}, failure("find the place of a job in group", group, err)
	}
	if len(found.Val()) == 0 {
		return protocol.JobPlace{}, nil
	}
	return protocol.JobPlace{Place: int(before.Val()) + 1, Group: group}, nil
}

// parsePlace reads an entry of places: "<place> <group>".
func parsePlace(entry string) (group, place string, ok bool) {
	place, group, ok = strings.Cut(entry, " ")
	return group, place, ok && place != "" && group != "" && strings.Trim(place, "0123456789") == ""
}
