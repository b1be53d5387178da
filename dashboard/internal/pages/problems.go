package pages

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/rights"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	maxFailingCards = 10 // schedules that have a card of their own
	sparkMinutes    = 5  // the length of a bar in the chart of a card
)

// Problems is the page with what is wrong: a card for each problem, the worst first.
type Problems struct {
	Cards []ProblemCard
	Well  string // the sentence if nothing is wrong
	Note  string // why some problems may be missing; empty: none is
}

// A ProblemCard is a problem with the numbers that show how bad it is, and the one action that helps.
type ProblemCard struct {
	Tone    string // fail or late
	Title   string
	Text    string
	Error   bool // Text is an error
	Count   int64
	Counts  string    // what Count counts, such as "waiting jobs"; empty: it has no number
	Mark    string    // the name of the number
	Since   time.Time // zero: not known
	Chart   template.HTML
	Version string // of the programs in which it happens; empty: not known
	Path    string // of the page with details
	Query   string // of that page's address
	Link    string // the text of the link
	Verb    *CardVerb
}

// A CardVerb is the action of a card.
type CardVerb struct {
	render.Verb
	Path   string // the path of what it acts on
	Form   string // the path of the form; empty: Path and the verb
	Hidden []render.Pair
}

// Problems reads the page with what is wrong.
func (s *Site) Problems(ctx context.Context, r *Request) (View, error) {
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	listing, err := s.directory.lately(ctx, r.Live)
	if err != nil && !rights.Missing(err) {
		return View{}, err
	}
	open, _ := s.openFailures(standing)
	m := &Problems{}
	m.Cards = slices.Concat(standing.workerCards(), queueCards(standing, r.Can), scheduleCards(standing, listing, r.Can), s.failureCards(standing, open, r.Can))
	slices.SortStableFunc(m.Cards, func(a, b ProblemCard) int { return cmp.Compare(a.late(), b.late()) })
	if len(m.Cards) == 0 {
		m.Well = healthOf(standing, listing, open).Text
	}
	if !listing.Whole {
		m.Note = "Some schedules were not read yet, and are missing here."
	}
	return View{"What is wrong", m}, nil
}

// late orders the cards: failures come first.
func (c *ProblemCard) late() int {
	if c.Tone == "fail" {
		return 0
	}
	return 1
}

// workerCards returns the problems of roles and workers.
func (s *Standing) workerCards() (cards []ProblemCard) {
	now := s.Now()
	waiting, _, _ := waitingOf(s.Queues, now)
	if s.leaderless() {
		cards = append(cards, ProblemCard{Tone: "fail", Title: "No leader", Text: noLeader + " Start a program that runs a chime.Scheduler.", Link: "Workers", Path: "workers"})
	}
	if s.Notes[overview.Workers] == "" && len(s.Workers) == 0 && waiting > 0 {
		card := ProblemCard{Tone: "fail", Title: "No live worker", Text: "Nobody runs jobs. Start a program that runs a chime.Worker.", Count: waiting, Counts: "waiting jobs", Link: "Workers", Path: "workers"}
		for _, q := range s.Queues {
			card.Since = earlier(card.Since, q.Oldest)
		}
		cards = append(cards, card)
	}
	if full := fullFor(s.Workers, now); full >= fullLong {
		slots := int64(0)
		for _, w := range s.Workers {
			slots += int64(w.Slots)
		}
		cards = append(cards, ProblemCard{
			Tone: "late", Title: "All workers are full", Text: "Jobs wait for a free slot. Start more workers, or find out which jobs take long.", Count: slots, Counts: "busy slots", Since: now.Add(-full),
			Link: "Workers", Path: "workers",
		})
	}
	return cards
}

// queryOf returns the query of names and values.
func queryOf(pairs ...string) string {
	query := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		query.Set(pair[0], pair[1])
	}
	return query.Encode()
}

// earlier returns the earlier of two instants that are known.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// queueCards returns the problems of queues, those with the most jobs first.
func queueCards(s *Standing, can Can) (cards []ProblemCard) {
	served, now := s.Served(), s.Now()
	waits, later := overview.Unserved(s.Snapshot)
	for _, q := range slices.SortedStableFunc(slices.Values(s.Queues), func(a, b overview.Queue) int { return cmp.Compare(b.Waiting+b.Parked, a.Waiting+a.Parked) }) {
		card := ProblemCard{Tone: "late", Link: "Queue " + q.Name, Path: render.Path("queues", q.Name), Count: q.Waiting, Counts: "waiting jobs", Mark: "waiting " + q.Name, Since: q.Oldest, Chart: endedChart(&q)}
		add := func(is bool, tone, title, text string) bool {
			if is {
				card.Tone, card.Title, card.Text = tone, title, text
				cards = append(cards, card)
			}
			return is
		}
		name := "Queue " + q.Name
		if q.Parked > 0 {
			parked := card
			parked.Title, parked.Text = name+" has parked jobs", "No worker of the queue has a handler for them. Start one that has it: its jobs then run by themselves."
			parked.Count, parked.Counts, parked.Mark, parked.Since, parked.Chart = q.Parked, "parked jobs", "parked "+q.Name, time.Time{}, ""
			parked.Path, parked.Link, parked.Query = "jobs", "Parked jobs", queryOf("state", "parked", "queue", q.Name)
			cards = append(cards, parked)
		}
		if q.Vanished > 0 {
			gone := card
			gone.Title, gone.Text, gone.Count, gone.Counts, gone.Mark, gone.Since, gone.Chart = "Workers of "+q.Name+" have vanished", "Other workers get their jobs within seconds.", q.Vanished, "jobs of vanished workers", "vanished "+q.Name, time.Time{}, ""
			cards = append(cards, gone)
		}
		switch {
		case add(q.LimitUnreadable, "fail", name+" has a limit that cannot be read", "No job is taken until the limit is set again."):
		case add(q.Outbox.Full, "fail", name+" has too many jobs for other queues", "No job of the queue is taken until they are carried."):
		case q.Paused && q.Waiting > 0:
			card.Since = q.Note.At
			if can.Operate {
				card.Verb = &CardVerb{Verb: render.Verb{Name: "resume", Text: "Resume", Icon: "play"}, Path: render.Path("queues", q.Name)}
			}
			add(true, "late", name+" is paused", plain.Queue(q.QueueInfo, served(q.Name)).Sentence)
		case add(slices.Contains(waits, q.Name) && len(s.Workers) > 0, "fail", name+" is unserved", "No live worker serves it. Start one, or add the queue to the Queues of one that runs."):
		case slices.Contains(later, q.Name) && len(s.Workers) > 0:
			card.Count, card.Counts, card.Mark, card.Since = q.Delayed, "jobs that are due later", "delayed "+q.Name, time.Time{}
			add(true, "late", name+" is unserved", "No live worker serves it, so its delayed jobs and schedules will not run.")
		case !q.Oldest.IsZero() && now.Sub(q.Oldest) >= waitsLong:
			text := "The oldest job waits for a free worker."
			if limit := plain.QueueLimit(q.QueueInfo); limit != "" {
				text = "The oldest job waits. The queue has a limit: " + limit + "."
			}
			add(true, "late", name+" is behind", text)
		}
	}
	return cards
}

// endedChart draws how many jobs of a queue have ended, in the cells of the last hour.
func endedChart(q *overview.Queue) template.HTML {
	if !slices.ContainsFunc(q.Outs, func(n float64) bool { return n > 0 }) {
		return ""
	}
	return svg.Spark{Title: "Ended jobs of the last hour", Values: q.Outs, Tone: svg.OK, Bars: true, Width: 160, Height: 32}.SVG()
}

// scheduleCards returns the problems of schedules, those that have failed most often first.
func scheduleCards(s *Standing, listing Listing, can Can) (cards []ProblemCard) {
	at := s.Now().Add(-time.Since(listing.At))
	var failing, late []*chime.Schedule
	for _, of := range listing.Schedules {
		switch {
		case of.Unread != nil:
		case plain.Failing(of.Schedule):
			if coveredSchedule(s.Known, of.Schedule, at) == nil {
				failing = append(failing, of.Schedule)
			}
		case plain.Late(of.Schedule, at):
			late = append(late, of.Schedule)
		}
	}
	slices.SortStableFunc(failing, func(a, b *chime.Schedule) int { return cmp.Compare(b.Last.Failures, a.Last.Failures) })
	for _, of := range failing[:min(len(failing), maxFailingCards)] {
		card := ProblemCard{
			Tone: "fail", Title: "Schedule " + of.Name + " is failing", Text: plain.Schedule(of, at).Sentence, Count: int64(of.Last.Failures), Counts: "failed attempts in a row", Since: of.Last.Ended,
			Path: render.Path("schedules", of.Name), Link: "Its history",
		}
		if can.Operate {
			card.Verb = &CardVerb{Verb: render.Verb{Name: "trigger", Text: "Run now…", Icon: "play"}, Path: render.Path("schedules", of.Name)}
		}
		cards = append(cards, card)
	}
	if more := len(failing) - maxFailingCards; more > 0 {
		cards = append(cards, ProblemCard{Tone: "fail", Title: "Other schedules are failing", Text: "They have failed less often in a row.", Count: int64(more), Counts: "failing schedules", Path: "schedules", Query: queryOf("state", "failing"), Link: "All failing schedules"})
	}
	if len(late) > 0 {
		var names []string
		card := ProblemCard{Tone: "late", Title: "Schedules are late", Count: int64(len(late)), Counts: "late schedules", Path: "schedules", Query: queryOf("state", "late"), Link: "All late schedules"}
		for _, of := range late {
			names, card.Since = append(names, of.Name), earlier(card.Since, of.Next.Add(of.Offset))
		}
		card.Text = "No worker has taken the occurrence that is due: " + someOf(names) + "."
		cards = append(cards, card)
	}
	return cards
}

// failureCards returns the failures of the last hour, those with the most attempts first.
func (s *Site) failureCards(standing *Standing, open []overview.Group, can Can) (cards []ProblemCard) {
	for _, row := range s.failureRows(open) {
		card := ProblemCard{
			Tone: "late", Title: "Jobs named " + row.Job + " fail", Text: cmp.Or(row.Error, "Jobs that succeeded later, or were deleted."), Error: row.Error != "", Count: row.Count,
			Counts: "failed attempts in the last hour", Since: row.First, Version: versionsOf(row.Jobs), Chart: hourChart(row.Jobs, standing.Now()),
			Path: render.Path("kinds", row.Job), Link: "All jobs named " + row.Job,
		}
		if row.Error != "" {
			card.Mark = "failed " + row.Job + " " + row.Error
			card.Path, card.Link, card.Query = render.Path("failures", row.Job), "This failure", queryOf("error", row.Error)
		}
		dead := 0
		for _, job := range row.Jobs {
			if job.State == chime.JobDead {
				dead++
			}
		}
		if dead > 0 {
			card.Tone = "fail"
		}
		if dead > 0 && can.Operate && row.Error != "" {
			card.Verb = &CardVerb{
				Verb: render.Verb{Name: "requeue", Text: "Requeue…", Icon: "rotate-ccw"}, Form: "failures/bulk",
				Hidden: []render.Pair{{Name: "id", Value: groupTick(row.Job, row.Error)}, {Name: "verb", Value: "requeue"}},
			}
		}
		cards = append(cards, card)
	}
	return cards
}

// groupTick returns the value that identifies a group of failures in a form.
func groupTick(job, text string) string { return job + "\t" + text }

// versionsOf returns the versions of the programs in which the last attempts of jobs failed, the most frequent first.
func versionsOf(jobs []*chime.JobInfo) string {
	counts := map[string]int{}
	for _, job := range jobs {
		if known := jobfind.Failures(job); len(known) > 0 {
			if _, _, version, _ := chime.ParseWorker(known[len(known)-1].Worker); version != "" {
				counts[version]++
			}
		}
	}
	text := ""
	for i, share := range sharesOf(counts) {
		if i == maxNamed {
			return text + fmt.Sprintf(" and %s", format.Plural(len(counts)-maxNamed, "other", "others"))
		}
		if i > 0 {
			text += ", "
		}
		text += share.Name
	}
	return text
}

// hourChart draws when the last attempts of jobs failed, within the last hour.
func hourChart(jobs []*chime.JobInfo, now time.Time) template.HTML {
	step := sparkMinutes * time.Minute
	from := now.Truncate(step).Add(step - time.Hour)
	values, any := make([]float64, int(time.Hour/step)), false
	for _, job := range jobs {
		if i := int(jobfind.Since(job).Sub(from) / step); !jobfind.Since(job).Before(from) && i < len(values) {
			values[i]++
			any = true
		}
	}
	if !any {
		return ""
	}
	return svg.Spark{Title: "Failed in the last hour", Values: values, Tone: svg.Fail, Bars: true, From: from, Step: step, Width: 160, Height: 32}.SVG()
}
