package chime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Group puts the job into a group of its queue. The key is 1 to 200 bytes of UTF-8 without control or format characters, without space at either end, and
// without an end like that of an occurrence's ID, such as "@2026-01-31T09:00:00Z"; other keys are refused with an [InvalidError]. A group is,
// for example, a tenant or an account. A group exists while it has jobs; there may be any number of groups.
//
// A worker that has a free slot takes a job of the group that holds the fewest slots for its weight; among equal groups they take turns. So a group with a
// million jobs does not delay a group with one. [Queues.SetGroup] and [Queues.SetGroups] set weights, limits and order. Jobs without a group
// are not a group: workers take a third of each batch from them, a third from delayed jobs that are due, and a third from groups, and more if the
// others leave room.
//
// The queue must have one partition; otherwise the job or the schedule is refused with an [InvalidError]. All jobs of a schedule have its group: its
// occurrences, those of [Schedules.Backfill], and manual runs without a Group of their own. An occurrence gets its place in the group when it is due, and
// what it waits for its turn counts as lateness, so [MisfireSkip] may skip it. If a schedule gets another group, occurrences that are due or have begun keep
// theirs. The job that [OnDone] or [OnDeath] adds has the group of its item. [Replace] with another group moves the job to the end of that group. Versions
// of chime without groups stop taking jobs from the queue, and log that.
func Group(key string) JobOption { return groupOf(key) }

func groupOf(key string) jobOption {
	return func(s *jobSettings) {
		s.group = key
		if err := protocol.CheckID("group", key); err != nil {
			s.refuse(err)
		}
	}
}

// A groupedOption is the group that a kind makes of the arguments.
type groupedOption struct{ jobOption }

// GroupBy makes the group of each job of a kind from its arguments, for [Kind.Enqueue], [Kind.Item], [Kind.Schedule] and [Kind.With]: see [Define]. An
// option [Group] of the call overrides it. Jobs that are enqueued by their name have no group. A manual run has the group of its schedule, also with
// other arguments. of must return a valid key, as for [Group]; otherwise the job or the schedule is refused.
//
//	var Export = chime.Define[ExportArgs]("export", chime.GroupBy(func(args ExportArgs) string { return args.Tenant }))
func GroupBy[T any](of func(args T) string) KindOption {
	return groupByOption{args: reflect.TypeFor[T](), isNil: of == nil, of: func(args any) string { return of(args.(T)) }}
}

// A groupByOption is the option GroupBy.
type groupByOption struct {
	args  reflect.Type
	isNil bool
	of    func(args any) string
}

func (o groupByOption) kind(d *kindDefaults) {
	if o.isNil {
		d.problems = append(d.problems, protocol.Because(protocol.Invalid("GroupBy", "", "a function"), "is nil"))
	}
	d.groupBy = &o
}

// NoLimit in Running, Starts or Waiting of a group's own [GroupRule] means that the group has no such limit, whatever the queue's rule has.
const NoLimit = protocol.NoGroupLimit

// A Switch is a setting that is unset, [On] or [Off].
type Switch int

// The values of a [Switch] that is set.
const (
	On  Switch = protocol.OrderOn
	Off Switch = protocol.OrderOff
)

// String returns "on", "off" or "".
func (s Switch) String() string {
	switch s {
	case On:
		return "on"
	case Off:
		return "off"
	case 0:
		return ""
	}
	return "Switch(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText returns the text of String.
func (s Switch) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Switch) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on":
		*s = On
	case "off":
		*s = Off
	case "":
		*s = 0
	default:
		return protocol.Invalid("switch", string(text), "on, off or nothing")
	}
	return nil
}

// A GroupRule is the rule of one group, or of a queue for all of its groups. A zero field is not set: for a group it is that of the queue's rule, and if
// that is not set either, the weight is 1 and there is no limit and no order. Starts and Per belong together.
type GroupRule struct {
	Weight  int           `json:"weight,omitempty"`  // the share of the slots and of the starts, relative to other groups: 1 to 1,000
	Running int           `json:"running,omitempty"` // jobs at once: 1 to 1,000,000, or NoLimit
	Starts  int           `json:"starts,omitempty"`  // jobs that start within Per: 1 to 1,000,000, or NoLimit
	Per     time.Duration `json:"-"`                 // the period of Starts: 1 ms to 30 days; rounded up to a millisecond. In JSON: per_ms
	// Ordered, if On, starts a job only when the one before it has ended for good: when it is done, dead, cancelled or deleted. A job that
	// waits for its next attempt, or is snoozed or parked, holds up its group: 25 attempts take about 20 days. Running must then be 0 or 1.
	Ordered Switch `json:"ordered,omitempty"`
	// Waiting limits how many jobs of the group wait: 1 to 1,000,000,000, or NoLimit. A job that is enqueued to run now is refused with ErrGroupFull if
	// as many wait already, also with Replace if no job of its ID exists. Delayed jobs, retries, requeued and replaced jobs always join.
	Waiting int `json:"waiting,omitempty"`
}

// MarshalJSON encodes Per in milliseconds, as per_ms.
func (r GroupRule) MarshalJSON() ([]byte, error) {
	type plain GroupRule
	return json.Marshal(struct {
		plain
		PerMS int64 `json:"per_ms,omitempty"`
	}{plain(r), r.Per.Milliseconds()})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *GroupRule) UnmarshalJSON(data []byte) error {
	type plain GroupRule
	read := struct {
		*plain
		PerMS int64 `json:"per_ms"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if most := protocol.MaxPer.Milliseconds(); read.PerMS < 0 || read.PerMS > most {
		return protocol.Invalid("GroupRule.Per", strconv.FormatInt(read.PerMS, 10)+" ms", "0 to "+strconv.FormatInt(most, 10)+" ms")
	}
	r.Per = time.Duration(read.PerMS) * time.Millisecond
	return nil
}

// validate returns every problem of a rule.
func (r GroupRule) validate() error {
	var bad []error
	for _, n := range []struct {
		field string
		value int
		least int
		most  int
		limit string
	}{
		{"GroupRule.Weight", r.Weight, 0, protocol.MaxGroupWeight, "0 (not set) to 1000"},
		{"GroupRule.Running", r.Running, NoLimit, protocol.MaxLimit, "-1 (no limit), 0 (not set) to 1000000"},
		{"GroupRule.Starts", r.Starts, NoLimit, protocol.MaxLimit, "-1 (no limit), 0 (not set) to 1000000"},
		{"GroupRule.Waiting", r.Waiting, NoLimit, protocol.MaxGroupWaiting, "-1 (no limit), 0 (not set) to 1000000000"},
	} {
		if n.value < n.least || n.value > n.most {
			bad = append(bad, protocol.Invalid(n.field, strconv.Itoa(n.value), n.limit))
		}
	}
	if r.Ordered < 0 || r.Ordered > Off {
		bad = append(bad, protocol.Invalid("GroupRule.Ordered", strconv.Itoa(int(r.Ordered)), "0 (not set), On or Off"))
	}
	if r.Ordered == On && (r.Running > 1 || r.Running == NoLimit) {
		bad = append(bad, protocol.Because(protocol.Invalid("GroupRule.Running", strconv.Itoa(r.Running), "0 or 1, together with Ordered"), "comes with Ordered"))
	}
	const per = "1ms to 720h (30 days), together with Starts"
	switch {
	case r.Starts <= 0 && r.Per != 0:
		bad = append(bad, protocol.Because(protocol.Invalid("GroupRule.Per", r.Per.String(), per), "comes without Starts"))
	case r.Starts > 0 && r.Per == 0:
		bad = append(bad, protocol.Invalid("GroupRule.Per", "", per))
	case r.Starts > 0 && (r.Per < protocol.MinPer || r.Per > protocol.MaxPer):
		bad = append(bad, protocol.Invalid("GroupRule.Per", r.Per.String(), per))
	}
	return errors.Join(bad...)
}

func (r GroupRule) stored() protocol.GroupRule {
	return protocol.GroupRule{Weight: r.Weight, Running: r.Running, Starts: r.Starts, Per: r.Per, Ordered: int(r.Ordered), Waiting: r.Waiting}
}

func groupRuleOf(r protocol.GroupRule) GroupRule {
	return GroupRule{Weight: r.Weight, Running: r.Running, Starts: r.Starts, Per: r.Per, Ordered: Switch(r.Ordered), Waiting: r.Waiting}
}

// SetGroup replaces the own rule of one group of a queue; see [Group] and [GroupRule]. It applies from the next job that a worker takes, also to jobs
// that wait already. Running jobs continue, and count. The rule remains when the group has no jobs. The zero rule removes it, as
// ResetGroup does. Setting the same rule again changes nothing. A queue has at most 100,000 rules and pauses of groups.
//
// SetGroup fails with ErrNotFound if no job, schedule or worker has ever used the queue, and with an [InvalidError] for a rule out of range, for a key that
// Group refuses, for a queue with several partitions, and for a rule beyond the 100,000.
func (q *Queues) SetGroup(ctx context.Context, queue, group string, rule GroupRule) error {
	return q.changeGroup(ctx, "set the rule of", queue, group, rule.validate(), func() error { return q.store.SetGroup(ctx, queue, group, rule.stored()) })
}

// SetGroups replaces the rule of a queue for all of its groups; the zero rule removes it. A group's own rule overrides it field by field. Lower limits and
// order apply from the next job that a worker takes; higher limits and weights apply to each group within seconds, in steps of 500 groups that wait. A
// queue that was never used is registered. SetGroups fails with an [InvalidError] for a rule out of range and for a queue with several partitions.
func (q *Queues) SetGroups(ctx context.Context, queue string, rule GroupRule) error {
	err := errors.Join(q.check(ctx, queue), rule.validate())
	if err == nil {
		err = q.store.SetGroups(ctx, queue, rule.stored())
	}
	if err != nil {
		return fmt.Errorf("chime: set the rule of the groups of queue %.40q: %w", queue, err)
	}
	return nil
}

// ResetGroup removes the own rule of a group. A pause of the group remains. A group without an own rule does not change.
func (q *Queues) ResetGroup(ctx context.Context, queue, group string) error {
	return q.changeGroup(ctx, "reset", queue, group, nil, func() error { return q.store.SetGroup(ctx, queue, group, protocol.GroupRule{}) })
}

// PauseGroup stops taking jobs of one group until ResumeGroup. Its running jobs continue, and enqueuing continues. The pause remains when the group has no
// jobs, and changes no rule. A note is shown in GroupInfo; if several are given, the last one counts. A group that is already paused remains
// paused, and keeps its note unless a new one is given. A queue has at most 100,000 rules and pauses of groups. The errors are those of SetGroup.
func (q *Queues) PauseGroup(ctx context.Context, queue, group string, note ...Note) error {
	var kept Note
	var bad error
	for _, n := range note {
		bad = errors.Join(bad, n.validate())
		kept = n
	}
	return q.changeGroup(ctx, "pause", queue, group, bad, func() error { return q.store.PauseGroup(ctx, queue, group, true, protocol.Note(kept)) })
}

// ResumeGroup ends the pause of a group. A group that is not paused does not change.
func (q *Queues) ResumeGroup(ctx context.Context, queue, group string) error {
	return q.changeGroup(ctx, "resume", queue, group, nil, func() error { return q.store.PauseGroup(ctx, queue, group, false, protocol.Note{}) })
}

// changeGroup makes a call about one group, unless its input is invalid: bad is what is wrong with the rest of it.
func (q *Queues) changeGroup(ctx context.Context, action, queue, group string, bad error, change func() error) error {
	err := errors.Join(q.check(ctx, queue), protocol.CheckID("group", group), bad)
	if err == nil {
		err = change()
	}
	if err != nil {
		return fmt.Errorf("chime: %s group %.40q of queue %.40q: %w", action, group, queue, err)
	}
	return nil
}

// PurgeGroup deletes the jobs of a group that wait, and keeps nothing of them. It does not change other jobs of the group: delayed, retrying, running,
// parked and dead ones, and occurrences of schedules, which belong to their schedules. It works in steps of at most 500 jobs. After each step it calls progress, unless that is nil, with the sum of all steps. Jobs
// that join the group after PurgeGroup began remain. If ctx ends, or the store fails, it stops and returns what it has done, with the error.
func (q *Queues) PurgeGroup(ctx context.Context, queue, group string, progress func(BulkResult)) (result BulkResult, err error) {
	err = q.changeGroup(ctx, "purge", queue, group, nil, func() error {
		for upTo, more := "", true; more; {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			var done protocol.PurgeAnswer
			var err error
			done, upTo, err = q.store.PurgeGroup(ctx, queue, group, upTo)
			result = result.plus(BulkResult{Changed: done.Changed, Gone: done.Looked - done.Changed, Looked: done.Looked})
			if progress != nil && done.Looked > 0 {
				progress(result)
			}
			if more = done.More; err != nil {
				return err
			}
		}
		return nil
	})
	return result, err
}

// A GroupFilter selects groups: a group must match every field that is set.
type GroupFilter struct {
	Prefix  string // of their keys
	Paused  bool   // they are paused
	Waiting bool   // jobs of theirs wait
	After   string // GroupInfo.Next of the group after which the list continues; empty: from the beginning
}

// A GroupBlock is the reason for which a group starts no job, although jobs of it may wait.
type GroupBlock string

// The reasons. If several apply, the reason is the first of them in this order.
const (
	GroupPaused  GroupBlock = protocol.GroupPaused  // it is paused
	GroupOrdered GroupBlock = protocol.GroupOrdered // it is ordered, and a job of it has not ended
	GroupRunning GroupBlock = protocol.GroupRunning // as many of its jobs run as its rule allows
	GroupStarts  GroupBlock = protocol.GroupStarts  // as many of its jobs have started within Per as its rule allows
)

// GroupInfo describes a group of a queue.
type GroupInfo struct {
	Key       string    `json:"key"`           // the group
	Own       GroupRule `json:"own,omitzero"`  // its own rule; zero: it has none
	Effective GroupRule `json:"effective"`     // its own rule with the queue's for the fields that it does not set
	Paused    bool      `json:"paused"`        // workers take none of its jobs
	Note      Note      `json:"note,omitzero"` // the note of the pause; if only At is set, there is no note

	Waiting int64 `json:"waiting"` // jobs of the group to run now that nobody has taken yet
	Running int64 `json:"running"` // jobs of the group that workers hold

	Oldest      string    `json:"oldest,omitempty"`      // the ID of the job that is first in line; empty: none waits
	OldestSince time.Time `json:"oldest_since,omitzero"` // about when that job began to wait; zero: it is not known, because it was requeued

	Blocked GroupBlock `json:"blocked,omitempty"` // why it starts nothing; empty: nothing prevents it
	Until   time.Time  `json:"until,omitzero"`    // starts: when the next job may start
	By      string     `json:"by,omitempty"`      // ordered: the ID of the job that has not ended; empty: it is not known

	Next string `json:"next"` // GroupFilter.After of a list that continues after this group
}

// GroupCounts are the counts of the groups of a queue. They are independent of the number of groups: reading them takes a few commands.
type GroupCounts struct {
	Jobs     int64 `json:"jobs"`      // jobs that belong to a group, in any state but done
	Waiting  int64 `json:"waiting"`   // those of them that wait to run now; they are part of QueueInfo.Waiting
	MayStart int64 `json:"may_start"` // groups with jobs that wait, of which the next may start unless the queue is paused or at its limit
	Rules    int64 `json:"rules"`     // groups with a rule of their own or a pause; Queues.SetGroups adds one

	Rule GroupRule `json:"rule,omitzero"` // the queue's rule for all groups, see [Queues.SetGroups]
}

func groupCounts(c protocol.GroupCounts) GroupCounts {
	return GroupCounts{Jobs: c.Jobs, Waiting: c.Waiting, MayStart: c.MayStart, Rules: c.Rules, Rule: groupRuleOf(c.Rule)}
}

// Group returns one group of a queue, also if nothing is known of it: then it has no jobs and no rule of its own. Its Next is empty. ErrNotFound: no job,
// schedule or worker has ever used the queue.
func (q *Queues) Group(ctx context.Context, queue, group string) (info *GroupInfo, err error) {
	err = q.changeGroup(ctx, "get", queue, group, nil, func() error {
		page, err := q.store.PageGroups(ctx, protocol.GroupPageCall{Queue: queue, Key: group})
		if err == nil && len(page.Groups) == 1 {
			info = groupInfo(&page.Groups[0])
		}
		return err
	})
	return info, err
}

// Groups iterates over the groups of a queue that match the filter: first those with jobs that wait, in the order of their keys, then the others that have
// running jobs, a rule or a pause, in no order. A group that changes meanwhile may be listed twice or not at all. It reads a page of about a hundred groups
// at a time, which takes the store a few milliseconds, and writes nothing. After an error, which comes with a nil group, the list ends.
func (q *Queues) Groups(ctx context.Context, queue string, filter GroupFilter) iter.Seq2[*GroupInfo, error] {
	return func(yield func(*GroupInfo, error) bool) {
		err := q.check(ctx, queue)
		if err == nil {
			err = protocol.CheckPrefix("GroupFilter.Prefix", filter.Prefix)
		}
		call := protocol.GroupPageCall{Queue: queue, Prefix: filter.Prefix, Waiting: filter.Waiting, After: filter.After, Limit: protocol.MaxGroupsPage}
		for more := true; more; {
			var page protocol.GroupPage
			if err == nil {
				page, err = q.store.PageGroups(ctx, call)
			}
			if err != nil {
				yield(nil, fmt.Errorf("chime: list groups of queue %.40q: %w", queue, err))
				return
			}
			for i := range page.Groups {
				if g := &page.Groups[i]; !filter.Paused || g.Paused {
					if !yield(groupInfo(g), nil) {
						return
					}
				}
			}
			call.After = page.Next
			more = page.Next != ""
		}
	}
}

func groupInfo(g *protocol.ListedGroup) *GroupInfo {
	return &GroupInfo{
		Key: g.Key, Own: groupRuleOf(g.Own), Effective: groupRuleOf(g.Effective), Paused: g.Paused, Note: Note(g.Note), Waiting: g.Waiting, Running: g.Running,
		Oldest: g.Oldest, OldestSince: g.Since.UTC(), Blocked: GroupBlock(g.Blocked), Until: g.Until.UTC(), By: g.By, Next: g.Next,
	}
}
