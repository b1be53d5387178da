package httpapi

import (
	"context"
	"net/http"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// The states of a collection that a filter accepts.
var collectionStates = []string{"enabled", "disabled", "deleted"}

func listCollections(ctx context.Context, c *call) (*answer, error) {
	p, err := c.page("state", collectionStates, collectionForm)
	if err != nil {
		return nil, err
	}
	sight := service.Sight{May: func(name string) bool { return c.principal.may(Read, name) }, Sets: c.principal.sets}
	found, next, err := c.api.service.ListCollections(ctx, service.Page{After: p.after, Skip: p.skip, Top: p.top, State: p.only}, sight)
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, len(found))
	for i, one := range found {
		entries[i] = c.showCollection(one)
	}
	return c.list("/jobCollections", entries, next), nil
}

func getCollection(ctx context.Context, c *call) (*answer, error) {
	found, err := c.api.service.GetCollection(ctx, c.name.Collection)
	if err != nil {
		return nil, err
	}
	return c.collectionAnswer(http.StatusOK, found), nil
}

func putCollection(ctx context.Context, c *call) (*answer, error) {
	read, mistakes := resource.ReadCollection(c.text, c.name.Collection)
	if len(mistakes) > 0 {
		return nil, problem.Invalid(mistakes)
	}
	return c.changeCollection(ctx, func(*service.Collection) (*resource.Collection, error) {
		one := *read
		return &one, nil
	})
}

func patchCollection(ctx context.Context, c *call) (*answer, error) {
	return c.changeCollection(ctx, func(old *service.Collection) (*resource.Collection, error) {
		if old == nil {
			return nil, c.noCollection()
		}
		patched, mistakes := old.Patch(c.text, c.name.Collection)
		return patched, asError(problem.Invalid(mistakes))
	})
}

// changeCollection applies edit to the stored collection, and stores the result.
func (c *call) changeCollection(ctx context.Context, edit func(*service.Collection) (*resource.Collection, error)) (*answer, error) {
	when, err := c.condition()
	if err != nil {
		return nil, err
	}
	stored, created, err := c.api.service.PutCollection(ctx, c.name.Collection, when, func(old *service.Collection) (*resource.Collection, error) {
		given, err := edit(old)
		if err != nil {
			return nil, err
		}
		return given, c.owned(old, given)
	})
	if err != nil {
		return nil, err
	}
	if created {
		a := c.collectionAnswer(http.StatusCreated, stored)
		a.location = c.url(c.collectionPath())
		return a, nil
	}
	return c.collectionAnswer(http.StatusOK, stored), nil
}

// everyCollection is a name that no collection has. Only a principal with a permission for all collections has it for this one.
const everyCollection = "*"

// owned sets the owner of a collection: the principal who creates it, and then the stored one. Only an administrator of all collections may name another,
// because a collection uses up the shares and the quotas of its owner.
func (c *call) owned(old *service.Collection, given *resource.Collection) error {
	owner := c.principal.owner()
	if old != nil {
		owner = old.Owner
	}
	if given.Owner == "" {
		given.Owner = owner
	}
	if given.Owner != owner && !c.principal.may(Admin, everyCollection) {
		return problem.New(problem.Forbidden, "%q may not move collection %q to the owner %.100q: the permission admin for all collections is needed", c.principal.Name, c.name.Collection, given.Owner)
	}
	return nil
}

func deleteCollection(ctx context.Context, c *call) (*answer, error) {
	when, err := c.condition()
	if err != nil {
		return nil, err
	}
	existed, done, err := c.api.service.DeleteCollection(ctx, c.name.Collection, when)
	switch {
	case err != nil:
		return nil, err
	case !existed:
		return &answer{status: http.StatusNoContent}, nil
	case !done:
		return c.unfinished(&answer{body: c.deleted(c.collectionPath())}), nil
	}
	return &answer{status: http.StatusOK, body: c.deleted(c.collectionPath())}, nil
}

func enableCollection(ctx context.Context, c *call) (*answer, error) {
	return c.setCollectionState(ctx, "Enabled")
}

func disableCollection(ctx context.Context, c *call) (*answer, error) {
	return c.setCollectionState(ctx, "Disabled")
}

func (c *call) setCollectionState(ctx context.Context, state string) (*answer, error) {
	stored, done, err := c.api.service.SetCollectionState(ctx, c.name.Collection, state)
	if err != nil {
		return nil, err
	}
	a := c.collectionAnswer(http.StatusOK, stored)
	if !done {
		a = c.unfinished(a)
	}
	return a, nil
}

// unfinished turns an answer into one of work that continues: the client polls the collection to see its state.
func (c *call) unfinished(a *answer) *answer {
	a.status, a.location, a.wait = http.StatusAccepted, c.url(c.collectionPath()), seconds(retryPending)
	return a
}

func (c *call) collectionAnswer(status int, found *service.Collection) *answer {
	return &answer{status: status, body: c.showCollection(found), revision: found.Revision}
}

func (c *call) showCollection(found *service.Collection) []byte {
	view := resource.CollectionView{ID: c.resource("/jobCollections/" + found.Name), Name: found.Name, State: found.State, Collection: found.Collection}
	return view.Append(nil)
}

// deleted is the body of a deletion's answer: the ID of the deleted resource.
func (c *call) deleted(path string) []byte {
	return append(append([]byte(`{"id":`), quote(c.resource(path))...), '}')
}
