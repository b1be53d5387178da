package chime

import (
	"context"
	"errors"
)

// A Role is a part of chime that runs: *Worker, *Scheduler.
type Role interface {
	// Run works until ctx ends and returns when the work is finished. It returns nil after a clean end.
	Run(ctx context.Context) error
}

// What Run asks of a role, where it has an answer.
type (
	// validator returns everything that is wrong with a role's options and declarations, before anything starts.
	validator interface{ validate() error }
	// runner tells that a role runs already.
	runner interface{ runs() bool }
	// laster is implemented by roles that stop after all others have.
	laster interface{ stopsLast() }
)

// Run starts all roles.
func Run(ctx context.Context, roles ...Role) error { return errors.ErrUnsupported }
