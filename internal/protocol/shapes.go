package protocol

import (
	"context"
	"time"
)

const (
	MaxNameShapes     = 4  // shapes of one job name that are counted separately in a call; the others are counted under the empty shape
	MaxMeasuredShapes = 60 // shapes in a call; the last one counts all that are left, under OtherNames and the empty shape
)

// A MeasuredShape counts the failed attempts of the jobs of one name whose errors have one shape.
type MeasuredShape struct {
	Name        string
	Shape       string // as package shape returns it; empty: it is not known
	Version     string // of the program that ran them; empty: unknown
	Count       int64
	First, Last time.Time // when the first and the last failed; milliseconds
	ID          string    // of the job that failed last
}

// ShapeStore is the part of a store about the shapes of errors.
type ShapeStore interface {
	// Shapes returns the shapes of the last errors of a queue, in each partition at most a hundred. ErrNotFound: nobody has used the queue.
	Shapes(ctx context.Context, queue string) ([]ErrorShape, error)
}

// An ErrorShape is what a partition has counted of a shape.
type ErrorShape struct {
	MeasuredShape                     // its Version is empty
	Hours         map[time.Time]int64 // hour → failed attempts: those of the last 24 hours with failures
	Versions      map[string]int64    // version → failed attempts: the last three versions
}
