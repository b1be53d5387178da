package chime

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// What is read is encoded as a person reads it: names in small letters, instants in UTC, durations in milliseconds, no payload.
func TestWhatIsShownHasAJSONForm(t *testing.T) {
	at := time.Date(2026, 3, 8, 10, 0, 0, 0, time.FixedZone("", 3600))
	payload := []byte("12345")
	for _, c := range []struct {
		v    any
		want string
	}{
		{Receipt{ID: "a", Queue: "q", Existing: true}, `{"id":"a","queue":"q","existing":true}`},
		{QueueInfo{Name: "mail", Partitions: 1, Waiting: 1, Delayed: 2, Running: 3, Parked: 4, Dead: 5, Schedules: 6, Enqueued: 7, Done: 8, Failed: 9, Retried: 10, Died: 11, Now: at.UTC()},
			`{"name":"mail","partitions":1,"paused":false,"waiting":1,"delayed":2,"running":3,"parked":4,"dead":5,"schedules":6,"enqueued":7,"done":8,"failed":9,"retried":10,"died":11,"now":"2026-03-08T09:00:00Z"}`},
		{ScheduleCounters{1, 2, 3, 4, 5, 6}, `{"placed":1,"started":2,"skipped":3,"missed":4,"caught_up":5,"superseded":6}`},
		{&Schedule{Name: "r", JobName: "report", Queue: "mail", Recurrence: recurrence.Recurrence{Cron: "@daily"}, Payload: payload, Created: at, Revision: 7, State: StateLive,
			Overlap: OverlapSkip, Misfire: MisfireRunOnce, Grace: time.Minute, MaxAttempts: 3, Timeout: time.Second, Next: at, Used: 1},
			`{"name":"r","job_name":"report","queue":"mail","recurrence":{"cron":"@daily"},"created":"2026-03-08T09:00:00Z","revision":7,"state":"live","overlap":"skip","misfire":"run_once",` +
				`"no_immediate_run":false,"max_attempts":3,"next":"2026-03-08T09:00:00Z","used":1,"counters":{"placed":0,"started":0,"skipped":0,"missed":0,"caught_up":0,"superseded":0},` +
				`"grace_ms":60000,"timeout_ms":1000,"payload_bytes":5}`},
		{Job{ID: "r@2026-03-08T09:00:00Z", Name: "report", Queue: "mail", Schedule: "r", Planned: at, Started: at, Attempt: 2, MaxAttempts: 5, Crashes: 1, Fence: 9, Timeout: time.Second, LastError: "no", Payload: payload},
			`{"id":"r@2026-03-08T09:00:00Z","name":"report","queue":"mail","schedule":"r","planned":"2026-03-08T09:00:00Z","started":"2026-03-08T09:00:00Z","attempt":2,"max_attempts":5,"crashes":1,"fence":9,` +
				`"last_error":"no","timeout_ms":1000,"payload_bytes":5}`},
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

func TestAScheduleDecodesItsArguments(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		schedules := NewSchedules(asStore(store))
		kind := Define[kindArgs]("kind.decoded")
		if _, err := schedules.Put(t.Context(), "anna@example.com", everyMinute, kind.With(kindArgs{"anna"})); err != nil {
			t.Fatal(err)
		}
		s, err := schedules.Get(t.Context(), "anna@example.com")
		if err != nil {
			t.Fatal(err)
		}
		var args kindArgs
		if err := s.Decode(&args); err != nil || args.Customer != "anna" {
			t.Errorf("decoded %+v, %v", args, err)
		}
		if err := s.Decode(new(int)); err == nil || !strings.Contains(err.Error(), "a map does not fit int") {
			t.Errorf("into an int: %v", err)
		}
	})
}
