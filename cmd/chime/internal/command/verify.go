package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
)

// The results of a check.
const (
	checkGood = "ok"
	checkWarn = "warning"
	checkBad  = "bad"
)

var checkSigns = map[string]string{checkGood: "✓", checkWarn: "⚠", checkBad: "✕"}

// A check is one result of verify.
type check struct {
	Name   string `json:"check"`
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// verified is the result of verify as JSON.
type verified struct {
	Good   bool                `json:"ok"`
	Checks []check             `json:"checks"`
	Report *chime.VerifyReport `json:"report,omitempty"` // nil: schedules and jobs were not checked
}

// maxShallow limits how many jobs and schedules are read without --deep.
const maxShallow = 100_000

// maxUnserved is how many unserved queues the text of a check names.
const maxUnserved = 5

func (s *session) verify() *cobra.Command {
	deep := false
	c := &cobra.Command{
		Use: "verify", Short: "Check the server, the user's rights, and whether the stored data is consistent", GroupID: groupTools, Args: cobra.NoArgs,
		Long: "Check the server (version, eviction policy, clock), the rights of the user, who leads, and whether the stored data is consistent: schedules that\n" +
			"nobody places, IDs without a job, orphaned jobs. It writes nothing and may run at any time. It reads every schedule and job once;\n" +
			"if there are more than 100,000, only with --deep. It exits with 7 if something is wrong.",
		RunE: func(c *cobra.Command, _ []string) error {
			v := verifying{session: s, deep: deep}
			if err := v.look(c.Context()); err != nil {
				return err
			}
			found := v.found
			if err := s.printer().Item(s.opened.Address, found, verifyText(found)); err != nil {
				return err
			}
			if !found.Good {
				return exit(exitBad, "something is wrong with %s", s.opened.Address)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&deep, "deep", false, "read all schedules and jobs, also if there are more than 100,000")
	return c
}

// verifying is a verify in progress.
type verifying struct {
	*session
	deep  bool
	found verified
}

func (v *verifying) add(name, state, format string, values ...any) {
	v.found.Checks = append(v.found.Checks, check{name, state, fmt.Sprintf(format, values...)})
}

func (v *verifying) look(ctx context.Context) error {
	store, err := v.store()
	if err != nil {
		return err
	}
	if err := v.server(ctx, store); err != nil {
		return err
	}
	queues, err := chime.NewQueues(store).List(ctx)
	if err != nil {
		return err
	}
	for _, look := range []func(context.Context, chime.Store, []*chime.QueueInfo) error{v.rights, v.leader, v.content} {
		if err := look(ctx, store, queues); err != nil {
			return err
		}
	}
	v.found.Good = true
	for _, check := range v.found.Checks {
		v.found.Good = v.found.Good && check.State != checkBad
	}
	return nil
}

// content reads schedules and jobs.
func (v *verifying) content(ctx context.Context, store chime.Store, queues []*chime.QueueInfo) error {
	held := int64(0)
	for _, q := range queues {
		held += q.Waiting + q.Delayed + q.InFlight() + q.Parked + q.Dead + q.Schedules
	}
	if held > maxShallow && !v.deep {
		v.add("content", checkWarn, "not checked: there are %s jobs and schedules; --deep reads them all", format.Count(held))
		return nil
	}
	report, err := chime.Verify(ctx, store, chime.VerifyOptions{})
	v.found.Report = report
	if n := len(report.Unserved); n > 0 {
		v.add("workers", checkWarn, "no live worker serves %s, and jobs wait there", strings.Join(report.Unserved[:min(n, maxUnserved)], ", "))
		if more := n - maxUnserved; more > 0 {
			v.found.Checks[len(v.found.Checks)-1].Detail += fmt.Sprintf(" and on %d other queues", more)
		}
	}
	looked := fmt.Sprintf("%s, %s, %s", format.Plural(report.Queues, "queue", "queues"), format.Plural(report.Schedules, "schedule", "schedules"), format.Plural(report.Jobs, "job", "jobs"))
	switch {
	case err != nil:
		return err
	case report.Total > 0:
		v.add("content", checkBad, "%s: %s", looked, format.Plural(report.Total, "finding", "findings"))
	default:
		v.add("content", checkGood, "%s: consistent", looked)
	}
	return nil
}

// verifyText formats the result for people.
func verifyText(found verified) string {
	var b strings.Builder
	for _, c := range found.Checks {
		fmt.Fprintf(&b, "%s %-8s  %s\n", checkSigns[c.State], c.Name, output.Printable(c.Detail))
	}
	if found.Report == nil || found.Report.Total == 0 {
		return b.String()
	}
	b.WriteString("\n")
	for _, f := range found.Report.Findings {
		b.WriteString(output.Printable(f.String()) + "\n")
		if f.Remedy != "" {
			b.WriteString("  repaired by: " + output.Printable(f.Remedy) + "\n")
		}
	}
	if more := found.Report.Total - len(found.Report.Findings); more > 0 {
		fmt.Fprintf(&b, "… and %s more\n", format.Count(more))
	}
	return b.String()
}

// unfit reports whether a store is unsuitable, and returns the reason without the common prefix of such errors.
func unfit(err error) (why string, is bool) {
	if !errors.Is(err, chime.ErrUnfit) {
		return "", false
	}
	return strings.ReplaceAll(strings.ReplaceAll(err.Error(), "redisstore: ", ""), "\n", "; "), true
}
