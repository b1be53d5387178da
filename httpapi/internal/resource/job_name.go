package resource

// A JobName identifies a job.
type JobName struct{ Collection, Job string }

// Schedule is the name of its schedule.
func (n JobName) Schedule() string { return n.Collection + ":" + n.Job }
