package chime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// Values are encoded for people: names in small letters, instants in UTC, durations in milliseconds, no payload.
func TestWhatIsShownHasAJSONForm(t *testing.T) {
	at := time.Date(2026, 3, 8, 10, 0, 0, 0, time.FixedZone("", 3600))
	payload := []byte("12345")
	for _, c := range []struct {
		v    any
		want string
	}{
		{Receipt{ID: "a", Queue: "q", Existing: true}, `{"id":"a","queue":"q","existing":true}`},
		{QueueInfo{Name: "mail", Partitions: 1, Waiting: 1, Delayed: 2, Running: 3, Parked: 4, Dead: 5, Schedules: 6, Enqueued: 7, Done: 8, Failed: 9, Retried: 10, Died: 11, Cancelled: 12, Now: at.UTC()},
			`{"name":"mail","partitions":1,"paused":false,"waiting":1,"delayed":2,"running":3,"ahead":0,"vanished":0,"parked":4,"dead":5,"schedules":6,"enqueued":7,"done":8,"failed":9,"retried":10,"died":11,"cancelled":12,"expired":0,"now":"2026-03-08T09:00:00Z"}`},
		{QueueInfo{Name: "mail", Paused: true, Note: Note{Text: "moving", By: "anna", At: at.UTC()}, Limit: Limit{Running: 20, Starts: 80, Per: time.Second}, Now: at.UTC()},
			`{"name":"mail","partitions":0,"paused":true,"note":{"text":"moving","by":"anna","at":"2026-03-08T09:00:00Z"},"limit":{"running":20,"starts":80,"per_ms":1000},` +
				`"waiting":0,"delayed":0,"running":0,"ahead":0,"vanished":0,"parked":0,"dead":0,"schedules":0,"enqueued":0,"done":0,"failed":0,"retried":0,"died":0,"cancelled":0,"expired":0,"now":"2026-03-08T09:00:00Z"}`},
		{Limit{}, `{}`},
		{ScheduleCounters{1, 2, 3, 11, 4, 5, 6, 7, 8, 9, 10}, `{"placed":1,"started":2,"skipped":3,"full":11,"missed":4,"caught_up":5,"superseded":6,"cancelled":7,"done":8,"failed":9,"dead":10}`},
		{&Schedule{Name: "r", JobName: "report", Queue: "mail", Recurrence: recurrence.Recurrence{Cron: "@daily"}, Payload: payload, Created: at, Revision: 7, State: StateLive,
			Overlap: OverlapSkip, Misfire: MisfireRunOnce, Grace: time.Minute, Spread: time.Hour, Offset: time.Second, MaxAttempts: 3, Timeout: time.Second, Next: at, Used: 1},
			`{"name":"r","job_name":"report","queue":"mail","recurrence":{"cron":"@daily"},"created":"2026-03-08T09:00:00Z","revision":7,"state":"live","overlap":"skip","misfire":"run_once",` +
				`"no_immediate_run":false,"max_attempts":3,"keep_runs":0,"next":"2026-03-08T09:00:00Z","used":1,"counters":{"placed":0,"started":0,"skipped":0,"missed":0,"caught_up":0,"superseded":0,"cancelled":0,"done":0,"failed":0,"dead":0},` +
				`"grace_ms":60000,"spread_ms":3600000,"offset_ms":1000,"timeout_ms":1000,"payload_bytes":5}`},
		{&Schedule{Name: "r", Grace: time.Second, PauseAfter: 5, Meta: json.RawMessage(`{"by":"anna"}`), Note: Note{Text: "why", By: "anna", At: at.UTC()}, Owner: "billing", Version: 7, State: StatePaused,
			Last: LastRun{Outcome: RunFailed, Planned: at.UTC(), Ended: at.UTC(), Failures: 2, Unfinished: 1}},
			`{"name":"r","job_name":"","queue":"","recurrence":{},"created":"0001-01-01T00:00:00Z","revision":0,"state":"paused","meta":{"by":"anna"},` +
				`"note":{"text":"why","by":"anna","at":"2026-03-08T09:00:00Z"},"owner":"billing","version":7,"overlap":"","misfire":"","no_immediate_run":false,"keep_runs":0,"pause_after":5,` +
				`"last":{"outcome":"failed","planned":"2026-03-08T09:00:00Z","ended":"2026-03-08T09:00:00Z","failures":2,"unfinished":1},` +
				`"used":0,"counters":{"placed":0,"started":0,"skipped":0,"missed":0,"caught_up":0,"superseded":0,"cancelled":0,"done":0,"failed":0,"dead":0},"grace_ms":1000,"payload_bytes":0}`},
		{Job{ID: "r@2026-03-08T09:00:00Z", Name: "report", Queue: "mail", Schedule: "r", Origin: "backfill", Planned: at, Started: at, Attempt: 2, MaxAttempts: 5, Crashes: 1, Fence: 9, Timeout: time.Second, LastError: "no", Payload: payload},
			`{"id":"r@2026-03-08T09:00:00Z","name":"report","queue":"mail","schedule":"r","origin":"backfill","planned":"2026-03-08T09:00:00Z","started":"2026-03-08T09:00:00Z","attempt":2,"max_attempts":5,"crashes":1,"fence":9,` +
				`"last_error":"no","timeout_ms":1000,"payload_bytes":5}`},
		{&JobInfo{ID: "a", Name: "report", Queue: "mail", State: JobRetrying, Enqueued: at, Planned: at, Due: at, Attempt: 2, MaxAttempts: 5, Crashes: 1, Timeout: time.Second, Progress: payload[:2],
			Failures: []Failure{{At: at, Worker: "w", Error: "no"}}, LastError: "no", Payload: payload, Err: errors.New("newer")},
			`{"id":"a","name":"report","queue":"mail","state":"retrying","enqueued":"2026-03-08T09:00:00Z","planned":"2026-03-08T09:00:00Z","due":"2026-03-08T09:00:00Z","attempt":2,"max_attempts":5,"crashes":1,` +
				`"failures":[{"at":"2026-03-08T09:00:00Z","worker":"w","error":"no"}],"last_error":"no","timeout_ms":1000,"payload_bytes":5,"progress_bytes":2,"error":"newer"}`},
		{JobPage{Jobs: []*JobInfo{{ID: "a", Name: "b", Queue: "c", State: JobRunning, Started: at, Attempt: 1, Fence: 7, Worker: "w", Cancelled: true}}, Next: "x", Looked: 2},
			`{"jobs":[{"id":"a","name":"b","queue":"c","state":"running","started":"2026-03-08T09:00:00Z","attempt":1,"crashes":0,"fence":7,"worker":"w","cancelled":true,"payload_bytes":0}],"next":"x","looked":2}`},
		{Job{ID: "x#done", Batch: "x", BatchInfo: &BatchInfo{ID: "y", State: BatchDone, Total: 1, Done: 1, CreatedAt: at, EndedAt: at}},
			`{"id":"x#done","name":"","queue":"","attempt":0,"max_attempts":0,"crashes":0,"fence":0,"batch":"x","batch_info":{"id":"y","state":"done","total":1,"existing":0,"left":0,"done":1,"dead":0,"cancelled":0,` +
				`"created_at":"2026-03-08T09:00:00Z","ended_at":"2026-03-08T09:00:00Z","items":0},"timeout_ms":0,"payload_bytes":0}`},
		{&BatchInfo{ID: "x", State: BatchRunning, Note: "n", Total: 9, Existing: 1, Left: 2, Done: 3, Dead: 4, Cancelled: 5, CreatedAt: at, SealedAt: at, Items: 10, Growing: 1, DoneJob: "d", EndedJob: "e",
			DoneAdded: at, Keep: time.Second, Queues: []BatchQueue{{Queue: "q", Total: 9, Left: 2, Done: 3, Dead: 4, Cancelled: 5}}},
			`{"id":"x","state":"running","note":"n","total":9,"existing":1,"left":2,"done":3,"dead":4,"cancelled":5,"created_at":"2026-03-08T09:00:00Z","sealed_at":"2026-03-08T09:00:00Z","items":10,"growing":1,` +
				`"done_job":"d","ended_job":"e","done_added":"2026-03-08T09:00:00Z","queues":[{"queue":"q","total":9,"left":2,"done":3,"dead":4,"cancelled":5}],"keep_ms":1000}`},
		{BatchReceipt{ID: "x", Items: 3, Existing: 1, Repeated: true}, `{"id":"x","items":3,"existing":1,"repeated":true}`},
		{JobInfo{ID: "a", State: JobWaiting, Batch: "x"}, `{"id":"a","name":"","queue":"","state":"waiting","batch":"x","attempt":0,"crashes":0,"payload_bytes":0}`},
		{JobInfo{ID: "a#done-9.1", State: JobWaiting, FollowsID: "a", FollowsQueue: "q", FollowsBatch: "x"},
			`{"id":"a#done-9.1","name":"","queue":"","state":"waiting","attempt":0,"crashes":0,"follows_id":"a","follows_queue":"q","follows_batch":"x","payload_bytes":0}`},
		{WorkerInfo{Name: "w", Host: "h", PID: 1, Version: "v1", Slots: 3, Since: at, Seen: at}, `{"name":"w","host":"h","pid":1,"version":"v1","queues":{},"slots":3,"busy":0,"since":"2026-03-08T09:00:00Z","seen":"2026-03-08T09:00:00Z","running":[]}`},
		{Item{Name: "a", Args: "secret"}, `{"name":"a"}`},
		{InvalidError{Field: "queue", Value: "a b", Limit: "letters"}, `{"field":"queue","value":"a b","limit":"letters"}`},
		{map[string]Action{"action": Snoozed}, `{"action":"snoozed"}`},
		{&RunInfo{ID: "r@2026-03-08T09:00:00Z", Name: "report", Queue: "mail", Schedule: "r", Planned: at, Started: at, Ended: at.Add(time.Second), Outcome: RunFailed,
			Attempt: 2, Fence: 9, Error: "busy", Note: "half of it", Worker: "w", Manual: true},
			`{"id":"r@2026-03-08T09:00:00Z","name":"report","queue":"mail","schedule":"r","planned":"2026-03-08T09:00:00Z","started":"2026-03-08T09:00:00Z",` +
				`"ended":"2026-03-08T09:00:01Z","outcome":"failed","attempt":2,"fence":9,"error":"busy","note":"half of it","worker":"w","manual":true}`},
		{RunInfo{ID: "a", Name: "mail", Queue: "q", Outcome: RunDone}, `{"id":"a","name":"mail","queue":"q","outcome":"done"}`},
	} {
		if got, err := json.Marshal(c.v); err != nil || string(got) != c.want {
			t.Errorf("%T: %v\n got %s\nwant %s", c.v, err, got, c.want)
		}
	}
}

func TestTheTextOfAScheduleDescribesWhenItRuns(t *testing.T) {
	s := Schedule{Name: "report", Recurrence: recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 2}, Payload: []byte("hunter2")}
	if got := fmt.Sprintf("%v %v", s, &s); got != "Every 2 minutes, and once when created Every 2 minutes, and once when created" {
		t.Errorf("got %s", got)
	}
	if s.NoImmediateRun = true; s.String() != "Every 2 minutes" {
		t.Errorf("without the run at creation: got %s", s)
	}
}

func TestAnActionIsAWordEverywhere(t *testing.T) {
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "action", Retried)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "action", Retried)
	if strings.Count(out.String(), "retried") != 2 {
		t.Errorf("logged: %s", out.String())
	}
	for _, action := range []Action{Succeeded, Retried, Discarded, Snoozed} {
		text, err := action.MarshalText()
		var again Action = 9
		if err != nil || again.UnmarshalText(text) != nil || again != action {
			t.Errorf("%v is written as %q and read as %v", action, text, again)
		}
	}
}

func TestAJobInfoNeverPrintsItsPayload(t *testing.T) {
	info := &JobInfo{ID: "a", Name: "mail", Queue: "q", State: JobDead, Payload: []byte("secret"), Progress: []byte("secret")}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "job", info)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "job", *info)
	encoded, err := json.Marshal([]*JobInfo{info})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(encoded)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb, info, *info)
	}
	for _, leak := range []string{"secret", "736563726574", "c2VjcmV0", "115 101"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("printed with its payload: %s", out.String())
		}
	}
}

func TestALimitIsReadAsItIsWritten(t *testing.T) {
	for _, want := range []Limit{{}, {Running: 5}, {Starts: 80, Per: time.Second}, {Running: 1, Starts: 2, Per: 720 * time.Hour}} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := Limit{Per: time.Hour} // of an earlier value: it is overwritten
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Errorf("%s is read as %+v, %v; want %+v", text, got, err, want)
		}
	}
	var l Limit
	var invalid *InvalidError
	if err := json.Unmarshal([]byte(`{"starts":1,"per_ms":9223372036854775807}`), &l); !errors.As(err, &invalid) || invalid.Field != "Limit.Per" {
		t.Errorf("%+v, %v; want an error about Limit.Per", l, err)
	}
}
