package action

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// A piped receiver runs in the same bubble of fake time: its connections are in memory.
type pipedReceiver struct {
	answer func(*http.Request) string // the raw answer; empty: no answer, never

	mu  sync.Mutex
	got []*http.Request
	at  []time.Time
}

func (p *pipedReceiver) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		in := bufio.NewReader(theirs)
		for {
			request, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, request.Body)
			p.mu.Lock()
			p.got, p.at = append(p.got, request), append(p.at, time.Now())
			p.mu.Unlock()
			answer := p.answer(request)
			if answer == "" {
				_, _ = in.ReadByte() // until the other side closes
				return
			}
			if _, err := io.WriteString(theirs, answer); err != nil {
				return
			}
		}
	}()
	return ours, nil
}

const failure = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 3\r\n\r\nno!"

// sealedItem is the job of an action without a schedule.
func sealedItem(t *testing.T, a *Action) chime.Item {
	t.Helper()
	a.Prepare(t.Context(), nil)
	if err := a.Seal(testRing(t), Place{}, nil); err != nil {
		t.Fatal(err)
	}
	item, err := a.Item()
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func pipedSender(t *testing.T, p *pipedReceiver) *Sender {
	s := NewSender(SenderOptions{Secrets: testRing(t), Egress: Egress{AllowInsecure: true}})
	s.transports.shared.transport.DialContext = p.dial
	t.Cleanup(s.Close)
	return s
}

func TestAnActionIsRetriedByItsPolicyAndThenItsErrorActionIsDoneOnce(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		p := &pipedReceiver{answer: func(r *http.Request) string {
			if r.URL.Path == "/failed" {
				return "HTTP/1.1 204 No Content\r\n\r\n"
			}
			return failure
		}}
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		worker.Handle(JobName, pipedSender(t, p).Handle)
		c.Start(worker)
		a := to("http://example.com/main", func(r *Request) { r.Body = "hello" })
		a.ErrorAction = to("http://example.com/failed", func(r *Request) { r.SecretHeaders = map[string]Secret{"X-Key": Plain("canary")} })
		begin := time.Now()
		if _, err := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}).EnqueueMany(t.Context(), []chime.Item{sealedItem(t, a)}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.got) != 6 {
			t.Fatalf("%d requests, want five and the error action's", len(p.got))
		}
		for i, r := range p.got[:5] {
			want := time.Duration(i) * 30 * time.Second
			if at := p.at[i].Sub(begin); at < want || at > want+time.Second || r.URL.Path != "/main" || r.Header.Get("Idempotency-Key") != p.got[0].Header.Get("Idempotency-Key") {
				t.Errorf("request %d is %s after %v, want /main after %v, key %q", i, r.URL.Path, at, want, r.Header.Get("Idempotency-Key"))
			}
		}
		last := p.got[5]
		if last.URL.Path != "/failed" || last.Header.Get("Chime-Action") != "error" || last.Header.Get("X-Key") != "canary" ||
			last.Header.Get("Idempotency-Key") == p.got[0].Header.Get("Idempotency-Key") ||
			last.Header.Get("Chime-Error") != "action: example.com: status 500 Internal Server Error" {
			t.Errorf("the error action is %s with %v", last.URL.Path, last.Header)
		}
	})
}

func TestARequestEndsAtItsTimeout(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		p := &pipedReceiver{answer: func(*http.Request) string { return "" }}
		job := jobOf(t, to("http://example.com/", func(r *Request) { r.Timeout = Interval(90 * time.Second) }))
		job.Timeout = 100 * time.Second
		begin := time.Now()
		w := chimetest.Work(t, pipedSender(t, p).Handle, job)
		if took := time.Since(begin); took != 90*time.Second || w.Action != chime.Retried || !strings.Contains(w.Err.Error(), "timed out") || !strings.Contains(w.Note, "timed out") {
			t.Errorf("after %v: %v, note %q", took, w.Err, w.Note)
		}
		slow := &pipedReceiver{answer: func(*http.Request) string { return "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal" }}
		w = chimetest.Work(t, pipedSender(t, slow).Handle, job)
		if w.Action != chime.Succeeded || !strings.Contains(w.Note, "'OK'") || !strings.Contains(w.Note, "The body is incomplete: timed out.") {
			t.Errorf("a body that does not end: %v, note %q", w.Outcome, w.Note)
		}
	})
}

func TestATokenIsUsedUntilAMinuteBeforeItsEnd(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		p := &pipedReceiver{answer: func(r *http.Request) string {
			if r.URL.Path != "/token" {
				return "HTTP/1.1 204 No Content\r\n\r\n"
			}
			const token = `{"access_token":"t","token_type":"Bearer","expires_in":3600}`
			return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(token), token)
		}}
		sender := pipedSender(t, p)
		a := to("http://example.com/", func(r *Request) {
			r.Authentication = &Authentication{Type: OAuth, TokenURL: "http://login.example.com/token", ClientID: "me", ClientSecret: Plain("canary")}
		})
		for _, step := range []struct {
			after  time.Duration
			tokens int
		}{{0, 1}, {58 * time.Minute, 1}, {90 * time.Second, 2}, {time.Second, 2}} {
			time.Sleep(step.after)
			if w := send(t, sender, a); w.Action != chime.Succeeded {
				t.Fatal(w.Err)
			}
			tokens := 0
			p.mu.Lock()
			for _, r := range p.got {
				if r.URL.Path == "/token" {
					tokens++
				}
			}
			p.mu.Unlock()
			if tokens != step.tokens {
				t.Errorf("%v later: %d tokens, want %d", step.after, tokens, step.tokens)
			}
		}
	})
}

// A handler that is cut off returns an error with the reason; the worker puts the job back in its queue, with any result.
func TestAShutdownEndsTheRequest(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		p := &pipedReceiver{answer: func(*http.Request) string { return "" }}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(chime.ErrShutdown) })
		err := pipedSender(t, p).Handle(ctx, jobOf(t, to("http://example.com/", nil)))
		if err == nil || !strings.Contains(err.Error(), chime.ErrShutdown.Error()) || errors.Is(err, errTimeout) {
			t.Errorf("%v, want it to name the shutdown", err)
		}
	})
}
