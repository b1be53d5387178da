package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

//go:generate go test -run Flood . -update

var update = flag.Bool("update", false, "write testdata/output.txt instead of comparing with it")

const weekly = `{"startTime": "2000-01-15T09:00Z", "action": {"message": "the report is due"},
	"recurrence": {"frequency": "week", "schedule": {"weekDays": ["saturday", "sunday"], "hours": [9, 17]}}}`

// A service is the program's worker and API under fake time. Its test begins on a Saturday.
type service struct {
	t    *testing.T
	c    *chimetest.Chime
	api  http.Handler
	sent *output
}

func serve(t *testing.T, test func(t *testing.T, s *service)) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		c.Advance(time.Until(time.Date(2000, time.January, 15, 0, 0, 0, 0, time.UTC)))
		s := &service{t, c, newAPI(c.Store()), new(output)}
		quiet := slog.New(slog.DiscardHandler)
		c.Start(newWorker(c.Store(), quiet, s.sent), chime.NewScheduler(c.Store(), chime.SchedulerOptions{Logger: quiet}))
		test(t, s)
	})
}

// do sends a request, requires a status, and returns the answer and its ETag. A header is "Name: value".
func (s *service) do(want int, method, path, body string, headers ...string) (answer, tag string) {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	if w.Code != want {
		s.t.Errorf("%s %s: %d, want %d: %s", method, path, w.Code, want, w.Body)
	}
	return strings.TrimSpace(w.Body.String()), w.Header().Get("ETag")
}

// an output collects the notices.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func TestASchedulesLife(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		const report = "/tenants/acme/schedules/report"
		body, tag := s.do(200, "PUT", report, weekly)
		if !strings.Contains(body, `"in_words":"Every week on Saturday and Sunday at 09:00 and 17:00`) || tag == "" {
			t.Errorf("created: %s, ETag %q", body, tag)
		}
		if _, again := s.do(200, "PUT", report, weekly); again != tag {
			t.Errorf("the same definition again has the ETag %s, want %s", again, tag)
		}
		if body, _ := s.do(200, "GET", report+"/upcoming?n=3", ""); body != `["2000-01-15T09:00:00Z","2000-01-15T17:00:00Z","2000-01-16T09:00:00Z"]` {
			t.Errorf("upcoming: %s", body)
		}

		s.do(202, "POST", report+"/run", "", "Idempotency-Key: k1")
		if body, _ := s.do(202, "POST", report+"/run", "", "Idempotency-Key: k1"); body != `{"existing":true,"id":"k1"}` {
			t.Errorf("triggered again: %s", body)
		}
		s.c.Advance(time.Minute)
		if body, _ := s.do(200, "GET", report+"/run/k1", ""); body != `{"state":"done","outcome":"done","attempt":1,"note":"sent to acme"}` {
			t.Errorf("the manual run: %s", body)
		}
		s.c.Advance(18 * time.Hour) // to Saturday evening
		if got := s.sent.String(); got != strings.Repeat("acme: the report is due\n", 3) {
			t.Errorf("sent: %s", got)
		}
		body, _ = s.do(200, "GET", report+"/runs", "")
		for _, planned := range []string{"2000-01-15T09:00:00Z", "2000-01-15T17:00:00Z"} {
			if !strings.Contains(body, `{"planned":"`+planned+`","started":"`+planned+`","ended":"`+planned+`","outcome":"done"`) {
				t.Errorf("the run of %s is not among the runs: %s", planned, body)
			}
		}

		body, tag = s.do(200, "POST", report+"/pause", `{"text": "holidays", "by": "anna"}`)
		if !strings.Contains(body, `"state":"paused","note":{"text":"holidays","by":"anna"`) {
			t.Errorf("paused: %s", body)
		}
		s.c.Advance(16 * time.Hour) // over the run on Sunday morning
		s.do(200, "POST", report+"/resume?skipgap", "", "If-Match: "+tag)
		s.c.Advance(time.Hour)
		if got := strings.Count(s.sent.String(), "\n"); got != 3 {
			t.Errorf("%d notices after a pause whose gap is skipped, want 3", got)
		}
		s.do(204, "DELETE", report, "")
		s.do(404, "GET", report, "")
		s.do(404, "POST", report+"/run", "")
	})
}

// The queue of messages is shared, and each tenant is a group of it.
func TestMessagesOfATenantAreAGroup(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		queues := chime.NewQueues(s.c.Store())
		if err := queues.Pause(t.Context(), messages, chime.Note{}); err != nil {
			t.Fatal(err)
		}
		if body, _ := s.do(202, "POST", "/tenants/acme/messages", `{"text": "hello", "to": ["anna", "ben"]}`); body != `{"accepted":2}` {
			t.Errorf("accepted: %s", body)
		}
		waiting := chimetest.Enqueued(s.c, deliver)
		if len(waiting) != 2 {
			t.Errorf("%d messages wait, want 2", len(waiting))
		}
		for _, m := range waiting {
			if m.Group != "acme" {
				t.Errorf("%s has the group %q, want acme", m.ID, m.Group)
			}
		}
		if err := queues.Resume(t.Context(), messages); err != nil {
			t.Fatal(err)
		}
		s.c.Advance(time.Second)
		if got := s.sent.String(); !strings.Contains(got, "acme to anna: hello\n") || !strings.Contains(got, "acme to ben: hello\n") || strings.Count(got, "\n") != 2 {
			t.Errorf("sent: %s", got)
		}
		for body, want := range map[string]string{`{"text": "hello"}`: `{"field":"to","value":"0 recipients"`, `{"to": 7}`: `{"field":"body"`} {
			if got, _ := s.do(400, "POST", "/tenants/acme/messages", body); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", body, got, want)
			}
		}
	})
}

// Under fake time the waits are exact. testdata/output.txt has them.
func TestAFloodOfOneTenantDoesNotDelayTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := flood(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		const file = "testdata/output.txt"
		if *update {
			if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || out.String() != string(want) {
			t.Errorf("it prints\n%s\nand %s has\n%s%v", out.String(), file, want, err)
		}
	})
}

func TestOfTwoEditorsOneGetsAConflict(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		const report = "/tenants/acme/schedules/report"
		_, seen := s.do(200, "PUT", report, weekly)
		s.do(409, "PUT", report, strings.Replace(weekly, "sunday", "friday", 1)) // without a seen revision nothing is changed
		s.do(200, "PUT", report, strings.Replace(weekly, "sunday", "friday", 1), "If-Match: "+seen)
		for _, change := range []struct{ method, path, body string }{
			{"PUT", report, strings.Replace(weekly, "sunday", "tuesday", 1)}, {"DELETE", report, ""}, {"POST", report + "/pause", ""},
		} {
			s.do(412, change.method, change.path, change.body, "If-Match: "+seen)
		}
		if body, _ := s.do(200, "GET", report, ""); !strings.Contains(body, "friday") || !strings.Contains(body, `"state":"live"`) {
			t.Errorf("it is %s, want the change of the first editor", body)
		}
	})
}

func TestATenantSeesNothingOfAnother(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		for _, path := range []string{"acme/schedules/report", "acme/schedules/backup", "acme-2/schedules/report", "b/schedules/acme%2Freport"} {
			s.do(200, "PUT", "/tenants/"+path, strings.Replace(weekly, "the report", "of "+path, 1))
		}
		names := func(tenant, query string) string {
			body, _ := s.do(200, "GET", "/tenants/"+tenant+"/schedules"+query, "")
			var list []struct{ Name string }
			if err := json.Unmarshal([]byte(body), &list); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(list)
		}
		for tenant, want := range map[string]string{"acme": "[{backup} {report}]", "acme-2": "[{report}]", "b": "[{acme/report}]", "acm": "[]"} {
			if got := names(tenant, ""); got != want {
				t.Errorf("%s has %s, want %s", tenant, got, want)
			}
		}
		if got := names("acme", "?n=1&after=backup"); got != "[{report}]" {
			t.Errorf("after backup: %s", got)
		}
		s.do(202, "POST", "/tenants/acme/schedules/report/run", "", "Idempotency-Key: k1")
		const foreign = "/tenants/b/schedules/report"
		for _, act := range []struct{ method, path string }{
			{"GET", ""}, {"DELETE", ""}, {"POST", "/pause"}, {"POST", "/resume"}, {"POST", "/run"}, {"GET", "/run/k1"}, {"GET", "/upcoming"}, {"GET", "/runs"},
		} {
			s.do(404, act.method, foreign+act.path, "")
		}
		s.do(400, "GET", "/tenants/acme%2F..%2Fb/schedules/report", "")
	})
}

func TestEveryMistakeIsInTheAnswer(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		const schedules = "/tenants/acme/schedules"
		for _, c := range []struct {
			method, path, body, header string
			status                     int
			want                       string // part of the answer
		}{
			{"PUT", "/r", `{"recurrence": {"frequency": "week", "schedule": {"hours": [25], "weekDays": ["mon day"]}}}`, "", 400,
				`{"field":"schedule.hours[0]","value":"25","code":"hours_range"`},
			{"PUT", "/r", `{"recurrence": {"frequency": "week", "schedule": {"hours": [25], "weekDays": ["mon day"]}}}`, "", 400, `"code":"weekdays_value"`},
			{"PUT", "/r", `{"recurrence": {"frequency": "fortnight"}}`, "", 400, `"code":"frequency_unknown"`},
			{"PUT", "/r", `{"frequency": "day", "action": {"message": 7}}`, "", 400, `{"field":"action",`},
			{"PUT", "/r", `{}`, "", 400, `"problems":[{"field":`},
			{"PUT", "/r%20", weekly, "", 400, `{"field":"name","value":"acme/r "`},
			{"PUT", "/r", `{"frequency": "day", "action": {"message": "` + strings.Repeat("x", maxBody) + `"}}`, "", 413, `{"field":"body"`},
			{"PUT", "/r", weekly, "If-Match: yesterday", 400, `{"field":"If-Match","value":"yesterday","limit":`},
			{"PUT", "/r", weekly, `If-Match: "7"`, 404, `there is no such schedule`},
			{"GET", "/none", "", "", 404, `{"field":"name","value":"none"`},
			{"GET", "/none/run/x", "", "", 404, `{"field":"id","value":"x"`},
			{"GET", "/none/upcoming?n=0", "", "", 400, `{"field":"n","value":"0","limit":"1 to 1000"}`},
			{"GET", "?n=many", "", "", 400, `{"field":"n","value":"many","limit":"1 to 100"}`},
			{"POST", "/none/pause", `{"text": "` + strings.Repeat("x", 600) + `"}`, "", 400, `{"field":"Note.Text"`},
		} {
			if body, _ := s.do(c.status, c.method, schedules+c.path, c.body, c.header); !strings.Contains(body, c.want) {
				t.Errorf("%s %s: %s, want %s", c.method, c.path, body, c.want)
			}
		}
		if body, _ := s.do(200, "GET", schedules, ""); body != "[]" {
			t.Errorf("after all that: %s", body)
		}
	})
}

// The whole program runs on its own port: it answers, and ends when its ctx ends.
func TestTheServiceStartsAndEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	sent := new(output)
	go func() { ended <- run(ctx, listener, sent) }()
	url := "http://" + listener.Addr().String() + "/tenants/acme/schedules/report"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(weekly))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != 200 || !strings.Contains(string(body), `"name":"report"`) {
		t.Errorf("%s: %s", answer.Status, body)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("after its ctx has ended: %v", err)
	}
	if !strings.Contains(sent.String(), "curl -i -X PUT http://"+listener.Addr().String()) {
		t.Errorf("it did not print how to try it: %s", sent)
	}
}
