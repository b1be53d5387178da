package dashboard

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	saidFor = time.Minute
	maxSaid = 1000
)

// said keeps what actions have done, for the page that comes after each: an address that had the sentence itself could make the dashboard say
// anything. A sentence that is not there any more, or that another process keeps, is not shown.
type said struct {
	mu        sync.Mutex
	sentences map[string]sentence
}

type sentence struct {
	text string
	at   time.Time
}

// keep returns a name for a sentence.
func (s *said) keep(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for name, kept := range s.sentences {
		if now.Sub(kept.at) > saidFor {
			delete(s.sentences, name)
		}
	}
	if text == "" || len(s.sentences) >= maxSaid {
		return ""
	}
	name := rand.Text()
	s.sentences[name] = sentence{text, now}
	return name
}

// get returns the sentence of a name; empty: there is none.
func (s *said) get(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, ok := s.sentences[name]; ok && time.Since(kept.at) <= saidFor {
		return kept.text
	}
	return ""
}
