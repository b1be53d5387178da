package redisstore

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// noteJSON is the JSON of a note. scripts/lib/ends.lua finds the end in it.
type noteJSON struct {
	Text  string `json:"text,omitempty"`
	By    string `json:"by,omitempty"`
	Until int64  `json:"until,omitempty"` // Unix ms
}

// storedNote formats a note without its instant, which the script adds. A pause without a text has a note too, so that it differs from that of another
// pause. The end is rounded up to a millisecond.
func storedNote(n protocol.Note) (string, error) {
	text, err := json.Marshal(newNoteJSON(n))
	return string(text), err
}

func newNoteJSON(n protocol.Note) noteJSON {
	stored := noteJSON{Text: n.Text, By: n.By}
	if !n.Until.IsZero() {
		stored.Until = max(n.Until.Add(time.Millisecond-1).UnixMilli(), 1)
	}
	return stored
}

func (stored *noteJSON) note() protocol.Note {
	n := protocol.Note{Text: stored.Text, By: stored.By}
	if stored.Until > 0 {
		n.Until = time.UnixMilli(stored.Until).UTC()
	}
	return n
}

// readNote reads the JSON of a note into it.
func readNote(text string, n *protocol.Note) error {
	var stored noteJSON
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return err
	}
	*n = stored.note()
	return nil
}

// parseNote reads a stored note. A note that was edited by hand is shown unchanged.
func parseNote(text string) (n protocol.Note) {
	at, body, _ := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || readNote(body, &n) != nil {
		return protocol.Note{Text: text}
	}
	n.At = time.UnixMilli(ms).UTC()
	return n
}

// queueNote formats the note of a queue's pause without its instant; empty: there is no text, no name and no end.
func queueNote(n protocol.Note) (string, error) {
	if n.Text == "" && n.By == "" && n.Until.IsZero() {
		return "", nil
	}
	return storedNote(n)
}

// parsePause reads the field paused of …:state: since when the queue is paused, a blank, and the note. An older version wrote 1 there. A
// field that cannot be read has no note.
func parsePause(paused string) (n protocol.Note) {
	if since, text, ok := strings.Cut(paused, " "); ok {
		ms, err := strconv.ParseInt(since, 10, 64)
		if err != nil || ms < 0 {
			return n
		}
		_ = readNote(text, &n) // one that cannot be read is none
		n.At = time.UnixMilli(ms).UTC()
	}
	return n
}
