package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
)

// The default values of a schedule: see the options of chime.
const (
	defaultQueue = "default"
	defaultGrace = time.Minute
	defaultKeeps = 20
)

// waits is the stored form of a retry policy.
type waits struct {
	First int64 `json:"first_ms"`
	Max   int64 `json:"max_ms"`
}

func waitsOf(policy chime.RetryPolicy) (w waits) {
	text, err := json.Marshal(policy)
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		return waits{}
	}
	return w
}

// codeOf returns the Go code that declares a schedule. Comments replace the parts that are not known: arguments are not shown here. headers are
// those that may be shown.
func codeOf(s *chime.Schedule, headers []render.Pair) string {
	alone := s.Recurrence
	alone.NoImmediateRun = false // an option contains it
	rule, err := json.Marshal(alone)
	if err != nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "err := scheduler.Schedule(%s, recurrence.MustParse(%s)", strconv.Quote(s.Name), rawQuote(string(rule)))
	var options []string
	add := func(said bool, format string, values ...any) {
		if said {
			options = append(options, fmt.Sprintf(format, values...)+",")
		}
	}
	add(s.JobName != s.Name, "chime.JobName(%q)", s.JobName)
	add(s.Queue != defaultQueue, "chime.Queue(%q)", s.Queue)
	add(s.Group != "", "chime.Group(%q)", s.Group)
	add(len(s.Payload) > 0, "chime.Args(args)")
	add(s.Overlap != chime.OverlapSkip, "chime.Overlap(%q)", s.Overlap)
	add(s.Misfire != chime.MisfireRunOnce, "chime.Misfire(%q)", s.Misfire)
	add(s.Grace != defaultGrace, "chime.Grace(%s)", durationCode(s.Grace))
	add(s.Spread != 0, "chime.Spread(%s)", durationCode(s.Spread))
	add(s.NoImmediateRun, "chime.NoImmediateRun()")
	add(s.PauseAfter != 0, "chime.PauseAfter(%d)", s.PauseAfter)
	add(s.MaxUnfinished != 0, "chime.MaxUnfinished(%d)", s.MaxUnfinished)
	add(s.KeepRuns != defaultKeeps, "chime.KeepRuns(%d)", s.KeepRuns)
	add(s.MaxAttempts != 0, "chime.MaxAttempts(%d)", s.MaxAttempts)
	add(s.Timeout != 0, "chime.Timeout(%s)", durationCode(s.Timeout))
	if w := waitsOf(s.Retry); w.First == w.Max {
		add(w.First > 0, "chime.Retry(chime.Fixed(%s))", durationCode(time.Duration(w.First)*time.Millisecond))
	} else {
		add(true, "chime.Retry(chime.Exponential(%s, %s))", durationCode(time.Duration(w.First)*time.Millisecond), durationCode(time.Duration(w.Max)*time.Millisecond))
	}
	add(s.Keep != 0, "chime.Keep(%s)", durationCode(s.Keep))
	for _, header := range headers {
		add(true, "chime.Header(%s, %s)", strconv.Quote(header.Name), strconv.Quote(header.Value))
	}
	add(s.OnDone != "", "chime.OnDone(onDone)")
	add(s.OnDeath != "", "chime.OnDeath(onDeath)")
	add(len(s.Meta) > 0, "chime.Meta(json.RawMessage(%s))", rawQuote(string(s.Meta)))
	if len(options) > 0 {
		b.WriteString(",\n\t" + strings.Join(options, "\n\t") + "\n")
	}
	b.WriteString(")")
	if len(s.Payload) > 0 {
		fmt.Fprintf(&b, "\n// args are the arguments of its jobs: %s as they are stored", format.Plural(len(s.Payload), "byte", "bytes"))
	}
	if s.OnDone != "" {
		fmt.Fprintf(&b, "\n// onDone is an item of job %q with its own arguments", s.OnDone)
	}
	if s.OnDeath != "" {
		fmt.Fprintf(&b, "\n// onDeath is an item of job %q with its own arguments", s.OnDeath)
	}
	return b.String()
}

// rawQuote returns a text as a Go literal, in back quotes if possible.
func rawQuote(text string) string {
	if strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// durationCode returns a duration as Go code in its largest unit.
func durationCode(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "time.Hour"}, {time.Minute, "time.Minute"}, {time.Second, "time.Second"}, {time.Millisecond, "time.Millisecond"}} {
		if d%unit.of == 0 {
			if d == unit.of {
				return unit.name
			}
			return fmt.Sprintf("%d*%s", d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%d", int64(d))
}

// definitionOf returns a schedule's rule as canonical JSON, with one line for each element.
func definitionOf(s *chime.Schedule) string {
	rule, err := json.Marshal(s.Recurrence)
	if err != nil {
		return ""
	}
	var text bytes.Buffer
	if err := json.Indent(&text, rule, "", "  "); err != nil {
		return string(rule)
	}
	return text.String()
}
