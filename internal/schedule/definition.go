// Package schedule computes the next placement of a schedule from its stored definition and its cursor. It reads no clock and does no I/O.
package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
)

// definitionVersion is the newest format of a stored definition that this program knows. A new field raises it if the definition means something
// else without the field; a field that older programs may ignore does not.
const definitionVersion = 4

// The format in which a definition is written: the lowest one that can represent it.
const (
	plainForm  = 1
	spreadForm = 2 // it has a spread: a program that does not know spreads would place occurrences too early
	groupForm  = 3 // its jobs belong to a group: a program that does not know that would place them without it
	SealedForm = 4 // its arguments are sealed: a program that does not know that would run its jobs without them
)

// maxDefinition is the maximum length in bytes of a stored definition that is read: arguments of the limit in base64, and the rest.
const maxDefinition = 2 * protocol.MaxBytes

const (
	minGrace    = time.Second
	minTimeout  = time.Millisecond
	MaxTimeout  = 365 * 24 * time.Hour // the longest timeout of a handler, and the longest grace
	MaxAttempts = 1000

	DefaultKeepRuns = 20
	MaxKeepRuns     = 1000

	MaxPauseAfter = 100

	MaxUnfinished = 1_000_000 // the highest limit of unfinished runs
)

// ErrNotHere means that this program cannot compute the definition, but another one may: a newer version wrote it, or this machine has no data of
// its time zone. Everything that depends on the definition waits for such a program; nothing is lost.
var ErrNotHere = errors.New("the definition cannot be computed by this program")

// A Spec is a schedule as an application declares it. MaxAttempts and Timeout are 0 if the application did not set them; then the values of the
// handler or the worker apply when the job runs.
type Spec struct {
	JobName     string
	Recurrence  recurrence.Recurrence
	Payload     []byte // its jobs' arguments, encoded so that equal arguments are equal bytes
	Overlap     string
	Misfire     string
	Grace       time.Duration
	Spread      time.Duration // see spread.go; 0: no spread
	MaxAttempts int
	Timeout     time.Duration
	Meta        json.RawMessage // data that the application keeps with it
	KeepRuns    *int            // number of attempts in its history; nil: DefaultKeepRuns
	PauseAfter  int             // it is paused after this many consecutive deaths; 0: never

	MaxUnfinished int // runs beyond this number of unfinished ones are not added; 0: any number

	Group string // of each of its jobs, a valid key; empty: none

	Details *wire.Details // of each of its jobs: Header, Retry, Keep, OnDone, OnDeath; nil: not set. It is shared, and must not be changed

	Sealed []byte // the sealed payload, OnDone and OnDeath of a stored definition, which it lacks then; nil: they are not sealed
}

// A Definition is a schedule as it is stored.
type Definition struct {
	Revision int64
	State    string
	Created  time.Time
	Offset   time.Duration // how long after its planned instant an occurrence is due: see spread.go
	Spec
}

// stored is the text of a definition: JSON that a person can read with HGET. The store writes the first four fields and the program writes the
// rest, in this order.
type stored struct {
	Revision int64     `json:"revision"`
	State    string    `json:"state"`
	Created  time.Time `json:"created"`
	Overlap  string    `json:"overlap"`
	storedSpec
}

// storedSpec is the part that the program writes. Misfire policy and grace are always written, so that other defaults in a later version change
// no schedule. The rule's NoImmediateRun is written beside the rule, where every version reads it, and where a script compares definitions without it. Spread, offset
// and the limit of unfinished runs come before all fields that an application chooses freely: a script reads them.
type storedSpec struct {
	Version        int                   `json:"version"`
	Spread         string                `json:"spread,omitempty"`
	OffsetMS       *int64                `json:"offsetMs,omitempty"`
	MaxUnfinished  int                   `json:"maxUnfinished,omitempty"`
	Job            string                `json:"job"`
	Recurrence     recurrence.Recurrence `json:"recurrence"`
	Misfire        string                `json:"misfire"`
	Grace          string                `json:"grace"`
	NoImmediateRun bool                  `json:"noImmediateRun,omitempty"`
	MaxAttempts    int                   `json:"maxAttempts,omitempty"`
	Timeout        string                `json:"timeout,omitempty"`
	Meta           json.RawMessage       `json:"meta,omitempty"`
	KeepRuns       *int                  `json:"keepRuns,omitempty"`
	PauseAfter     int                   `json:"pauseAfter,omitempty"`
	Group          string                `json:"group,omitempty"`
	Retry          *storedRetry          `json:"retry,omitempty"`
	OnDone         *storedFollower       `json:"onDone,omitempty"`
	OnDeath        *storedFollower       `json:"onDeath,omitempty"`
	Header         map[string]string     `json:"header,omitempty"`
	Keep           string                `json:"keep,omitempty"`
	Args           json.RawMessage       `json:"args,omitempty"`    // arguments that are JSON
	Payload        []byte                `json:"payload,omitempty"` // other arguments, as they are stored, in base64
	Sealed         []byte                `json:"sealed,omitempty"`  // in place of both, and of OnDeath.Body: see sealed.go
}

type storedRetry struct {
	First string `json:"first"`
	Max   string `json:"max"`
}

// storedFollower is the job that follows an end: the name of its job, for people who read the definition, and the whole envelope.
type storedFollower struct {
	Job  string `json:"job"`
	Body []byte `json:"body,omitempty"` // empty: it is sealed
}

// Validate returns what is wrong with the rule: an error of package recurrence, or a *protocol.InvalidError. The latter is for an empty rule,
// which means a forgotten field and not a schedule, and for a spread that does not fit the rule.
func (s *Spec) Validate() error {
	rule := s.Recurrence
	empty := rule.Frequency == 0 && rule.Cron == "" && rule.StartTime.IsZero()
	if empty {
		rule.NoImmediateRun = false // not the cause
	}
	if err := rule.Validate(); err != nil {
		return err
	}
	if empty {
		return protocol.Because(protocol.Invalid("recurrence", "", "a Frequency, a Cron or a StartTime"), "is empty")
	}
	return s.checkSpread()
}

// Declare converts a valid Spec into the form in which it is declared. Equal specs have equal text.
func (s *Spec) Declare(name, queue string) (protocol.Declaration, error) {
	body := storedSpec{
		Job: s.JobName, Recurrence: s.Recurrence, Misfire: s.Misfire, Grace: s.Grace.String(),
		NoImmediateRun: s.Recurrence.NoImmediateRun, MaxAttempts: s.MaxAttempts, Meta: s.Meta, PauseAfter: s.PauseAfter,
		MaxUnfinished: s.MaxUnfinished, Group: s.Group,
	}
	body.Recurrence.NoImmediateRun = false
	keep := s.Keeps()
	if keep != DefaultKeepRuns {
		body.KeepRuns = &keep
	}
	if s.Timeout > 0 {
		body.Timeout = s.Timeout.String()
	}
	if s.Spread > 0 {
		offset := offsetOf(name, s.Spread).Milliseconds()
		body.Spread, body.OffsetMS = s.Spread.String(), &offset
	}
	body.Version = body.form()
	body.setDetails(s.Details)
	body.setPayload(s.Payload)
	text, err := body.encode()
	if err != nil {
		return protocol.Declaration{}, err
	}
	return protocol.Declaration{
		Name: name, Queue: queue, Overlap: s.Overlap, Body: text, KeepRuns: keep, PauseAfter: s.PauseAfter,
		Form:  SealedForm - 1, // a codec raises it: without one, a program would store the arguments of a sealed schedule in clear
		Group: s.Group,
	}, nil
}

// form returns the least form of a definition that is not sealed.
func (s *storedSpec) form() int {
	switch {
	case s.Group != "":
		return groupForm
	case s.Spread != "":
		return spreadForm
	}
	return plainForm
}

func (s *storedSpec) encode() ([]byte, error) {
	text := new(bytes.Buffer)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(true)
	err := encoder.Encode(s)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// Keeps returns the number of attempts in the schedule's history.
func (s *Spec) Keeps() int {
	if s.KeepRuns == nil {
		return DefaultKeepRuns
	}
	return *s.KeepRuns
}

func (s *storedSpec) setDetails(d *wire.Details) {
	if d == nil {
		return
	}
	s.Header = d.Header
	if d.Keep > 0 {
		s.Keep = d.Keep.String()
	}
	if d.Retry != (wire.Retry{}) {
		s.Retry = &storedRetry{d.Retry.First.String(), d.Retry.Max.String()}
	}
	s.OnDone, s.OnDeath = newStoredFollower(d.OnDone), newStoredFollower(d.OnDeath)
}

func newStoredFollower(body []byte) *storedFollower {
	if body == nil {
		return nil
	}
	job, _ := wire.DecodeEnvelope(body)
	return &storedFollower{job.Name, body}
}

// read checks and returns the body.
func (f *storedFollower) read(name string, sealed []byte) ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	if len(f.Body) == 0 && sealed != nil {
		return (&wire.Envelope{Name: f.Job, Sealed: sealed}).Encode(), nil // its name is known
	}
	if _, err := wire.DecodeEnvelope(f.Body); err != nil && !errors.Is(err, wire.ErrNewerVersion) {
		return nil, fmt.Errorf("the definition's %s: %w", name, err)
	}
	return f.Body, nil
}

// details reads and checks what setDetails has written; nil: nothing was written.
func (s *storedSpec) details() (*wire.Details, error) {
	if s.Header == nil && s.Keep == "" && s.Retry == nil && s.OnDone == nil && s.OnDeath == nil {
		return nil, nil
	}
	d := &wire.Details{Header: s.Header}
	if s.Keep != "" {
		keep, err := duration("keep", s.Keep, time.Second)
		if err != nil {
			return nil, err
		}
		d.Keep = keep
	}
	if s.Retry != nil {
		first, err := duration("first retry", s.Retry.First, time.Millisecond)
		if err != nil {
			return nil, err
		}
		longest, err := duration("longest retry", s.Retry.Max, first)
		if err != nil {
			return nil, err
		}
		d.Retry = wire.Retry{First: first, Max: longest}
	}
	var err error
	if d.OnDone, err = s.OnDone.read("onDone", s.Sealed); err != nil {
		return nil, err
	}
	d.OnDeath, err = s.OnDeath.read("onDeath", s.Sealed)
	return d, err
}

// setPayload keeps arguments that are JSON as JSON, for people who read the definition.
func (s *storedSpec) setPayload(payload []byte) {
	if compact := new(bytes.Buffer); len(payload) > 0 && json.Compact(compact, payload) == nil && bytes.Equal(compact.Bytes(), payload) {
		if text, err := json.Marshal(json.RawMessage(payload)); err == nil && bytes.Equal(text, payload) {
			s.Args = payload
			return
		}
	}
	s.Payload = payload
}

// payload returns the arguments as the application gave them.
func (s *storedSpec) payload() []byte {
	if s.Args != nil {
		return s.Args
	}
	return s.Payload
}

// Read reads a stored definition without compiling its rule. It ignores fields that it does not know: a field that must not be ignored raises the
// version. After an error that wraps ErrNotHere another program may be able to read it; every other error is permanent.
func Read(text []byte) (*Definition, error) {
	if len(text) > maxDefinition {
		return nil, fmt.Errorf("the definition has %d bytes, at most %d are read", len(text), maxDefinition)
	}
	var written struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &written); err != nil {
		return nil, fmt.Errorf("the definition is not JSON, or not of a schedule: %w", err)
	}
	if written.Version > definitionVersion {
		return nil, fmt.Errorf("%w: a newer version of chime wrote it (format %d, this program knows %d)", ErrNotHere, written.Version, definitionVersion)
	}
	s := new(stored)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, notHere(fmt.Errorf("the definition cannot be read: %w", err))
	}
	return s.definition()
}

// definition checks the fields.
func (s *stored) definition() (*Definition, error) {
	if err := protocol.CheckName("the definition's job", s.Job); err != nil {
		return nil, err
	}
	if year := s.Created.UTC().Year(); year < 1900 || year > 2199 {
		return nil, fmt.Errorf("the definition's created %s: want the years 1900 to 2199", s.Created.UTC().Format(time.RFC3339))
	}
	switch s.Misfire {
	case MisfireRunOnce, MisfireSkip, MisfireCatchUp:
	default:
		return nil, fmt.Errorf("%w: it has the misfire policy %.40q", ErrNotHere, s.Misfire)
	}
	grace, err := duration("grace", s.Grace, minGrace)
	if err != nil {
		return nil, err
	}
	var timeout time.Duration
	if s.Timeout != "" {
		if timeout, err = duration("timeout", s.Timeout, minTimeout); err != nil {
			return nil, err
		}
	}
	if s.MaxAttempts < 0 || s.MaxAttempts > MaxAttempts {
		return nil, fmt.Errorf("the definition's maxAttempts %d: want 1 to %d", s.MaxAttempts, MaxAttempts)
	}
	if keep := s.KeepRuns; keep != nil && (*keep < 0 || *keep > MaxKeepRuns) {
		return nil, fmt.Errorf("the definition's keepRuns %d: want 0 to %d", *keep, MaxKeepRuns)
	}
	if s.PauseAfter < 0 || s.PauseAfter > MaxPauseAfter {
		return nil, fmt.Errorf("the definition's pauseAfter %d: want 0 to %d", s.PauseAfter, MaxPauseAfter)
	}
	if s.MaxUnfinished < 0 || s.MaxUnfinished > MaxUnfinished {
		return nil, fmt.Errorf("the definition's maxUnfinished %d: want 0 to %d", s.MaxUnfinished, MaxUnfinished)
	}
	if s.Group != "" {
		if err := protocol.CheckID("the definition's group", s.Group); err != nil {
			return nil, err
		}
	}
	spread, offset, err := s.spread()
	if err != nil {
		return nil, err
	}
	details, err := s.details()
	if err != nil {
		return nil, err
	}
	s.Recurrence.NoImmediateRun = s.Recurrence.NoImmediateRun || s.NoImmediateRun
	return &Definition{
		Revision: s.Revision, State: s.State, Created: s.Created, Offset: offset,
		Spec: Spec{
			JobName: s.Job, Recurrence: s.Recurrence, Payload: s.payload(), Overlap: s.Overlap, Misfire: s.Misfire, Grace: grace,
			MaxAttempts: s.MaxAttempts, Timeout: timeout, Details: details, Meta: s.Meta,
			KeepRuns: s.KeepRuns, PauseAfter: s.PauseAfter, Spread: spread, MaxUnfinished: s.MaxUnfinished, Group: s.Group, Sealed: s.Sealed,
		},
	}, nil
}

// spread reads and checks spread and offset.
func (s *stored) spread() (spread, offset time.Duration, err error) {
	if s.Spread == "" && s.OffsetMS == nil {
		return 0, 0, nil
	}
	if spread, err = duration("spread", s.Spread, minSpread); err != nil {
		return 0, 0, err
	}
	if ms := s.OffsetMS; ms == nil || *ms < 0 || *ms >= spread.Milliseconds() {
		return 0, 0, fmt.Errorf("the definition's offsetMs: want 0 to %d", spread.Milliseconds()-1)
	}
	return spread, time.Duration(*s.OffsetMS) * time.Millisecond, nil
}

// duration reads a duration of a definition in the form in which Declare writes it, and checks that it is at least lowest.
func duration(field, text string, lowest time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < lowest || d > MaxTimeout {
		return 0, fmt.Errorf("the definition's %s %.40q: want %v to %v", field, text, lowest, MaxTimeout)
	}
	return d, nil
}

// notHere marks an error whose cause is missing time zone data on this machine.
func notHere(err error) error {
	for _, problem := range recurrence.Errors(err) {
		if problem.Code == recurrence.CodeTimeZoneUnknown {
			return fmt.Errorf("%w: %w", ErrNotHere, err)
		}
	}
	return err
}

// ForLog returns a definition for a log. It begins with the text of the rule. It contains the size of the arguments, and not the arguments, which
// may be secret.
func ForLog(text []byte) string {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Sprintf("unreadable, %d bytes", len(text))
	}
	if n := len(s.payload()); n > 0 {
		s.Args, s.Payload = json.RawMessage(fmt.Sprintf(`"%d bytes"`, n)), nil
	}
	for _, f := range []*storedFollower{s.OnDone, s.OnDeath} {
		if f != nil {
			f.Body = nil
		}
	}
	s.Sealed = nil // the version shows that it was there
	spec := Spec{Recurrence: s.Recurrence}
	spec.Recurrence.NoImmediateRun = s.NoImmediateRun || s.Recurrence.NoImmediateRun
	shown, err := json.Marshal(struct {
		Text string `json:"text"`
		stored
	}{spec.Text(), s})
	if err != nil {
		return fmt.Sprintf("unreadable, %d bytes", len(text))
	}
	return string(shown)
}
