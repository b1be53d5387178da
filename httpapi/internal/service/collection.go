package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A Collection is a collection as it is stored.
type Collection struct {
	Name     string
	Revision int64
	State    string // Enabled, Disabled, Deleted
	*resource.Collection
}

var shownStates = map[collection.State]string{
	collection.Enabled: resource.CollectionEnabled, collection.Disabled: resource.CollectionDisabled, collection.Deleted: resource.CollectionDeleted,
}

var storedStates = map[string]collection.State{
	resource.CollectionEnabled: collection.Enabled, resource.CollectionDisabled: collection.Disabled,
}

func newCollection(c *collection.Record) (*Collection, error) {
	of, err := resource.DecodeCollection(c.Data)
	if err != nil {
		return nil, err
	}
	of.State, of.Owner = "", c.Owner
	return &Collection{Name: c.Name, Revision: c.Revision, State: shownStates[c.State], Collection: of}, nil
}

// collection reads a record; a missing record is a problem.
func (s *Service) collection(ctx context.Context, name string) (*collection.Record, error) {
	c, err := s.collections.Get(ctx, name)
	if errors.Is(err, chime.ErrNotFound) {
		return nil, noCollection(name)
	}
	return c, err
}

func noCollection(name string) error {
	return problem.New(problem.NotFound, "there is no collection %s: PUT /jobCollections/%s with {} creates it", name, name)
}

func deleting(name string) error {
	return problem.New(problem.CollectionDeleting, "collection %s is being deleted; you can create it again when it is gone", name)
}

// GetCollection returns a collection.
func (s *Service) GetCollection(ctx context.Context, name string) (*Collection, error) {
	c, err := s.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	return newCollection(c)
}

// PutCollection applies edit to the stored collection and stores the result. Edit gets nil if there is no collection, and may be called again after a
// conflict. A changed state is applied to the jobs for up to two seconds, and then by Run.
func (s *Service) PutCollection(ctx context.Context, name string, when Condition, edit func(*Collection) (*resource.Collection, error)) (c *Collection, created bool, err error) {
	if err := checkCollectionName(name); err != nil {
		return nil, false, err
	}
	for range maxTries {
		old, stored, err := s.seenCollection(ctx, name, when)
		if err != nil {
			return nil, false, err
		}
		given, err := edit(old)
		if err != nil {
			return nil, false, err
		}
		put, err := s.collectionPut(name, stored, given)
		if err == nil && (old == nil || given.Group != old.Group || given.Queue != old.Queue) {
			err = s.checkGroupQueue(ctx, given.Group, s.queueOf(given), given.Prefix+"chime.")
		}
		if err != nil {
			return nil, false, err
		}
		changed, err := s.collections.Put(ctx, put)
		switch {
		case errors.Is(err, collection.ErrDeleting):
			return nil, false, deleting(name)
		case errors.Is(err, collection.ErrQuota):
			return nil, false, problem.New(problem.QuotaCollections, "the maximum number of collections is reached: delete one that is not needed")
		case errors.Is(err, collection.ErrOwnerQuota):
			return nil, false, problem.New(problem.QuotaCollections, "%q owns %d collections, its maximum: delete one that is not needed", put.Owner, put.MaxOwned)
		case lostRace(err):
			continue
		case err != nil:
			return nil, false, err
		}
		if _, err := s.carryOutForAWhile(ctx, changed); err != nil {
			return nil, false, err
		}
		c, err = newCollection(changed)
		return c, stored == nil, err
	}
	return nil, false, busyCollection(name)
}

func busyCollection(name string) error {
	return problem.New(problem.Busy, "other requests keep changing collection %s: try again", name)
}

// seenCollection reads the collection that a client wants to change; nil: it does not exist.
func (s *Service) seenCollection(ctx context.Context, name string, when Condition) (*Collection, *collection.Record, error) {
	stored, err := s.collections.Get(ctx, name)
	if errors.Is(err, chime.ErrNotFound) {
		return nil, nil, when.check(0)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := when.check(stored.Revision); err != nil {
		return nil, nil, err
	}
	if stored.State == collection.Deleted {
		return nil, nil, deleting(name)
	}
	c, err := newCollection(stored)
	return c, stored, err
}

// collectionPut is the record to store.
func (s *Service) collectionPut(name string, stored *collection.Record, given *resource.Collection) (collection.Record, error) {
	put := collection.Record{Name: name, State: collection.Enabled, MaxNames: given.MaxJobs()}
	if stored != nil {
		put.Revision, put.State = stored.Revision, stored.State
	}
	if given.State != "" {
		state, known := storedStates[given.State]
		if !known {
			return put, mistake("state_value", given.Prefix+"state", given.State, "want Enabled or Disabled")
		}
		put.State = state
	}
	if given.Queue != "" && !slices.Contains(s.options.Queues, given.Queue) {
		return put, mistake("queue", given.Prefix+"chime.queue", given.Queue, "want one of "+strings.Join(s.options.Queues, ", "))
	}
	if put.Owner = given.Owner; put.Owner == "" && stored != nil {
		put.Owner = stored.Owner
	}
	put.MaxOwned = max(0, s.quotaOf(put.Owner).Collections)
	kept := *given
	kept.State = ""
	put.Data = kept.Encode()
	return put, nil
}

// SetCollectionState enables or disables a collection and its jobs. done is false if the work continues in the background.
func (s *Service) SetCollectionState(ctx context.Context, name, state string) (c *Collection, done bool, err error) {
	wanted, known := storedStates[state]
	if !known {
		return nil, false, mistake("state_value", "state", state, "want Enabled or Disabled")
	}
	for range maxTries {
		stored, err := s.collection(ctx, name)
		if err != nil {
			return nil, false, err
		}
		changed := *stored
		changed.State = wanted
		stored, err = s.collections.Put(ctx, changed)
		switch {
		case errors.Is(err, collection.ErrDeleting):
			return nil, false, deleting(name)
		case lostRace(err):
			continue
		case err != nil:
			return nil, false, err
		}
		if done, err = s.carryOutForAWhile(ctx, stored); err != nil {
			return nil, false, err
		}
		c, err = newCollection(stored)
		return c, done, err
	}
	return nil, false, busyCollection(name)
}

// DeleteCollection deletes a collection and its jobs. existed is false if it did not exist; done is false if the work continues in the background.
func (s *Service) DeleteCollection(ctx context.Context, name string, when Condition) (existed, done bool, err error) {
	for range maxTries {
		stored, err := s.collections.Get(ctx, name)
		if errors.Is(err, chime.ErrNotFound) {
			return false, true, when.check(0)
		}
		if err != nil {
			return false, false, err
		}
		if err := when.check(stored.Revision); err != nil {
			return false, false, err
		}
		if stored.State != collection.Deleted {
			changed := *stored
			changed.State = collection.Deleted
			stored, err = s.collections.Put(ctx, changed)
			if lostRace(err) || errors.Is(err, collection.ErrDeleting) {
				continue
			}
			if err != nil {
				return false, false, err
			}
		}
		done, err = s.carryOutForAWhile(ctx, stored)
		return true, done, err
	}
	return false, false, busyCollection(name)
}
