package seal

import (
	"context"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// openDefinition opens a stored definition. It belongs to no queue, because a schedule can move. After an error it is as it was.
func (s *sealer) openDefinition(name string, text []byte) (plain []byte, sealed bool, err error) {
	return schedule.Open(text, func(sealed []byte) ([]byte, error) { return s.open(kindSchedule, place{id: name}, sealed) })
}

// Declare compares each schedule with the stored one in clear. If both say the same, the stored bytes are declared again, whichever key has sealed
// them: so nothing changes. If the stored one cannot be opened, it is not changed, and the answer is an error: processes with different keys would
// otherwise overwrite each other's schedules.
func (s *Store) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	names := make([]string, len(declarations))
	for i := range declarations {
		names[i] = declarations[i].Name
	}
	answers := make([]protocol.DeclareAnswer, len(declarations))
	found, err := s.Store.Find(ctx, names)
	if err != nil {
		for i := range answers {
			answers[i].Err = err
		}
		return answers
	}
	var which []int
	var sent []protocol.Declaration
	for i := range declarations {
		d := declarations[i]
		if answers[i].Err = s.declared(&d, &found[i]); answers[i].Err == nil {
			which, sent = append(which, i), append(sent, d)
		}
	}
	if len(sent) == 0 {
		return answers
	}
	for j, answer := range s.Store.Declare(ctx, sent) {
		name := sent[j].Name
		answer.Stored, _, _ = s.openDefinition(name, answer.Stored)
		answer.Old, _, _ = s.openDefinition(name, answer.Old)
		answers[which[j]] = answer
	}
	return answers
}

// declared changes a declaration into what is sent. stored is what the store has under that name.
func (s *Store) declared(d *protocol.Declaration, stored *protocol.Stored) error {
	if d.Form > 0 {
		d.Form = max(d.Form, schedule.SealedForm)
	}
	now, then := "", "" // the keys
	body, err := schedule.Seal(d.Body, func(plain []byte) ([]byte, error) {
		sealed, err := s.seal(kindSchedule, place{id: d.Name}, plain)
		if err == nil {
			now = s.codec.Key(sealed)
		}
		return sealed, err
	})
	if err != nil {
		return err
	}
	if stored.Name != "" && stored.Err == nil {
		plain, sealed, err := schedule.Open(stored.Definition, func(sealed []byte) ([]byte, error) {
			then = s.codec.Key(sealed)
			return s.open(kindSchedule, place{id: d.Name}, sealed)
		})
		if err != nil {
			return err
		}
		if sealed && !(s.renew && now != then) {
			if same := schedule.KeepSealed(stored.Definition, plain, d.Body, d.AnyFirst); same != nil {
				body = same
			}
		}
	}
	d.Body = body
	return nil
}

// Find opens the definitions. One that cannot be opened remains sealed: the rest of it can be read. Refused is set if no job may be made of one.
func (s *Store) Find(ctx context.Context, names []string) ([]protocol.Stored, error) {
	found, err := s.Store.Find(ctx, names)
	for i := range found {
		s.openStored(&found[i])
	}
	return found, err
}

func (s *Store) openStored(stored *protocol.Stored) {
	if stored.Err == nil && len(stored.Definition) > 0 {
		plain, sealed, _ := s.openDefinition(stored.Name, stored.Definition)
		if stored.Definition = plain; !sealed {
			stored.Refused = s.plain()
		}
	}
}

// Runs opens the texts of attempts.
func (s *Store) Runs(ctx context.Context, names []string) ([]protocol.ScheduleRuns, error) {
	found, err := s.Store.Runs(ctx, names)
	for i := range found {
		s.openStored(&found[i].Stored)
		found[i].Runs = slices.Clone(found[i].Runs)
		s.openRuns(found[i].Runs)
	}
	return found, err
}

// Days opens the definition.
func (s *Store) Days(ctx context.Context, name string) (protocol.Stored, []protocol.DayRecord, error) {
	stored, days, err := s.Store.Days(ctx, name)
	s.openStored(&stored)
	return stored, days, err
}
