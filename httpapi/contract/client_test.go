//go:build generated

package contract_test

import (
	"context"
	"net/http"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/contract/client"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A generated client creates a collection and a job, pauses it, runs it, reads its history and deletes it.
func TestAGeneratedClientWorks(t *testing.T) {
	b := newBook(t)
	for _, x := range inBubble(t, generated) {
		b.hold(t, x)
	}
}

func generated(t *testing.T, server *embedded.Server) []*wire {
	token, line, err := httpapi.NewToken("ci", httpapi.Admin)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := httpapi.Tokens(line)
	if err != nil {
		t.Fatal(err)
	}
	api := httpapi.New(server.Store(), httpapi.Options{Authenticate: tokens, Logger: quiet()})
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: quiet()})
	worker.Handle(action.JobName, refused)
	worker.Handle("mail.send", sent)
	stop := start(t, worker, api)
	defer stop()

	w := &wire{api: api}
	on, err := client.NewClientWithResponses(local,
		client.WithHTTPClient(&http.Client{Transport: w}),
		client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	check := func(what string, err error, got, want int) {
		t.Helper()
		if err != nil || got != want {
			t.Fatalf("%s: got %d, %v, want %d\n%v", what, got, err, want, w.exchanges[max(0, len(w.exchanges)-1):])
		}
	}

	var collection client.CollectionBody
	if err := collection.FromCollectionBare(client.CollectionBare{}); err != nil {
		t.Fatal(err)
	}
	made, err := on.PutCollectionWithResponse(ctx, "demo", nil, collection)
	check("create a collection", err, made.StatusCode(), 201)

	// Every Monday at 10:00 and 22:00: one day as a single value, and two hours.
	var days client.Words
	var hours client.Schedule_Hours
	if err := days.FromWords0("monday"); err != nil {
		t.Fatal(err)
	}
	if err := hours.FromScheduleHours1([]int{10, 22}); err != nil {
		t.Fatal(err)
	}
	var body client.JobBody
	err = body.FromJobWhole(client.JobWhole{Properties: client.JobProperties{
		StartTime:  new("2027-03-01T00:00Z"),
		Recurrence: &client.Recurrence{Frequency: new("week"), Schedule: &client.Schedule{WeekDays: &days, Hours: &hours}},
		Action:     client.Action{Type: "https", Request: &client.Request{Uri: "https://chime.invalid/r", Method: new("POST")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	job, err := on.PutJobWithResponse(ctx, "demo", "report", nil, body)
	check("create a job", err, job.StatusCode(), 201)
	tag := job.HTTPResponse.Header.Get("ETag")
	if next := job.JSON201.Properties.Status.NextExecutionTime; next == nil || !next.Equal(time.Date(2027, 3, 1, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("next is %v, want 2027-03-01 at 10:00", next)
	}

	paused, err := on.PatchJobWithResponse(ctx, "demo", "report", &client.PatchJobParams{IfMatch: &tag}, client.Patch{"properties": map[string]any{"state": "disabled"}})
	check("pause the job", err, paused.StatusCode(), 200)
	if state := paused.JSON200.Properties.State; state != client.JobPropertiesStateDisabled {
		t.Errorf("the state is %q, want disabled", state)
	}
	late, err := on.PatchJobWithResponse(ctx, "demo", "report", &client.PatchJobParams{IfMatch: &tag}, client.Patch{"properties": map[string]any{"state": "enabled"}})
	check("change what another one has changed", err, late.StatusCode(), 412)
	if code := late.ApplicationproblemJSON412.Code; code != "changed" {
		t.Errorf("the code is %q, want changed", code)
	}

	ran, err := on.RunJobWithResponse(ctx, "demo", "report", &client.RunJobParams{IdempotencyKey: new("once")})
	check("run the job", err, ran.StatusCode(), 200)
	time.Sleep(time.Second)
	synctest.Wait()

	history, err := on.GetHistoryWithResponse(ctx, "demo", "report", &client.GetHistoryParams{Top: new(10)})
	check("read the history", err, history.StatusCode(), 200)
	if all := history.JSON200.Value; len(all) != 1 || all[0].Properties.Chime.Occurrence != ran.JSON200.Id || !all[0].Properties.Chime.Manual {
		t.Errorf("the history is %+v, want the run %s", all, ran.JSON200.Id)
	}
	shown, err := on.GetJobWithResponse(ctx, "demo", "report")
	check("read the job", err, shown.StatusCode(), 200)
	if got, err := shown.JSON200.Properties.Recurrence.Schedule.Hours.AsScheduleHours1(); err != nil || len(got) != 2 {
		t.Errorf("the hours are %v, %v, want 10 and 22", got, err)
	}
	list, err := on.ListJobsWithResponse(ctx, "demo", &client.ListJobsParams{Filter: new("state eq 'Disabled'")})
	check("list jobs", err, list.StatusCode(), 200)
	if len(list.JSON200.Value) != 1 || list.JSON200.Value[0].Name != "demo/report" {
		t.Errorf("the list is %+v, want demo/report", list.JSON200.Value)
	}

	permit := client.Patch{"chime": map[string]any{"jobs": []string{"mail.send"}}}
	allowed, err := on.PatchCollectionWithResponse(ctx, "demo", nil, permit)
	check("allow a job", err, allowed.StatusCode(), 200)
	var many client.TasksBody
	mail := client.NewTask{Job: &client.JobTarget{Name: "mail.send", Payload: map[string]any{"to": "anna"}}, In: new("PT10S"), Keep: new("PT1H")}
	if err := many.FromNewTasks(client.NewTasks{Value: []client.NewTask{mail, mail}}); err != nil {
		t.Fatal(err)
	}
	added, err := on.PostTasksWithResponse(ctx, "demo", &client.PostTasksParams{IdempotencyKey: new("two letters")}, many)
	check("add two tasks", err, added.StatusCode(), 200)
	receipts, err := added.JSON200.AsTaskReceiptList()
	if err != nil || len(receipts.Value) != 2 {
		t.Fatalf("the receipts are %+v, %v, want two", receipts, err)
	}
	task, err := on.GetTaskWithResponse(ctx, "demo", receipts.Value[1].Id, &client.GetTaskParams{Wait: new("25s"), Queue: &receipts.Value[1].Queue})
	check("wait for a task", err, task.StatusCode(), 200)
	if got := task.JSON200; got.State != client.TaskStateDone || !reflect.DeepEqual(got.Result, map[string]any{"sent": []any{1.0, 2.0}}) {
		t.Errorf("the task is %+v, want done with its result", got)
	}
	cancelled, err := on.DeleteTaskWithResponse(ctx, "demo", "none", nil)
	check("cancel what is not there", err, cancelled.StatusCode(), 204)

	gone, err := on.DeleteJobWithResponse(ctx, "demo", "report", nil)
	check("delete the job", err, gone.StatusCode(), 200)
	none, err := on.GetJobWithResponse(ctx, "demo", "report")
	check("read what is gone", err, none.StatusCode(), 404)
	if code := none.ApplicationproblemJSON404.Code; code != "not_found" {
		t.Errorf("the code is %q, want not_found", code)
	}
	return []*wire{w}
}
