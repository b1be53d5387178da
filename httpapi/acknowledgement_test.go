package httpapi

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

func (f *fakeBackend) Acknowledge(ctx context.Context, n resource.JobName, by string, a resource.Acknowledgement) (*resource.AcknowledgementView, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err == nil {
		_, err = f.collection(n.Collection)
	}
	switch {
	case err != nil:
		return nil, err
	case f.jobs[n] == nil:
		return nil, problem.New(problem.NotFound, "there is no job %s in collection %s", n.Job, n.Collection)
	}
	v := &resource.AcknowledgementView{Job: n.Job, By: by, Note: a.Note, Since: time.Unix(1e9, 0), Until: a.Until}
	f.known[n] = v
	f.next()
	return v, nil
}

func (f *fakeBackend) Acknowledgements(ctx context.Context, collection string) (found []*resource.AcknowledgementView, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err == nil {
		_, err = f.collection(collection)
	}
	for n, v := range f.known {
		if n.Collection == collection {
			found = append(found, v)
		}
	}
	return found, err
}

func (f *fakeBackend) EndAcknowledgement(ctx context.Context, n resource.JobName) (existed bool, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	existed = f.known[n] != nil
	delete(f.known, n)
	return existed, err
}

func TestAFailingJobIsAcknowledged(t *testing.T) {
	api, backend := newTestAPI(t, Options{}, "demo")
	backend.addJob("demo", "report")
	const at = "/jobCollections/demo/jobs/report/acknowledge"
	got := send(api, "POST", at, `{"note": "the bank repairs it", "until": "2199-03-01T10:00:00+01:00"}`)
	if want := `","note":"the bank repairs it","since":"2001-09-09T01:46:40Z","until":"2199-03-01T09:00:00Z"}`; got.Code != 200 || !strings.HasSuffix(strings.TrimSpace(got.Body.String()), want) {
		t.Errorf("got %d: %s, want %s", got.Code, got.Body, want)
	}
	if list := answered(t, send(api, "GET", "/jobCollections/demo/acknowledgements", "")); len(list["value"].([]any)) != 1 {
		t.Errorf("listed %v", list)
	}
	for _, want := range []int{200, 204} {
		if got := send(api, "DELETE", at, ""); got.Code != want {
			t.Errorf("DELETE: got %d, want %d: %s", got.Code, want, got.Body)
		}
	}
	for body, code := range map[string]string{
		`null`: "type", `{"until": "soon"}`: "time_syntax", `{"until": "2001-01-01T00:00:00Z"}`: "time_range", `{"note": "` + strings.Repeat("x", 501) + `"}`: "note_size", `{"by": "anna"}`: "unknown_field",
	} {
		if got := send(api, "POST", at, body); got.Code != 400 || !strings.Contains(got.Body.String(), `"`+code+`"`) {
			t.Errorf("%.40s: got %d: %s, want %s", body, got.Code, got.Body, code)
		}
	}
}
