package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// Collections live in one slot: records, their order, the sets of names. Every change is one script. scripts/lib/collection.lua lists the
// states and what holds in each.

var (
	putCollectionScript    = scripts.Load("collections/put_collection")
	deleteCollectionScript = scripts.Load("collections/delete_collection")
	reserveScript          = scripts.Load("collections/reserve")
	releaseScript          = scripts.Load("collections/release")
	finishTransitionScript = scripts.Load("collections/finish_transition")
	moveSweptScript        = scripts.Load("collections/move_swept")
	raiseSecretsScript     = scripts.Load("collections/raise_secrets")
)

// The answers of the scripts other than 1, which means success.
const (
	collectionConflict = 0
	collectionNone     = -1
	collectionDeleting = -2
	collectionQuota    = -3
	collectionOwners   = -4

	nameKnown = 2

	collectionLive  = -1 // of a deletion: the collection is not deleted
	collectionNames = -2 // it has names
)

// PutCollection creates a collection, or changes the revision that the caller has read.
func (s *store) PutCollection(ctx context.Context, put protocol.CollectionPut) (protocol.Collection, error) {
	k := s.keys.collections()
	args := []any{put.Name, put.Revision, put.State, put.MaxNames, put.Data, rand.Text(), put.Owner, put.MaxOwned}
	answer, err := s.runOne(ctx, "put collection", put.Name, newCall(&putCollectionScript, []string{k.records, k.index, k.unfinished, k.swept, k.owned}, args))
	if err != nil {
		return protocol.Collection{}, err
	}
	if answer.number(1) == collectionOwners {
		return protocol.Collection{}, fmt.Errorf("%w: it may have %d", protocol.ErrOwnerQuota, put.MaxOwned)
	}
	return collectionAnswer(answer, put.Name)
}

// collectionAnswer reads the answer of a script: the time, a number, and the collection as it is stored now.
func collectionAnswer(answer reply, name string) (c protocol.Collection, err error) {
	if text := answer.text(2); text != "" {
		c = parseCollection(name, text, answer.number(3))
	}
	switch answer.number(1) {
	case collectionConflict:
		err = fmt.Errorf("%w: it is at revision %d", protocol.ErrConflict, c.Revision)
	case collectionNone:
		err = protocol.ErrNotFound
	case collectionDeleting:
		err = protocol.ErrDeleting
	case collectionQuota:
		err = fmt.Errorf("%w: there are %d collections", protocol.ErrQuota, protocol.MaxCollections)
		if c.Name != "" {
			err = fmt.Errorf("%w: it may have %d names", protocol.ErrQuota, c.MaxNames)
		}
	default:
		err = c.Err
	}
	return c, err
}

// DeleteCollection removes a collection that is deleted and has no names.
func (s *store) DeleteCollection(ctx context.Context, name string, creation, revision int64) error {
	k := s.keys.collections()
	keys := []string{k.records, k.index, k.unfinished, k.swept, k.names(name), k.owned}
	answer, err := s.runOne(ctx, "delete collection", name, newCall(&deleteCollectionScript, keys, []any{name, creation, revision}))
	if err != nil {
		return err
	}
	switch answer.number(0) {
	case collectionConflict:
		c := parseCollection(name, answer.text(1), 0)
		return fmt.Errorf("%w: it is at revision %d", protocol.ErrConflict, c.Revision)
	case collectionLive:
		return fmt.Errorf("%w: its state is not deleted: put that first", protocol.ErrConflict)
	case collectionNames:
		return fmt.Errorf("%w: it has names: release them first", protocol.ErrConflict)
	}
	return nil
}

// FindCollection returns a collection.
func (s *store) FindCollection(ctx context.Context, name string) (protocol.Collection, error) {
	if s.bad != nil {
		return protocol.Collection{}, s.bad
	}
	found, err := s.findCollections(ctx, []string{name})
	switch {
	case err != nil:
		return protocol.Collection{}, err
	case len(found) == 0:
		return protocol.Collection{}, protocol.ErrNotFound
	}
	return found[0], found[0].Err
}

// findCollections returns the collections with these names that exist.
func (s *store) findCollections(ctx context.Context, names []string) ([]protocol.Collection, error) {
	if len(names) == 0 {
		return nil, nil
	}
	k, pipe := s.keys.collections(), s.client.Pipeline()
	records, swept := pipe.HMGet(ctx, k.records, names...), pipe.ZMScore(ctx, k.swept, names...)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, failure("read collections in", k.records, err)
	}
	if err := complete(records, swept); err != nil {
		return nil, failure("read collections in", k.records, err)
	}
	var found []protocol.Collection
	for i, name := range names {
		if text, ok := records.Val()[i].(string); ok {
			found = append(found, parseCollection(name, text, int64(swept.Val()[i])))
		}
	}
	return found, nil
}

// PageCollections returns the next collections of an order.
func (s *store) PageCollections(ctx context.Context, page protocol.CollectionPage) (collections []protocol.Collection, next *protocol.CollectionPage, err error) {
	if s.bad != nil {
		return nil, nil, s.bad
	}
	names, last, err := s.pageOfCollections(ctx, page)
	if err != nil {
		return nil, nil, failure("list collections in", s.keys.collections().index, err)
	}
	if collections, err = s.findCollections(ctx, names); err != nil {
		return nil, nil, err
	}
	if page.Order == protocol.ByTransition { // some may be finished meanwhile
		collections = slices.DeleteFunc(collections, func(c protocol.Collection) bool { return c.Err == nil && c.Transition == 0 })
	}
	if len(names) == protocol.MaxCollectionPage && page.Order != protocol.BySweep {
		page.After, page.Transition = names[len(names)-1], last
		next = &page
	}
	return collections, next, nil
}

// pageOfCollections returns the names of the collections of a page, and the number of the last one's transition.
func (s *store) pageOfCollections(ctx context.Context, page protocol.CollectionPage) (names []string, last int64, err error) {
	k := s.keys.collections()
	switch page.Order {
	case protocol.ByTransition:
		by := redis.ZRangeBy{Min: "(" + strconv.FormatInt(page.Transition, 10), Max: "+inf", Count: protocol.MaxCollectionPage}
		all, err := s.client.ZRangeByScoreWithScores(ctx, k.unfinished, &by).Result()
		for _, z := range all {
			names, last = append(names, z.Member.(string)), int64(z.Score)
		}
		return names, last, err
	case protocol.BySweep:
		pipe := s.client.Pipeline()
		now, all := pipe.Time(ctx), pipe.ZRangeWithScores(ctx, k.swept, 0, protocol.MaxCollectionPage-1)
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, 0, err
		}
		before := now.Val().Add(-page.Age).UnixMicro()
		for _, z := range all.Val() {
			if int64(z.Score) <= before {
				names = append(names, z.Member.(string))
			}
		}
		return names, 0, nil
	}
	if page.Order == protocol.ByOwner {
		prefix := page.Owner + "\t"
		from := "(" + prefix + page.After
		if page.After == "" {
			from = "[" + prefix
		}
		all, err := s.client.ZRangeByLex(ctx, k.owned, &redis.ZRangeBy{Min: from, Max: "(" + page.Owner + "\n", Count: protocol.MaxCollectionPage}).Result()
		for _, member := range all {
			names = append(names, strings.TrimPrefix(member, prefix))
		}
		return names, 0, err
	}
	from := "-"
	if page.After != "" {
		from = "(" + page.After
	}
	names, err = s.client.ZRangeByLex(ctx, k.index, &redis.ZRangeBy{Min: from, Max: "+", Count: protocol.MaxCollectionPage}).Result()
	return names, 0, err
}

// ReserveName adds a name to a collection unless the collection has it already.
func (s *store) ReserveName(ctx context.Context, collection, name string) (protocol.ReserveAnswer, error) {
	k := s.keys.collections()
	keys := []string{k.records, k.names(collection), k.swept}
	answer, err := s.runOne(ctx, "reserve a name in collection", collection, newCall(&reserveScript, keys, []any{collection, name}))
	if err != nil {
		return protocol.ReserveAnswer{}, err
	}
	reserved := protocol.ReserveAnswer{Known: answer.number(1) == nameKnown, Now: answer.now()}
	reserved.Collection, err = collectionAnswer(answer, collection)
	return reserved, err
}

// ReleaseNames removes names of a collection.
func (s *store) ReleaseNames(ctx context.Context, collection string, creation int64, names []string) error {
	if s.bad != nil {
		return s.bad
	}
	k := s.keys.collections()
	for some := range slices.Chunk(names, protocol.MaxItems) {
		args := []any{collection, creation}
		for _, name := range some {
			args = append(args, name)
		}
		if err := s.run(ctx, s.client, newCall(&releaseScript, []string{k.records, k.names(collection)}, args))[0].Err(); err != nil {
			return failure("release names of collection", collection, err)
		}
	}
	return nil
}

// CollectionNames returns names of a collection.
func (s *store) CollectionNames(ctx context.Context, call protocol.CollectionNamesCall) (names []string, total int, err error) {
	if s.bad != nil {
		return nil, 0, s.bad
	}
	k, pipe := s.keys.collections(), s.client.Pipeline()
	key := k.names(call.Collection)
	exists, count := pipe.HExists(ctx, k.records, call.Collection), pipe.ZCard(ctx, key)
	var found *redis.StringSliceCmd
	if call.After == "" {
		found = pipe.ZRange(ctx, key, int64(call.Offset), int64(call.Offset+call.Count-1)) // by rank, however far that is
	} else {
		found = pipe.ZRangeByLex(ctx, key, &redis.ZRangeBy{Min: "(" + call.After, Max: "+", Offset: int64(call.Offset), Count: int64(call.Count)})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, 0, failure("list the names of collection", call.Collection, err)
	}
	if !exists.Val() {
		return nil, 0, protocol.ErrNotFound
	}
	return found.Val(), int(count.Val()), nil
}

// FinishTransition records that a transition is complete.
func (s *store) FinishTransition(ctx context.Context, collection string, transition int64) error {
	if s.bad != nil {
		return s.bad
	}
	k := s.keys.collections()
	call := newCall(&finishTransitionScript, []string{k.records, k.unfinished}, []any{collection, transition})
	if err := s.run(ctx, s.client, call)[0].Err(); err != nil {
		return failure("finish a transition of collection", collection, err)
	}
	return nil
}

// MoveSwept moves the instant of the last sweep to now.
func (s *store) MoveSwept(ctx context.Context, collection string, seen time.Time) (moved bool, err error) {
	args := []any{collection, seen.UnixMicro(), mathrand.IntN(1000)}
	answer, err := s.runOne(ctx, "move the sweep of collection", collection, newCall(&moveSweptScript, []string{s.keys.collections().swept}, args))
	switch {
	case err != nil:
		return false, err
	case answer.number(1) == collectionNone:
		return false, protocol.ErrNotFound
	}
	return answer.number(1) == 1, nil
}

// secretsVersion is the field of the records with the version in which secrets are sealed.
const secretsVersion = "#secrets"

// SecretsVersion returns the version in which programs seal the secrets of collections.
func (s *store) SecretsVersion(ctx context.Context) (int, error) {
	if s.bad != nil {
		return 0, s.bad
	}
	records := s.keys.collections().records
	version, err := s.client.HGet(ctx, records, secretsVersion).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, failure("read the version of secrets in", records, err)
	}
	return version, nil
}

// RaiseSecretsVersion stores a version, unless a newer one is stored.
func (s *store) RaiseSecretsVersion(ctx context.Context, version int) (int, error) {
	records := s.keys.collections().records
	if s.bad != nil {
		return 0, s.bad
	}
	cmd := s.run(ctx, s.client, newCall(&raiseSecretsScript, []string{records}, []any{version}))[0]
	stored, err := cmd.Int()
	if err != nil {
		return 0, failure("raise the version of secrets in", records, err)
	}
	return stored, nil
}

// A collectionForm is a record as it is stored, see scripts/lib/collection.lua.
type collectionForm struct {
	Version    int             `json:"version"`
	Creation   int64           `json:"creation"`
	Revision   int64           `json:"revision"`
	State      string          `json:"state"`
	Transition int64           `json:"transition"`
	MaxNames   int             `json:"max_names"`
	Created    int64           `json:"created_ms"`
	Changed    int64           `json:"changed_ms"`
	Owner      string          `json:"owner"` // of records that have one
	Data       json.RawMessage `json:"data"`
}

const collectionVersion = 1

var errNewerCollection = errors.New("a newer program wrote it")

// parseCollection reads a record. A record that cannot be read is returned with its name and an error.
func parseCollection(name, text string, swept int64) protocol.Collection {
	var form collectionForm
	err := json.Unmarshal([]byte(text), &form)
	if err == nil && form.Version != collectionVersion {
		err = errNewerCollection
	}
	c := protocol.Collection{Name: name, Swept: time.UnixMicro(swept).UTC()}
	if err != nil {
		c.Err = fmt.Errorf("redisstore: read the record of collection %q: %w: %w", name, protocol.ErrUnfit, err)
		return c
	}
	c.Creation, c.Revision, c.State, c.Transition, c.MaxNames = form.Creation, form.Revision, form.State, form.Transition, form.MaxNames
	c.Owner = form.Owner
	c.Created, c.Changed = time.UnixMilli(form.Created).UTC(), time.UnixMilli(form.Changed).UTC()
	if string(form.Data) != "null" {
		c.Data = form.Data
	}
	return c
}
