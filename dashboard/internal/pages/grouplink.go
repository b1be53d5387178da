package pages

import "github.com/chimejobs/chime/internal/jobfind"

// A GroupLink leads to the jobs of a group.
type GroupLink struct {
	Key    string
	Filter string // the filter in the list of jobs
}

// groupLink returns the link to the jobs of a group of a queue; nil: the key is empty.
func groupLink(queue, key string) *GroupLink {
	if key == "" {
		return nil
	}
	filter := jobfind.Filter{Queue: queue, Group: key}
	return &GroupLink{Key: key, Filter: filter.String()}
}
