package change

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// Requeue changes all jobs of a filter or of a group, although the form has counted only the first of them. A deletion changes only those that it counted.
func TestRequeueContinuesToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer func() { _ = server.Close() }()
		store := server.Store()
		var items []chime.Item
		for i := range 30 {
			items = append(items, chime.Item{Name: "send", Options: []chime.EnqueueOption{chime.Queue([]string{"a", "b"}[i%2]), chime.MaxAttempts(1), chime.ID(fmt.Sprintf("j%02d", i))}})
		}
		if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		work := func() {
			worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"a": 1, "b": 1}})
			worker.Handle("send", func(context.Context, *chime.Job) error { return errors.New("full") })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := chime.Run(ctx, worker); err != nil {
				t.Fatal(err)
			}
		}
		work()
		group := func(job *chime.JobInfo) string { return job.Name + "\t" + job.LastError }
		c := New(store, group, nil, jobfind.Decoded, nil)
		c.most = 7
		for _, form := range []struct {
			do     Verb
			fields url.Values
			asks   string
			want   int
		}{
			{RequeueJobs, url.Values{"all": {"1"}, "filter": {"state:dead"}}, "Requeue at least 7 jobs?", 30},
			{RequeueGroups, url.Values{"id": {"send\tfull"}}, "Requeue at least 7 jobs?", 30},
			{DeleteJobs, url.Values{"all": {"1"}, "filter": {"state:dead"}, "number": {"7"}}, "Delete 7 jobs?", 7},
		} {
			f := &Form{Fields: form.fields, Frame: &render.Frame{}, Values: map[string]string{}}
			answer, err := form.do(c, t.Context(), f)
			if err != nil || answer.Ask == nil || answer.Ask.Title != form.asks {
				t.Fatalf("%v: got %+v, %v; want the question %q", form.fields, answer.Ask, err, form.asks)
			}
			f.Fields.Set("sure", "1")
			if answer, err = form.do(c, t.Context(), f); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			o, ok := c.Operation(answer.Back[strings.LastIndexByte(answer.Back, '/')+1:])
			if !ok || o.Done.Changed != form.want || o.Meant != form.want || o.Left() != 0 || o.Counting || o.Ended.IsZero() || o.Failed != nil {
				t.Errorf("%v: %+v; want %d changed", form.fields, o, form.want)
			}
			work()
		}
	})
}
