package action

import (
	"net/http"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/httpapi/internal/taskid"
)

// The secrets of both actions of a task can be opened under its ID only. The receiver gets the task's name.
func TestTheActionsOfATaskOpenUnderItsID(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		p := &pipedReceiver{answer: func(r *http.Request) string {
			if r.Header.Get("Chime-Action") == "error" {
				return "HTTP/1.1 204 No Content\r\n\r\n"
			}
			return failure
		}}
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		worker.Handle(JobName, pipedSender(t, p).Handle)
		c.Start(worker)
		a := full(basicAuth)
		a.Request.URI, a.ErrorAction.Request.URI = "http://example.com/main", "http://example.com/error"
		a.RetryPolicy = &RetryPolicy{Count: counted(1), Interval: Interval(time.Minute)}
		a.Prepare(t.Context(), nil)
		id := taskid.ID{Collection: "demo", Creation: 7, Task: "order-42"}
		if err := a.Seal(testRing(t), PlaceOf(id.String()), nil); err != nil {
			t.Fatal(err)
		}
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		for _, name := range []string{id.String(), "demo:task/8/order-42", "demo:task/7/order-43", "demo:order-42", "order-42"} {
			item, err := a.Item()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := enqueuer.Enqueue(t.Context(), item.Name, item.Args, append(item.Options, chime.ID(name))...); err != nil {
				t.Fatal(err)
			}
		}
		c.Advance(10 * time.Minute)
		p.mu.Lock()
		defer p.mu.Unlock()
		var paths []string
		for _, r := range p.got {
			paths = append(paths, r.URL.Path)
			if r.Header.Get("Chime-Collection") != "demo" || r.Header.Get("Chime-Task") != "order-42" || r.Header.Get("Chime-Job") != "" ||
				r.Header.Get("X-Hidden") != "canary-"+r.URL.Path[1:]+"-header" {
				t.Errorf("%s with %v", r.URL, r.Header)
			}
		}
		if len(paths) != 3 || paths[0] != "/main" || paths[1] != "/main" || paths[2] != "/error" {
			t.Errorf("requests %v, want two of the main action and one of the error action, and none of the copies", paths)
		}
	})
}

// An action without a schedule has no place unless it is a task, so programs that enqueue actions themselves are as before.
func TestOnlyATaskHasAPlaceWithoutASchedule(t *testing.T) {
	for id, want := range map[string]Place{
		"demo:order-42": {}, "order-42": {}, "demo:task/7/order-42": {"demo", "task/7/order-42"}, "demo:task/7/order-42/mail": {},
	} {
		if got := placeOf(&chime.Job{ID: id}); got != want {
			t.Errorf("%s has the place %+v, want %+v", id, got, want)
		}
		dead := &chime.Job{ID: id + "#dead-7", Death: &chime.JobInfo{ID: id}}
		if got := placeOf(dead); got != want {
			t.Errorf("the error action of %s has the place %+v, want %+v", id, got, want)
		}
	}
	if got := placeOf(&chime.Job{ID: "demo:task/7/x", Schedule: "demo:report"}); got != (Place{"demo", "report"}) {
		t.Errorf("a run of a schedule has the place %+v, want that of the schedule", got)
	}
}
