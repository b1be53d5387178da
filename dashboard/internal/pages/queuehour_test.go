package pages

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The next hour of a queue has its delayed jobs and the occurrences of its schedules, each once, and nothing of later.
func TestTheNextHourOfAQueueHasWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer func() { _ = server.Close() }()
		store := server.Store()
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		for id, in := range map[string]time.Duration{"soon": 7 * time.Minute, "later": 32 * time.Minute, "tomorrow": 24 * time.Hour} {
			if _, err := enqueuer.Enqueue(t.Context(), "remind", nil, chime.Queue("mail"), chime.ID(id), chime.In(in)); err != nil {
				t.Fatal(err)
			}
		}
		rule, err := recurrence.Cron("*/20 * * * *")
		if err != nil {
			t.Fatal(err)
		}
		for name, queue := range map[string]string{"report": "mail", "other": "default"} {
			if _, err := chime.NewSchedules(store).Put(t.Context(), name, rule, chime.Queue(queue), chime.NoImmediateRun()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute) // fake time passes
		site := NewSite(store, Hooks{})
		defer site.Close()
		view, err := readPage(t, site.Queue, "", "queue", "mail")
		if err != nil {
			t.Fatal(err)
		}
		h := view.Model.(*Queue).Coming
		var got []string
		for _, row := range h.Rows {
			got = append(got, row.At.UTC().Format("15:04")+" "+row.Name+" "+row.What)
		}
		if want := "00:07 remind delayed, 00:20 report of schedule report, 00:32 remind delayed, 00:40 report of schedule report"; strings.Join(got, ", ") != want || h.Count != 4 || h.More {
			t.Errorf("got %q, %d, more %v; want %q", got, h.Count, h.More, want)
		}
	})
}
