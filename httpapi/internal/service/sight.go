package service

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
)

// A Sight is the collections that a caller may read.
type Sight struct {
	May  func(name string) bool
	Sets []string // May permits only names in these sets, where * matches any characters; nil: any name
}

// A span is one name, or all names with a common beginning: in the order of names they are next to each other.
type span struct {
	begin string
	all   bool // names that continue too
}

// spans cover the sets, in the order of names, without overlaps.
func (s Sight) spans() []span {
	if s.Sets == nil {
		return []span{{all: true}}
	}
	var spans []span
	for _, set := range s.Sets {
		begin, _, all := strings.Cut(set, "*")
		spans = append(spans, span{begin, all})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	var apart []span
	for _, one := range spans {
		switch last := len(apart) - 1; {
		case last >= 0 && apart[last].begin == one.begin:
			apart[last].all = apart[last].all || one.all
		case last < 0 || !apart[last].all || !strings.HasPrefix(one.begin, apart[last].begin):
			apart = append(apart, one)
		}
	}
	return apart
}

// within returns the collections of spans after a name, in the order of names. Its errors are those of [collection.Records.List].
func (s *Service) within(ctx context.Context, after string, spans []span) iter.Seq2[*collection.Record, error] {
	return func(yield func(*collection.Record, error) bool) {
		for _, one := range spans {
			if one.begin > after {
				c, err := s.collections.Get(ctx, one.begin)
				if errors.Is(err, chime.ErrUnfit) {
					c = &collection.Record{Name: one.begin}
				}
				if !errors.Is(err, chime.ErrNotFound) && !yield(c, err) {
					return
				}
			}
			if !one.all {
				continue
			}
			for c, err := range s.collections.List(ctx, max(after, one.begin)) {
				if c != nil && !strings.HasPrefix(c.Name, one.begin) {
					break
				}
				if !yield(c, err) {
					return
				}
			}
		}
	}
}

// ListCollections returns a page of the collections that the caller may read, and the name to continue after; empty: this is the last page. It reads no
// others, apart from some after those with a common beginning.
func (s *Service) ListCollections(ctx context.Context, page Page, sight Sight) (found []*Collection, next string, err error) {
	last := ""
	for c, err := range s.within(ctx, page.After, sight.spans()) {
		if c == nil {
			return nil, "", err
		}
		if !sight.May(c.Name) || err == nil && page.State != "" && strings.ToLower(shownStates[c.State]) != page.State {
			continue
		}
		if err != nil {
			s.log.WarnContext(ctx, "httpapi: a collection cannot be read; a list omits it", "event", "collection.unreadable", "collection", c.Name, "error", err)
			continue
		}
		if page.Skip > 0 {
			page.Skip--
			continue
		}
		if len(found) == page.Top {
			return found, last, nil
		}
		one, err := newCollection(c)
		if err != nil {
			return nil, "", err
		}
		found, last = append(found, one), c.Name
	}
	return found, "", nil
}
