package action

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
)

// The secrets of both actions can be opened at the place of the schedule's name, and nowhere else.
func TestTheActionsOfAScheduleOpenAtItsPlace(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		p := &pipedReceiver{answer: func(r *http.Request) string {
			if r.Header.Get("Chime-Action") == "error" {
				return "HTTP/1.1 204 No Content\r\n\r\n"
			}
			return failure
		}}
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		worker.Handle(JobName, pipedSender(t, p).Handle)
		c.Start(worker, chime.NewScheduler(c.Store(), chime.SchedulerOptions{}))
		a := full(basicAuth)
		a.Request.URI, a.ErrorAction.Request.URI = "http://example.com/main", "http://example.com/error"
		a.RetryPolicy = &RetryPolicy{Count: counted(1), Interval: Interval(time.Minute)}
		a.Prepare(t.Context(), nil)
		if err := a.Seal(testRing(t), Place{"demo", "report"}, nil); err != nil {
			t.Fatal(err)
		}
		item, err := a.Item()
		if err != nil {
			t.Fatal(err)
		}
		options, err := a.Options()
		if err != nil {
			t.Fatal(err)
		}
		put := []chime.PutOption{chime.JobName(item.Name), chime.Args(json.RawMessage(item.Args.([]byte)))}
		for _, option := range options {
			put = append(put, option)
		}
		rec := recurrence.Recurrence{Frequency: recurrence.Hour, Count: 1}
		for _, name := range []string{"demo:report", "demo:copied"} {
			if _, err := chime.NewSchedules(c.Store()).Put(t.Context(), name, rec, put...); err != nil {
				t.Fatal(err)
			}
		}
		c.Advance(10 * time.Minute)
		p.mu.Lock()
		defer p.mu.Unlock()
		var paths []string
		for _, r := range p.got {
			paths = append(paths, r.URL.Path)
			if r.Header.Get("Chime-Collection") != "demo" || r.Header.Get("Chime-Job") != "report" || r.Header.Get("X-Hidden") != "canary-"+r.URL.Path[1:]+"-header" {
				t.Errorf("%s with %v", r.URL, r.Header)
			}
		}
		if len(paths) != 3 || paths[0] != "/main" || paths[1] != "/main" || paths[2] != "/error" {
			t.Errorf("requests %v, want two of the main action and one of the error action, and none of the copy", paths)
		}
	})
}
