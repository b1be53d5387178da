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

// said keeps the results of actions for the page that follows each action. If the address contained the sentence, a link could make the dashboard
// show any text. A sentence that has been removed, or that another process keeps, is not shown.
type said struct {
	mu        sync.Mutex
	sentences map[string]sentence
}

type sentence struct {
	text string
	at   time.Time
}

// keep stores a sentence and returns its name.
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

// get returns the sentence of a name, or "" if it is not known.
func (s *said) get(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, ok := s.sentences[name]; ok && time.Since(kept.at) <= saidFor {
		return kept.text
	}
	return ""
}
