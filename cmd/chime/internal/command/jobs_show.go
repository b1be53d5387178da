package command

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
	"github.com/chimejobs/chime/internal/wire"
)

func (s *session) jobsShow() *cobra.Command {
	payload := false
	c := &cobra.Command{
		Use: "show [QUEUE/]ID", Short: "Show a job: where it is, its attempts, its headers", Args: cobra.ExactArgs(1),
		Long: "Show a job: where it is, the attempts that failed, its headers. Its payload, progress and result are shown only with --payload,\nbecause they may contain secrets.",
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			job, err := s.findJob(ctx, args[0])
			if err != nil {
				return err
			}
			store, err := s.store()
			if err != nil {
				return err
			}
			queue, err := chime.NewQueues(store).Get(ctx, job.Queue)
			if err != nil {
				return err
			}
			why, err := chime.NewJobs(store).Reasons(ctx, job)
			if err != nil {
				return err
			}
			value, err := jobValue(job, why[0], payload)
			if err != nil {
				return err
			}
			return s.printer().Item(nameOf(job), value, s.jobText(job, why[0], queue.Now, payload))
		},
	}
	c.Flags().BoolVar(&payload, "payload", false, "show payload, progress and result too")
	return c
}

// jobValue returns a job as JSON, with the reason why it does not run, and with its payload, progress and result if payload is true.
func jobValue(job *chime.JobInfo, why chime.Reason, payload bool) (any, error) {
	if !payload && why.Kind == "" {
		return job, nil
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	if why.Kind != "" {
		value["reason"] = why
	}
	if !payload {
		return value, nil
	}
	for name, data := range map[string][]byte{"payload": job.Payload, "progress": job.Progress, "result": job.Result} {
		if len(data) == 0 {
			continue
		}
		if decoded, ok := wire.View(data); ok {
			value[name] = decoded
		} else {
			value[name+"_hex"] = hex.EncodeToString(data)
		}
	}
	return value, nil
}

// ranOn describes the worker of an attempt: its address, and the version of its program if it is known.
func ranOn(worker string) string {
	address, version := plain.Worker(worker)
	if version != "" {
		address += " " + version
	}
	return address
}

const maxShown = 64 << 10 // bytes of a payload in a text for people

// shownData formats encoded data for people: as JSON if possible, else in hexadecimal.
func shownData(data []byte) string {
	text := hex.EncodeToString(data)
	if decoded, ok := wire.View(data); ok {
		text = string(decoded)
	}
	if len(text) > maxShown {
		text = fmt.Sprintf("%s… (%s bytes; all of it with -o json)", strings.ToValidUTF8(text[:maxShown], ""), format.Count(len(data)))
	}
	return output.Printable(text)
}

// jobText formats a job for people; now is the store's clock.
func (s *session) jobText(job *chime.JobInfo, why chime.Reason, now time.Time, payload bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  on queue %s\n%s\n\n", output.Printable(job.ID), job.Name, job.Queue, plain.JobInfo(job, why, now).Sentence)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(title, text string) {
		if text != "" {
			fmt.Fprintf(t, "%s\t%s\n", title, output.Printable(text))
		}
	}
	lines := func(title, text string) {
		for line := range strings.SplitSeq(strings.ReplaceAll(text, "\t", "    "), "\n") {
			row(title, line)
			title = " "
		}
	}
	instant := func(title string, at time.Time) {
		if !at.IsZero() {
			row(title, times.Full(at, s.location)+"  "+format.Away(at.Sub(now)))
		}
	}
	row("State", plain.JobRow(job).Word)
	if job.Err != nil {
		row("Unreadable", job.Err.Error())
	}
	row("Sealed", sealedWith(job.Sealed))
	row("Attempt", attemptOf(job))
	row("Schedule", job.Schedule)
	row("Group", job.Group)
	row("Batch", job.Batch)
	row("End of", job.FollowsBatch)
	if job.FollowsID != "" {
		row("Follows", job.FollowsQueue+"/"+job.FollowsID)
	}
	instant("Enqueued", job.Enqueued)
	instant("Planned", job.Planned)
	instant("Due", job.Due)
	instant("Expires", job.Expires)
	instant("Started", job.Started)
	instant("Ended", job.Ended)
	row("Worker", job.Worker)
	if job.Crashes > 0 {
		row("Crashes", fmt.Sprint(job.Crashes))
	}
	if job.Timeout > 0 {
		row("Timeout", format.Exact(job.Timeout))
	}
	row("When done", job.OnDone)
	row("On death", job.OnDeath)
	if job.Followers > 1 {
		row("Chain", format.Plural(job.Followers, "job", "jobs")+" may follow")
	}
	lines("Note", job.Note)
	instant("Kept until", job.KeptUntil)
	for _, key := range slices.Sorted(maps.Keys(job.Header)) {
		row("Header "+key, job.Header[key])
	}
	for _, part := range []struct {
		title string
		data  []byte
	}{{"Payload", job.Payload}, {"Progress", job.Progress}, {"Result", job.Result}} {
		switch {
		case len(part.data) == 0:
		case payload:
			row(part.title, shownData(part.data))
		default:
			row(part.title, format.Plural(len(part.data), "byte", "bytes")+"; --payload shows it")
		}
	}
	for i, failure := range jobfind.Failures(job) {
		row(cmp.Or(map[int]string{0: "Failures"}[i], " "), times.Full(failure.At, s.location)+"  on "+ranOn(failure.Worker))
		lines(" ", "  "+strings.ReplaceAll(failure.Error, "\n", "\n  "))
	}
	if len(job.Failures) == 0 {
		lines("Error", job.LastError)
	}
	_ = t.Flush()
	if job.Stack != "" {
		b.WriteString("\nStack of the last failure\n")
		for line := range strings.SplitSeq(strings.TrimRight(job.Stack, "\n"), "\n") {
			fmt.Fprintf(&b, "  %s\n", output.Printable(strings.ReplaceAll(line, "\t", "    ")))
		}
	}
	return b.String()
}
