package service

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

// A Quota bounds what the collections of one owner use together.
type Quota struct {
	Collections     int   // number of collections. Zero means 100; negative: any number
	UnfinishedBytes int64 // bytes of the runs and tasks that have not ended. Zero means 64 MiB; negative: any number
	Alone           bool  // its jobs may use all slots of a process, and all requests to one host: there are no others to protect
}

const (
	defaultOwned           = 100
	defaultUnfinishedBytes = 64 << 20
)

// quotaOf is the quota of an owner, with defaults. A collection without an owner, which a release without owners has created, is its own owner.
func (s *Service) quotaOf(owner string) Quota {
	var q Quota
	if s.options.Quota != nil {
		q = s.options.Quota(owner)
	}
	q.Collections = cmp.Or(q.Collections, defaultOwned)
	q.UnfinishedBytes = cmp.Or(q.UnfinishedBytes, defaultUnfinishedBytes)
	return q
}

// ShareOf returns the name under which the requests of a collection's jobs count: two collections of one owner have the same. It is empty if they count under
// none, because the owner is alone. The owner is read at most once in ten seconds, so a collection that has moved counts for its old owner for up to that
// time. If the store does not answer, the owner that was read last is used.
func (s *Service) ShareOf(ctx context.Context, collection string) string {
	owner := s.owners.of(ctx, collection, func(ctx context.Context) (string, error) {
		c, err := s.collections.Get(ctx, collection)
		if errors.Is(err, chime.ErrNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		return c.Owner, nil
	})
	switch {
	case s.quotaOf(owner).Alone:
		return ""
	case owner == "":
		return "collection " + collection
	}
	return "owner " + owner
}

const (
	ownerAge      = 10 * time.Second
	ownerTime     = 2 * time.Second // for one read
	maxKnownOwner = 10_000          // as many as there are collections
)

// owners are the owners of collections as they were read last.
type owners struct {
	mu    sync.Mutex
	known map[string]knownOwner // by collection
}

type knownOwner struct {
	name string
	next time.Time // when it is read again
}

// of returns the owner of a collection. read reads it, unless that was done a moment ago, or is being done by another caller.
func (o *owners) of(ctx context.Context, collection string, read func(context.Context) (string, error)) string {
	now := time.Now()
	o.mu.Lock()
	found, known := o.known[collection]
	if known && now.Before(found.next) {
		o.mu.Unlock()
		return found.name
	}
	if known {
		found.next = now.Add(ownerAge) // others use the old one meanwhile
		o.known[collection] = found
	}
	o.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, ownerTime)
	defer cancel()
	name, err := read(ctx)
	if err != nil {
		return found.name
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = map[string]knownOwner{}
	}
	if len(o.known) >= maxKnownOwner {
		for of, old := range o.known {
			if now.After(old.next) {
				delete(o.known, of)
			}
		}
	}
	o.known[collection] = knownOwner{name, now.Add(ownerAge)}
	return name
}
