package redisstore

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// storedNote is a note as the field paused of …:state has it, behind since when the queue is paused, Unix ms, and a blank.
type storedNote struct {
	Text string `json:"text,omitempty"`
	By   string `json:"by,omitempty"`
}

// noteText formats a note without its time; empty: it says nothing.
func noteText(note protocol.PauseNote) string {
	if note.Text == "" && note.By == "" {
		return ""
	}
	text, _ := json.Marshal(storedNote{note.Text, note.By}) // two texts
	return string(text)
}

// parseNote reads the field paused. An older version wrote 1 there; what cannot be read is no note.
func parseNote(paused string) (note protocol.PauseNote) {
	since, text, ok := strings.Cut(paused, " ")
	ms, err := strconv.ParseInt(since, 10, 64)
	if !ok || err != nil || ms < 0 {
		return note
	}
	note.At = time.UnixMilli(ms).UTC()
	var stored storedNote
	if json.Unmarshal([]byte(text), &stored) == nil {
		note.Text, note.By = stored.Text, stored.By
	}
	return note
}
