package schedule

import (
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
)

// An option changes a Spec in the same way as the option of package chime with the same name.
type option func(*Spec)

func withArgs(v any) option {
	return func(s *Spec) {
		payload, err := wire.EncodeStable(v)
		if err != nil {
			panic(err)
		}
		s.Payload = payload
	}
}

func jobName(name string) option         { return func(s *Spec) { s.JobName = name } }
func maxAttempts(n int) option           { return func(s *Spec) { s.MaxAttempts = n } }
func withTimeout(d time.Duration) option { return func(s *Spec) { s.Timeout = d } }
func withMisfire(policy string) option   { return func(s *Spec) { s.Misfire = policy } }
func withOverlap(policy string) option   { return func(s *Spec) { s.Overlap = policy } }
func withGrace(d time.Duration) option   { return func(s *Spec) { s.Grace = d } }
func noImmediateRun() option             { return func(s *Spec) { s.Recurrence.NoImmediateRun = true } }
func maxPayload() int                    { return protocol.MaxBytes }

// declaration declares a schedule with an application's defaults.
func declaration(name string, rec recurrence.Recurrence, options []option) (protocol.Declaration, error) {
	spec := Spec{JobName: name, Recurrence: rec, Overlap: OverlapSkip, Misfire: MisfireRunOnce, Grace: time.Minute}
	for _, option := range options {
		option(&spec)
	}
	if err := spec.Validate(); err != nil {
		return protocol.Declaration{}, err
	}
	return spec.Declare(name, "default")
}

// storedText returns a declaration as the store keeps it.
func storedText(d protocol.Declaration, state string, revision int64, created time.Time) []byte {
	return fmt.Appendf(nil, `{"revision":%d,"state":"%s","created":"%s","overlap":"%s",%s`,
		revision, state, created.UTC().Format(time.RFC3339), d.Overlap, d.Body[1:])
}
