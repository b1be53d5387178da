package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var acknowledgeScript = scripts.Load("acknowledgements/acknowledge")

const maxAcknowledgeTries = 5

// The beginnings of the fields of …:acknowledged.
const (
	acknowledgedSchedule = "schedule\t"
	acknowledgedFailures = "failures\t"
)

// acknowledgedJSON is the JSON of an acknowledgement.
type acknowledgedJSON struct {
	noteJSON
	Revision int64    `json:"revision,omitempty"`
	Done     int64    `json:"done,omitempty"`
	Queues   []string `json:"queues,omitempty"`
}

func acknowledgedField(a *protocol.Acknowledgement) string {
	if a.Schedule != "" {
		return acknowledgedSchedule + a.Schedule
	}
	return acknowledgedFailures + a.Job + "\t" + a.Shape
}

// Acknowledgements returns all acknowledgements. An entry that cannot be read is left out.
func (s *store) Acknowledgements(ctx context.Context) ([]protocol.Acknowledgement, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	entries, err := s.client.HGetAll(ctx, s.keys.acknowledged()).Result()
	if err != nil {
		return nil, failure("read", s.keys.acknowledged(), err)
	}
	var all []protocol.Acknowledgement
	for _, field := range slices.Sorted(maps.Keys(entries)) {
		if a, ok := parseAcknowledgement(field, entries[field]); ok {
			all = append(all, a)
		}
	}
	return all, nil
}

// parseAcknowledgement reads an entry. ok is false if it was removed or cannot be read.
func parseAcknowledgement(field, entry string) (a protocol.Acknowledgement, ok bool) {
	parts := strings.SplitN(entry, " ", 3)
	if len(parts) < 3 || parts[2] == "" {
		return a, false
	}
	var stored acknowledgedJSON
	ms, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || json.Unmarshal([]byte(parts[2]), &stored) != nil {
		return a, false
	}
	a = protocol.Acknowledgement{Note: stored.note(), Revision: stored.Revision, Done: stored.Done, Queues: stored.Queues}
	a.Note.At = time.UnixMilli(ms).UTC()
	if a.Schedule, ok = strings.CutPrefix(field, acknowledgedSchedule); ok {
		return a, true
	}
	a.Schedule = ""
	failures, ok := strings.CutPrefix(field, acknowledgedFailures)
	if !ok {
		return a, false
	}
	a.Job, a.Shape, ok = strings.Cut(failures, "\t")
	return a, ok
}

// Acknowledge adds or replaces an acknowledgement.
func (s *store) Acknowledge(ctx context.Context, a protocol.Acknowledgement) error {
	stored := acknowledgedJSON{noteJSON: newNoteJSON(a.Note), Revision: a.Revision, Done: a.Done, Queues: a.Queues}
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	_, err = s.acknowledge(ctx, &a, string(text))
	return err
}

// Unacknowledge removes an acknowledgement.
func (s *store) Unacknowledge(ctx context.Context, a protocol.Acknowledgement) (bool, error) {
	return s.acknowledge(ctx, &a, "")
}

// acknowledge changes the entry of an acknowledgement, and reports whether there was one.
func (s *store) acknowledge(ctx context.Context, a *protocol.Acknowledgement, text string) (was bool, err error) {
	if s.bad != nil {
		return false, s.bad
	}
	key, field, name := s.keys.acknowledged(), acknowledgedField(a), rand.Text()
	for range maxAcknowledgeTries {
		entry, err := s.client.HGet(ctx, key, field).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return false, failure("read", key, err)
		}
		_, was = parseAcknowledgement(field, entry)
		if !was && text == "" {
			return false, nil
		}
		call := newCall(&acknowledgeScript, []string{key}, []any{field, entry, name, text, protocol.MaxAcknowledgements, protocol.AcknowledgementRetention.Milliseconds()})
		result, err := s.run(ctx, s.client, call)[0].Int64()
		switch {
		case err != nil:
			return false, failure("change", key, err)
		case result < 0:
			return false, failure("change", key, protocol.ErrTooMany)
		case result > 0:
			return was, nil
		}
	}
	return false, failure("change", key, protocol.ErrConflict)
}
