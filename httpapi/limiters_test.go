package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// now is the bubble's clock.
func now() time.Time { return time.Now() }

// named authenticates by a header that contains the principal's name.
func named(r *http.Request) (Principal, error) {
	return Principal{Name: r.Header.Get("Name"), Allows: func(Permission, string) bool { return true }}, nil
}

func TestAPrincipalHasARateOfReadsAndOneOfWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, _ := newTestAPI(t, Options{Authenticate: named, Rates: Rates{Reads: 3, Writes: 1}})
		sent := func(method, name string) *httptest.ResponseRecorder {
			return send(api, method, "/jobCollections/nothing", "", "Name: "+name)
		}
		count := func(method, name string) (passed int) {
			for range 100 {
				if sent(method, name).Code != 429 {
					passed++
				}
			}
			return passed
		}
		if reads, writes := count("GET", "a"), count("DELETE", "a"); reads != 30 || writes != 10 {
			t.Errorf("at once: %d reads and %d writes passed, want 30 and 10", reads, writes)
		}
		if reads := count("HEAD", "b"); reads != 30 {
			t.Errorf("another principal: %d reads passed, want 30", reads)
		}
		got := sent("DELETE", "a")
		if got.Code != 429 || problemCode(t, got) != "too_many" || got.Header().Get("Retry-After") != "1" {
			t.Errorf("got %d, Retry-After %q: %s; want 429, 1, too_many", got.Code, got.Header().Get("Retry-After"), got.Body)
		}
		time.Sleep(2 * time.Second)
		if reads, writes := count("GET", "a"), count("DELETE", "a"); reads != 6 || writes != 2 {
			t.Errorf("two seconds later: %d reads and %d writes passed, want 6 and 2", reads, writes)
		}
	})
}

func TestLoopbackAndNegativeRatesAreUnlimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, options := range map[string]Options{
			"loopback": {Authenticate: Loopback(), Rates: Rates{Reads: 1, Writes: 1}},
			"negative": {Authenticate: named, Rates: Rates{Reads: -1, Writes: -1}},
		} {
			api, _ := newTestAPI(t, options)
			for range 1000 {
				for _, method := range []string{"GET", "DELETE"} {
					r := httptest.NewRequest(method, "/jobCollections/nothing", nil)
					r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost"
					if got := serve(api, r); got.Code == 429 {
						t.Fatalf("%s: %s is refused: %s", name, method, got.Body)
					}
				}
			}
		}
	})
}

func TestLimitersAreForgottenWhenTheyAreFullAgain(t *testing.T) {
	l := newLimiters(1)
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 3 * maxLimiters {
		l.take(fmt.Sprint(i), at)
	}
	if len(l.of) > maxLimiters {
		t.Errorf("%d limiters after %d principals, want at most %d", len(l.of), 3*maxLimiters, maxLimiters)
	}
	if wait := l.take("one more", at); wait == 0 {
		t.Error("principals beyond the bound have separate limiters, or no limiter: want one that they share")
	}
	for range 10 {
		l.take("0", at)
	}
	at = at.Add(time.Second)
	l.take("later", at)
	if len(l.of) != 2 || l.of["0"] == nil {
		t.Errorf("a second later there are %d limiters, want 2: the used one, and the new one", len(l.of))
	}
}
