//go:build real && unix

package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/internal/login"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// started is a running chimed, and its URL. It listens on a free port of 127.0.0.1. Its local token is localToken, unless env sets where it is to be found.
func started(t *testing.T, env map[string]string, args ...string) (*childproc.Process, string) {
	t.Helper()
	config := childConfig{Args: append([]string{"serve", "-listen", "127.0.0.1:0"}, args...), Env: map[string]string{login.LocalVariable: localToken}}
	maps.Copy(config.Env, env)
	return startedAs(t, config)
}

func startedAs(t *testing.T, config childConfig) (*childproc.Process, string) {
	t.Helper()
	child := childproc.Start(t, "chimed", config)
	_, after, _ := strings.Cut(child.Await("chimed "), " on ")
	url, _, _ := strings.Cut(after, ",")
	return child, url
}

// ready waits until a chimed is ready, or is no longer ready.
func ready(t *testing.T, url string, want int) {
	t.Helper()
	for {
		if status, _ := ask(t, http.DefaultClient, "GET", url+"/readyz", ""); status == want {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("never")
		}
	}
}

func ended(t *testing.T, child *childproc.Process) {
	t.Helper()
	if state := child.Wait(); state.ExitCode() != 0 {
		t.Errorf("chimed has ended with %v, want exit 0; its output is\n%s\n%s", state, strings.Join(child.Events(), "\n"), child.Stderr())
	}
}

func TestAFirstTryNeedsNoFlags(t *testing.T) {
	sent := make(chan *http.Request, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent <- r }))
	defer receiver.Close()
	child, url := started(t, nil, "-allow-net", receiver.Listener.Addr().String())
	ready(t, url, http.StatusOK)
	if status, body := ask(t, http.DefaultClient, "PUT", url+"/jobCollections/demo", "{}"); status != http.StatusCreated {
		t.Fatalf("create a collection: got %d %s", status, body)
	}
	job := fmt.Sprintf(`{"action": {"type": "http", "request": {"uri": "%s/report", "method": "POST", "secretHeaders": {"X-Key": "canary"}}}}`, receiver.URL)
	if status, body := ask(t, http.DefaultClient, "PUT", url+"/jobCollections/demo/jobs/report", job); status != http.StatusCreated {
		t.Fatalf("create a job: got %d %s", status, body)
	}
	if r := <-sent; r.Method != "POST" || r.URL.Path != "/report" || r.Header.Get("X-Key") != "canary" {
		t.Errorf("the receiver got %s %s, X-Key %q", r.Method, r.URL, r.Header.Get("X-Key"))
	}
	for { // until its end is in the history
		_, body := ask(t, http.DefaultClient, "GET", url+"/jobCollections/demo/jobs/report/history", "")
		if strings.Contains(body, `"status":"Completed"`) {
			break
		}
	}
	child.Signal(syscall.SIGTERM)
	ended(t, child)
	output := strings.Join(child.Events(), "\n")
	for _, want := range []string{"forgets everything at exit", `export TOKEN="$CHIMED_LOCAL_TOKEN"`, `curl -H "Authorization: Bearer $TOKEN" -X PUT --json '{}' ` + url + `/jobCollections/demo`} {
		if !strings.Contains(output, want) {
			t.Errorf("chimed did not print %q, but\n%s", want, output)
		}
	}
	if strings.Contains(output, "canary") || strings.Contains(output, localToken) {
		t.Errorf("chimed printed a secret:\n%s", output)
	}
}

// A file that takes weeks to open is answered with an error, and costs two seconds.
func TestAPFXThatTakesWeeksIsABadRequest(t *testing.T) {
	leaf, private := newCertificate(t, 1)
	file, err := pkcs12.Legacy.WithIterations(2048).Encode(private, leaf, nil, "canary")
	if err != nil {
		t.Fatal(err)
	}
	child, url := started(t, nil)
	ask(t, http.DefaultClient, "PUT", url+"/jobCollections/demo", "{}")
	for _, c := range []struct {
		name, want string
		file       []byte
		status     int
	}{
		{"good", `"certificateSubjectName":"CN=test"`, file, http.StatusCreated},
		{"endless", `"code":"pfx"`, endless(t, file), http.StatusBadRequest},
	} {
		job, _ := json.Marshal(map[string]any{"state": "disabled", "action": map[string]any{"type": "https", "request": map[string]any{
			"uri": "https://example.com/", "authentication": map[string]any{"type": "ClientCertificate", "pfx": c.file, "password": "canary"},
		}}})
		status, body := ask(t, http.DefaultClient, "PUT", url+"/jobCollections/demo/jobs/"+c.name, string(job))
		for status != c.status && strings.Contains(body, "within the time limit") { // a busy machine may start the child slowly
			status, body = ask(t, http.DefaultClient, "PUT", url+"/jobCollections/demo/jobs/"+c.name, string(job))
		}
		if status != c.status || !strings.Contains(body, c.want) || strings.Contains(body, "canary") {
			t.Errorf("%s: got %d %s, want %d and %s", c.name, status, body, c.status, c.want)
		}
	}
	child.Signal(syscall.SIGTERM)
	ended(t, child)
}

// A request that is open when the signal comes is answered; a later one is refused; a running job ends normally.
func TestSIGTERMLosesNoRequestAndNoJob(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(begun); <-release }))
	defer receiver.Close()
	child, url := started(t, nil, "-allow-net", receiver.Listener.Addr().String())
	ask(t, http.DefaultClient, "PUT", url+"/jobCollections/demo", "{}")
	if status, body := ask(t, http.DefaultClient, "PUT", url+"/jobCollections/demo/jobs/slow", fmt.Sprintf(`{"action": {"type": "http", "request": {"uri": %q}}}`, receiver.URL)); status != http.StatusCreated {
		t.Fatalf("create a job: got %d %s", status, body)
	}
	<-begun

	const clients = 8
	address := strings.TrimPrefix(url, "http://")
	body := `{"state": "disabled", "action": {"type": "https", "request": {"uri": "https://example.com/"}}, "recurrence": {"frequency": "day"}}`
	var load sync.WaitGroup
	held := make([]net.Conn, clients)
	for i := range held {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		held[i] = conn
		fmt.Fprintf(conn, "PUT /jobCollections/demo/jobs/held-%d HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer "+localToken+"\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", i, address, len(body))
		if line, err := bufio.NewReader(io.LimitReader(conn, 25)).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
			t.Fatalf("client %d: got %q, %v; want 100 Continue", i, line, err)
		}
	}
	for i := range clients { // others continue until nobody answers
		load.Go(func() {
			for n := 0; ; n++ {
				request, _ := http.NewRequest("PUT", fmt.Sprintf("%s/jobCollections/demo/jobs/load-%d-%d", url, i, n%20), strings.NewReader(body))
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("Authorization", "Bearer "+localToken)
				answer, err := http.DefaultClient.Do(request)
				if err != nil {
					return // refused: the port is closed
				}
				if _, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode > http.StatusCreated {
					t.Errorf("under load: got %s, %v", answer.Status, err)
				}
				answer.Body.Close()
			}
		})
	}
	child.Signal(syscall.SIGTERM)
	child.Await(`msg="chimed: stops`)
	load.Wait()
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("a new client is accepted while chimed stops")
	}
	for i, conn := range held {
		io.WriteString(conn, body)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusCreated {
			t.Errorf("open request %d: got %v, %v; want 201", i, answer, err)
			continue
		}
		if _, err := io.ReadAll(answer.Body); err != nil {
			t.Errorf("request %d: the answer is cut off: %v", i, err)
		}
	}
	child.Await(`msg="chime: worker takes no more jobs`)
	close(release)
	child.Await(`msg="chime: worker has stopped" event=drain.ended`)
	ended(t, child)
	if output := strings.Join(child.Events(), "\n"); !strings.Contains(output, " done=1 ") {
		t.Errorf("the running job did not end normally:\n%s", output)
	}
}

func TestSIGHUPReadsTokensAgain(t *testing.T) {
	first, firstLine, _ := httpapi.NewToken("first", httpapi.Admin)
	second, secondLine, _ := httpapi.NewToken("second", httpapi.Admin)
	tokens := written(t, "tokens", firstLine)
	child, url := started(t, nil, "-tokens", tokens)
	check := func(when string, want ...int) {
		t.Helper()
		for i, token := range []string{first, second} {
			if status, _ := ask(t, http.DefaultClient, "GET", url+"/jobCollections", "", "Authorization", "Bearer "+token); status != want[i] {
				t.Errorf("%s: token %d: got %d, want %d", when, i+1, status, want[i])
			}
		}
	}
	check("at first", 200, 401)
	if status, _ := ask(t, http.DefaultClient, "GET", url+"/jobCollections", ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: got %d, want 401", status)
	}
	for _, file := range []struct {
		when, text, says string
		want             []int
	}{
		{"another token", secondLine, `msg="chimed: has read`, []int{401, 200}},
		{"a broken file", "second", `msg="chimed: could not read a file again`, []int{401, 200}},
		{"both tokens", firstLine + "\n" + secondLine, `msg="chimed: has read`, []int{200, 200}},
	} {
		if err := os.WriteFile(tokens, []byte(file.text), 0o600); err != nil {
			t.Fatal(err)
		}
		child.Signal(syscall.SIGHUP)
		child.Await(file.says)
		check(file.when, file.want...)
	}
	child.Signal(syscall.SIGTERM)
	ended(t, child)
}

func TestSIGHUPReadsTheCertificateAgain(t *testing.T) {
	cert, key := written(t, "cert", ""), written(t, "key", "")
	roots := x509.NewCertPool()
	renew := func(serial int64) {
		t.Helper()
		leaf, private := newCertificate(t, serial)
		roots.AddCert(leaf)
		certificate, secret := pemOf(t, leaf, private)
		for path, text := range map[string]string{cert: certificate, key: secret} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	renew(1)
	child, url := started(t, nil, "-tls-cert", cert, "-tls-key", key)
	check := func(want int64) {
		t.Helper()
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{RootCAs: roots, ServerName: "localhost"})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got := conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got != want {
			t.Errorf("got certificate %d, want %d", got, want)
		}
	}
	check(1)
	renew(2)
	child.Signal(syscall.SIGHUP)
	child.Await(`msg="chimed: has read`)
	check(2)
	child.Signal(syscall.SIGTERM)
	ended(t, child)
}

func TestAChimedWithoutItsRedisIsAliveAndNotReady(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	child, url := started(t, map[string]string{"CHIMED_REDIS": "redis://:canary@" + closed.Addr().String()})
	if status, body := ask(t, http.DefaultClient, "GET", url+"/livez", ""); status != http.StatusOK {
		t.Errorf("/livez: got %d %s, want 200", status, body)
	}
	if status, body := ask(t, http.DefaultClient, "GET", url+"/readyz", ""); status != http.StatusServiceUnavailable || body != "not ready: the store does not answer\n" {
		t.Errorf("/readyz: got %d %s, want 503", status, body)
	}
	child.Signal(syscall.SIGTERM)
	ended(t, child)
	if output := strings.Join(child.Events(), "\n"); strings.Contains(output, "canary") {
		t.Errorf("chimed printed the password of Redis:\n%s", output)
	}
}

// Three processes with one role each are one service. After rekey the first key is not needed any more.
func TestRolesShareARedisAndRekeySealsAnew(t *testing.T) {
	const (
		old = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
		new = "k2:HxAAAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0="
	)
	sent := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent <- r.Header.Get("X-Key") }))
	defer receiver.Close()
	store, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	env := func(keys string) map[string]string {
		return map[string]string{"CHIMED_REDIS": store.URL(), "CHIMED_SECRET_KEYS": keys, "CHIMED_NAMESPACE": "test"}
	}
	api, url := started(t, env(old), "-roles", "api", "-allow-net", receiver.Listener.Addr().String())
	scheduler, schedulerURL := started(t, env(""), "-roles", "scheduler")
	if status, _ := ask(t, http.DefaultClient, "GET", schedulerURL+"/jobCollections", ""); status != http.StatusNotFound {
		t.Errorf("a scheduler's /jobCollections: got %d, want 404", status)
	}
	ready(t, schedulerURL, http.StatusOK)
	ask(t, http.DefaultClient, "PUT", url+"/jobCollections/demo", "{}")
	job, _ := json.Marshal(map[string]any{"state": "disabled", "action": map[string]any{"type": "http", "request": map[string]any{"uri": receiver.URL, "secretHeaders": map[string]string{"X-Key": "sealed"}}}})
	if status, body := ask(t, http.DefaultClient, "PUT", url+"/jobCollections/demo/jobs/a", string(job)); status != http.StatusCreated {
		t.Fatalf("create a job: got %d %s", status, body)
	}
	for i, want := range []string{"sealed again: 1 jobs\n", "sealed again: 0 jobs\n"} {
		got := command(t, []string{"rekey"}, "CHIMED_REDIS", store.URL(), "CHIMED_NAMESPACE", "test", "CHIMED_SECRET_KEYS", new+","+old)
		if got.code != 0 || got.out != want {
			t.Errorf("rekey %d: got exit %d, %q, %s; want %q", i+1, got.code, got.out, got.err, want)
		}
	}
	worker, workerURL := started(t, env(new), "-roles", "worker", "-allow-net", receiver.Listener.Addr().String())
	ready(t, workerURL, http.StatusOK)
	if status, body := ask(t, http.DefaultClient, "POST", url+"/jobCollections/demo/jobs/a/run", ""); status != http.StatusOK {
		t.Fatalf("run the job: got %d %s", status, body)
	}
	if got := <-sent; got != "sealed" {
		t.Errorf("the receiver got %q, want the secret that was sealed with the old key", got)
	}
	keys, err := store.Client().Keys(t.Context(), "*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("got keys %q, %v", keys, err)
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, "test:") {
			t.Errorf("key %s is outside the namespace test", key)
		}
	}
	for _, child := range []*childproc.Process{worker, scheduler, api} {
		child.Signal(syscall.SIGTERM)
		ended(t, child)
	}
}
