package dashboard

import (
	"testing"
	"testing/synctest"
	"time"
)

// Sentences about actions are kept for a minute, at most maxSaid of them: then an action is followed by no sentence.
func TestSentencesAboutActionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := said{sentences: map[string]sentence{}}
		first := s.keep("done")
		for range 2 * maxSaid {
			s.keep("done")
		}
		if len(s.sentences) != maxSaid || s.get(first) != "done" {
			t.Errorf("%d sentences are kept, want %d, the first one among them", len(s.sentences), maxSaid)
		}
		time.Sleep(saidFor + time.Second) // fake time
		if s.keep("next") == "" || len(s.sentences) != 1 || s.get(first) != "" {
			t.Errorf("%d sentences are kept after a minute, want the new one", len(s.sentences))
		}
	})
}
