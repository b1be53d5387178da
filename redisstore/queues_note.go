package redisstore

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// storedNote formats a note without its instant, which the script adds. A pause without a text has a note too, so that it differs from that of another pause.
func storedNote(n protocol.Note) (string, error) {
	text, err := json.Marshal(n)
	return string(text), err
}

// parseNote reads a stored note. A note that was edited by hand is shown unchanged.
func parseNote(text string) (n protocol.Note) {
	at, body, _ := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || json.Unmarshal([]byte(body), &n) != nil {
		return protocol.Note{Text: text}
	}
	n.At = time.UnixMilli(ms).UTC()
	return n
}

// queueNote formats the note of a queue's pause without its instant; empty: there is no text and no name.
func queueNote(n protocol.Note) (string, error) {
	if n.Text == "" && n.By == "" {
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
		if json.Unmarshal([]byte(text), &n) != nil {
			n = protocol.Note{}
		}
		n.At = time.UnixMilli(ms).UTC()
	}
	return n
}
