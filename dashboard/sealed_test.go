package dashboard

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeseal"
	"github.com/chimejobs/chime/recurrence"
)

// A dashboard without the key shows jobs, batches and schedules whose contents are sealed, with the name of the key in place of the contents. With the key it
// shows them.
func TestADashboardWithoutTheKeyShowsNothingThatIsSealed(t *testing.T) {
	onEmbedded(t, func(t *testing.T, plain chime.Store) {
		ring := must(chimeseal.Parse("k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))))
		store := chime.WithCodec(plain, ring, chime.CodecOptions{})
		secret := map[string]string{"token": "canary-arguments"}
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet})
		after := chime.Item{Name: "report", Args: secret}
		must(enqueuer.Enqueue(t.Context(), "report", secret, chime.ID("dead"), chime.MaxAttempts(1), chime.Keep(time.Hour), chime.OnDeath(after)))
		must(enqueuer.Enqueue(t.Context(), "report", secret, chime.ID("done"), chime.Keep(time.Hour), chime.OnDone(after)))
		must(enqueuer.Enqueue(t.Context(), "report", secret, chime.ID("later"), chime.In(time.Hour), chime.OnDone(after)))
		must(enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: "b", Done: after, Ended: after, Items: sequence(chime.Item{Name: "report", Args: secret, Options: []chime.EnqueueOption{chime.Queue("slow")}})}))
		must(chime.NewSchedules(store).Put(t.Context(), "s", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 1}, chime.JobName("report"), chime.Args(secret)))
		work(t, store, 2*time.Minute, func(_ context.Context, job *chime.Job) error {
			job.Note("canary-note")
			if job.ID == "dead" {
				return errors.New("canary-error")
			}
			return errors.Join(job.Progress("canary-progress"), job.Return("canary-result"))
		})
		pages := []string{
			"/", "/jobs", "/jobs?state=all", "/jobs?state=dead", "/jobs?state=delayed", "/jobs/default/dead", "/jobs/default/done", "/jobs/default/later", "/failures", "/batches", "/batches/b",
			"/schedules", "/schedules/s", "/queues/default", "/queues/slow", "/kinds/report", "/workers", "/search?q=dead", "/search?q=canary", "/jobs?q=error:canary-error&state=dead",
		}
		read := func(store chime.Store) (text string) {
			d := newDashboard(t, store, Options{Write: true, Authorize: crowd(allRights)})
			for _, path := range pages {
				got := send(d, "GET", path)
				if got.Code != 200 && got.Code != 303 {
					t.Errorf("%s: %d", path, got.Code)
				}
				text += got.Body.String()
			}
			for _, id := range []string{"dead", "done", "later"} {
				text += send(d, "POST", "/jobs/default/"+id+"/reveal").Body.String()
			}
			return text + send(d, "POST", "/schedules/s/reveal").Body.String()
		}
		sealed, clear := read(plain), read(store)
		for _, canary := range []string{"canary-arguments", "canary-error", "canary-note", "canary-result"} {
			hidden := strings.ReplaceAll(strings.ReplaceAll(sealed, "q=canary", ""), "error:canary-error", "")
			if strings.Contains(hidden, canary) && canary != "canary-error" {
				t.Errorf("without the key the pages have %s", canary)
			}
			if !strings.Contains(clear, canary) {
				t.Errorf("with the key no page has %s: the test proves nothing", canary)
			}
		}
		if !strings.Contains(sealed, "sealed with key k1") {
			t.Error("without the key no page has its name")
		}
	})
}
