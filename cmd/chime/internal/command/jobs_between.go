package command

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/times"
)

// A between has the flags --since and --until of a filter of jobs.
type between struct {
	*session
	since, until string
}

// flags adds the flags to a command.
func (b *between) flags(c *cobra.Command) {
	c.Flags().StringVar(&b.since, "since", "", "only jobs that are in their state since this `time` or later: when they died, failed, or were enqueued, as "+times.Forms)
	c.Flags().StringVar(&b.until, "until", "", "only jobs that are in their state since before this `time`")
}

// filter reads a filter and adds the instants of the flags. Instants of the filter without an offset are in the session's zone.
func (b *between) filter(text string) (jobfind.Filter, error) {
	filter, err := jobfind.ParseIn(text, b.location)
	if err != nil {
		return filter, err
	}
	for _, bound := range []struct {
		flag, text string
		to         *time.Time
	}{{"--since", b.since, &filter.Since}, {"--until", b.until, &filter.Until}} {
		switch {
		case bound.text == "":
			continue
		case !bound.to.IsZero():
			return filter, usage("%s: the filter has %s: too; want one of them", bound.flag, strings.TrimPrefix(bound.flag, "--"))
		}
		if *bound.to, err = b.instant(bound.flag, bound.text, time.Time{}); err != nil {
			return filter, err
		}
	}
	if !filter.Since.IsZero() && !filter.Until.IsZero() && !filter.Since.Before(filter.Until) {
		return filter, usage("--until: want a time after --since")
	}
	return filter, nil
}
