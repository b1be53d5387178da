package recurrence

import "time"

// Stand-ins until series.go and cron.go land: whoever brings the real one deletes its line here.

func checkCron(expr string, timeZoneSet bool) error { return nil }

type Series struct{}

func (r Recurrence) Series(created time.Time) (*Series, error) { return nil, r.check() }
