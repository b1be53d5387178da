package dashboard

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
)

// A stream ends by itself, so that the viewer's rights are checked again. A HEAD request never begins a stream.
func TestAStreamEndsByItself(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{})
		if got := send(d, "HEAD", "/events?page=workers"); got.Code != 200 || got.Header().Get("Content-Type") != "text/event-stream" || got.Body.Len() > 0 {
			t.Errorf("the head: got %d, %v, %q", got.Code, got.Header(), got.Body)
		}
		began := time.Now()
		ended := make(chan time.Duration, 1)
		go func() {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/events?page=workers", nil)
			r.RemoteAddr, r.Host = "127.0.0.1:5000", "localhost"
			d.ServeHTTP(httptest.NewRecorder(), r)
			ended <- time.Since(began)
		}()
		time.Sleep(maxStream - time.Second) // fake time passes
		synctest.Wait()
		select {
		case took := <-ended:
			t.Errorf("it ended after %v, want it to last %v", took, maxStream)
		default:
		}
		time.Sleep(2 * time.Second) // fake time passes
		synctest.Wait()
		select {
		case <-ended:
		default:
			t.Errorf("it has not ended after %v", time.Since(began))
		}
	})
}
