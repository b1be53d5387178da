package chime

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

// definitionVersion is the newest form of a stored definition that this program knows. A program that adds a field without
// which the definition means something else raises it; a field that older programs may ignore does not.
const definitionVersion = 1

// maxDefinition is the longest stored definition that is read, in bytes: arguments of the limit in base64, and all else.
const maxDefinition = 2 << 20

// errNotHere: this program cannot compute the definition, but another one may: a newer one wrote it, or it names a time
// zone of which there is no data here. What depends on it waits for such a program; nothing is thrown away.
var errNotHere = errors.New("the definition cannot be computed by this program")

// A definition is a schedule as the store keeps it: JSON that a person can read with HGET. The store writes the first four
// fields, the program the rest, in this order.
type definition struct {
	Revision int64         `json:"revision"`
	State    string        `json:"state"`
	Created  time.Time     `json:"created"`
	Overlap  OverlapPolicy `json:"overlap"`
	definitionBody
}

// definitionBody is what an application declares. Attempts and timeout are left out where the application said nothing:
// they are then the handler's or the worker's when the job runs. Overlap and misfire policy and grace are always written, so
// that a later version's defaults change no schedule.
type definitionBody struct {
	Version        int                   `json:"version"`
	Job            string                `json:"job"`
	Recurrence     recurrence.Recurrence `json:"recurrence"`
	Misfire        MisfirePolicy         `json:"misfire"`
	Grace          string                `json:"grace"`
	NoImmediateRun bool                  `json:"noImmediateRun,omitempty"`
	MaxAttempts    int                   `json:"maxAttempts,omitempty"`
	Timeout        string                `json:"timeout,omitempty"`
	Args           json.RawMessage       `json:"args,omitempty"`    // arguments that are JSON
	Payload        []byte                `json:"payload,omitempty"` // other arguments, as they are stored, in base64
}

// declaration checks a schedule and puts it into the form in which it is stored. All that is wrong comes back, joined.
func declaration(name string, rec recurrence.Recurrence, options []ScheduleOption) (protocol.Declaration, error) {
	settings := scheduleSettings{overlap: OverlapSkip, misfire: MisfireRunOnce, grace: DefaultGrace, jobName: name}
	settings.queue = DefaultQueue
	if err := protocol.CheckName("name", name); err != nil {
		settings.problems = append(settings.problems, err)
	}
	for _, option := range options {
		if option == nil {
			settings.refuse("an option is nil")
			continue
		}
		option.schedule(&settings)
	}
	if err := rec.Validate(); err != nil {
		settings.problems = append(settings.problems, err)
	} else if err := runsNever(rec, settings.noImmediateRun); err != nil {
		settings.problems = append(settings.problems, err)
	}
	payload, err := wire.EncodeStable(settings.args)
	if err == nil && len(payload) > DefaultMaxPayload {
		err = wire.TooLarge(len(payload), DefaultMaxPayload)
	}
	if err != nil {
		settings.refuse("args: %w", err)
	}
	if err := settings.err(); err != nil {
		return protocol.Declaration{}, err
	}
	body := definitionBody{
		Version: definitionVersion, Job: settings.jobName, Recurrence: rec, Misfire: settings.misfire, Grace: settings.grace.String(),
		NoImmediateRun: settings.noImmediateRun, MaxAttempts: settings.maxAttempts,
	}
	if settings.timeout > 0 {
		body.Timeout = settings.timeout.String()
	}
	body.setPayload(payload)
	text, err := body.canonical()
	if err != nil {
		return protocol.Declaration{}, err
	}
	return protocol.Declaration{Name: name, Queue: settings.queue, Overlap: string(settings.overlap), Body: text}, nil
}

// setPayload keeps arguments that are JSON as JSON, for those who read the definition.
func (b *definitionBody) setPayload(payload []byte) {
	if compact := new(bytes.Buffer); len(payload) > 0 && json.Compact(compact, payload) == nil && bytes.Equal(compact.Bytes(), payload) {
		if text, err := json.Marshal(json.RawMessage(payload)); err == nil && bytes.Equal(text, payload) {
			b.Args = payload
			return
		}
	}
	b.Payload = payload
}

// payload returns the arguments as they were given.
func (b *definitionBody) payload() []byte {
	if b.Args != nil {
		return b.Args
	}
	return b.Payload
}

// canonical spells a body so that equal declarations have equal text.
func (b *definitionBody) canonical() ([]byte, error) {
	text := new(bytes.Buffer)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(true)
	if err := encoder.Encode(b); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// parseDefinition reads what the store holds. Fields that it does not know are ignored: what must not be ignored has a version
// of its own. An error that wraps errNotHere may be no error elsewhere; any other is for good.
func parseDefinition(text []byte) (*definition, error) {
	if len(text) > maxDefinition {
		return nil, fmt.Errorf("the definition has %d bytes, at most %d are read", len(text), maxDefinition)
	}
	var written struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &written); err != nil {
		return nil, fmt.Errorf("the definition is no JSON of ours: %w", err)
	}
	if written.Version > definitionVersion {
		return nil, fmt.Errorf("%w: a newer version of chime wrote it (form %d, known is %d)", errNotHere, written.Version, definitionVersion)
	}
	d := new(definition)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, notHere(fmt.Errorf("the definition cannot be read: %w", err))
	}
	if err := protocol.CheckName("the definition's job", d.Job); err != nil {
		return nil, err
	}
	if year := d.Created.UTC().Year(); year < 1900 || year > 2199 {
		return nil, fmt.Errorf("the definition's created %s: want the years 1900 to 2199", d.Created.UTC().Format(time.RFC3339))
	}
	switch d.Misfire {
	case MisfireRunOnce, MisfireSkip, MisfireCatchUp:
	default:
		return nil, fmt.Errorf("%w: it has the misfire policy %.40q", errNotHere, string(d.Misfire))
	}
	return d, nil
}

// notHere marks an error that comes of this machine's lack of time zone data.
func notHere(err error) error {
	for _, problem := range recurrence.Errors(err) {
		if problem.Code == recurrence.CodeTimeZoneUnknown {
			return fmt.Errorf("%w: %w", errNotHere, err)
		}
	}
	return err
}

// forLog is a definition without its arguments, which may be secret, and only their size.
func forLog(text []byte) string {
	var d definition
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Sprintf("unreadable, %d bytes", len(text))
	}
	if n := len(d.payload()); n > 0 {
		d.Args, d.Payload = json.RawMessage(fmt.Sprintf(`"%d bytes"`, n)), nil
	}
	shown, err := json.Marshal(d)
	if err != nil {
		return fmt.Sprintf("unreadable, %d bytes", len(text))
	}
	return string(shown)
}
