package command

import (
	"context"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/progress"
	"github.com/chimejobs/chime/internal/format"
)

// change changes the jobs in steps. A step that has begun is completed even if ctx ends.
func (r *jobsRun) change(ctx context.Context) error {
	store, err := r.store()
	if err != nil {
		return err
	}
	jobs := chime.NewJobs(store)
	bar := progress.New(r.Process, r.verb)
	defer bar.End()
	done, changed := 0, 0
	for _, some := range steps(r.meant) {
		if ctx.Err() != nil {
			return exit(exitInterrupted, "interrupted; %s. Run the same command again to continue", r.sofar(changed))
		}
		n, err := r.step(context.WithoutCancel(ctx), jobs, some)
		changed += n
		if err != nil && changed == 0 {
			return err
		}
		if err != nil {
			return exit(exitPart, "%s; then: %w. Run the same command again to continue", r.sofar(changed), err)
		}
		done += len(some)
		bar.Set(done, len(r.meant))
	}
	bar.End()
	return r.report(changed)
}

// steps splits jobs into groups of one queue and one state, with at most 500 jobs each.
func steps(jobs []*chime.JobInfo) [][]*chime.JobInfo {
	var all [][]*chime.JobInfo
	for i, job := range jobs {
		last := len(all) - 1
		if i > 0 && len(all[last]) < idsAtOnce && all[last][0].Queue == job.Queue && all[last][0].State == job.State {
			all[last] = append(all[last], job)
			continue
		}
		all = append(all, []*chime.JobInfo{job})
	}
	return all
}

func (r *jobsRun) sofar(changed int) string {
	return fmt.Sprintf("%s of %s jobs %s", format.Count(changed), format.Count(len(r.meant)), r.done)
}

// report prints what was done.
func (r *jobsRun) report(n int) error {
	left := len(r.meant) - n
	text := fmt.Sprintf("%s of %s jobs %s.\n", format.Count(n), format.Count(len(r.meant)), r.done)
	if n == len(r.meant) {
		text = fmt.Sprintf("%s %s.\n", format.Plural(n, "job", "jobs"), r.done)
	}
	if left > 0 {
		text += fmt.Sprintf("%s had changed or gone in the meantime, or are the next occurrence of a schedule.\n", format.Count(left))
	}
	if r.more {
		text += "There are more: run the same command again.\n"
	}
	value := changed{Verb: r.verb, Meant: len(r.meant), Changed: n, Left: left, More: r.more, Missing: r.missing}
	if err := r.printer().Item(fmt.Sprint(n), value, text); err != nil {
		return err
	}
	switch named := r.filter == ""; {
	case named && n == 0 && len(r.meant) == 0 && len(r.wrong) == 0:
		return exit(exitNotFound, "none of the jobs was found")
	case named && n == 0:
		return exit(exitRefused, "none of the jobs was %s", r.done)
	case named && (left > 0 || len(r.missing) > 0 || len(r.wrong) > 0):
		return exit(exitPart, "not all of the jobs were %s", r.done)
	case r.more:
		return exit(exitPart, "--max %d: there are more jobs", r.max)
	}
	return nil
}
