package resource

import (
	"time"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// A Collection is what a client can write of a collection.
type Collection struct {
	Location    string
	Tags        map[string]string
	SKU         string // Free, Standard, P10Premium, P20Premium; empty: none
	State       string // Enabled or Disabled; empty: not said
	Quota       Quota
	Queue       string   // chime.queue; empty: not said
	Description string   // chime.description
	Jobs        []string // chime.jobs: the entries of what job actions may name
}

// A Quota bounds the jobs of a collection. Zero fields were not said.
type Quota struct {
	MaxJobCount      int
	MaxJobOccurrence int
	MaxFrequency     string // of maxRecurrence: minute, hour, day, week, month, as it is written
	MaxInterval      int
}

// Shortest is the shortest time between two runs that the quota and the sku allow.
func (c *Collection) Shortest() time.Duration { panic("not made yet") }

// MaxJobs is the quota of jobs that holds.
func (c *Collection) MaxJobs() int { panic("not made yet") }

// ReadCollection reads the body of a PUT. Name is that of the path; what contradicts it is a mistake.
func ReadCollection(text []byte, name string) (*Collection, []problem.Mistake) {
	panic("not made yet")
}

// Patch returns the collection with a merge patch (RFC 7396) put on its writable form, checked whole.
func (c *Collection) Patch(text []byte, name string) (*Collection, []problem.Mistake) {
	panic("not made yet")
}

// Encode is how the collection is stored, as canonical JSON; equal collections have equal bytes. The state is not part of it.
func (c *Collection) Encode() []byte { panic("not made yet") }

// DecodeCollection reads what Encode has written.
func DecodeCollection(data []byte) (*Collection, error) { panic("not made yet") }

// A CollectionView is a collection as it is shown.
type CollectionView struct {
	ID    string // the path below the mount point, with the ARM prefix of the request if it had one
	Name  string
	State string // Enabled, Disabled, Deleted
	*Collection
}

// Append appends the answer's JSON, without a newline.
func (v *CollectionView) Append(to []byte) []byte { panic("not made yet") }
