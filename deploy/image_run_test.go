//go:build real && linux

package deploy_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A root is a folder with the files of the image and nothing else.
type root struct {
	image    *image
	folder   string
	uid, gid int
}

// newRoot copies the files of the image into an empty folder. The CA certificates are those given.
func newRoot(t testing.TB, certificates []byte) *root {
	t.Helper()
	r := &root{image: readImage(t), folder: t.TempDir()}
	user, group, _ := strings.Cut(r.image.user, ":")
	r.uid, _ = strconv.Atoi(user)
	r.gid, _ = strconv.Atoi(group)
	if r.uid == 0 || r.gid == 0 {
		t.Fatalf("USER %s: want numbers other than 0", r.image.user)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{"chimed": binary, "ca-certificates.crt": certificates}
	for file, path := range r.image.copied {
		if content[file] == nil {
			t.Fatalf("COPY %s: README.md has no command that creates it", file)
		}
		write(t, r.path(path), string(content[file]))
		if err := os.Chmod(r.path(path), 0o555); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(r.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *root) path(path string) string { return filepath.Join(r.folder, path) }

// secret writes a file as Kubernetes mounts one with defaultMode 0440 and fsGroup.
func (r *root) secret(t testing.TB, path, text string) string {
	t.Helper()
	write(t, r.path(path), text)
	if os.Getuid() == 0 {
		if err := os.Chown(r.path(path), 0, r.gid); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// command is a command of the image, as a container runs it: in the root, by the user of the image, with its variables and further ones.
func (r *root) command(command []string, environment ...string) *exec.Cmd {
	made := &exec.Cmd{Path: command[0], Args: command, Env: append(append([]string{}, r.image.environment...), environment...), Dir: "/"}
	made.SysProcAttr = &syscall.SysProcAttr{Chroot: r.folder}
	if os.Getuid() == 0 {
		made.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(r.uid), Gid: uint32(r.gid), NoSetGroups: false}
	} else { // in a namespace of its own a user may change the root
		made.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		made.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: r.uid, HostID: os.Getuid(), Size: 1}}
		made.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: r.gid, HostID: os.Getgid(), Size: 1}}
	}
	return made
}

// The image has no shell, no libc, no zones, no /proc and no /tmp. chimed needs none of them: it verifies a receiver's certificate by the file of the image, has
// zones, and its HEALTHCHECK works.
func TestChimedRunsInARootWithNothingElse(t *testing.T) {
	sent := make(chan *http.Request, 1)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent <- r }))
	defer receiver.Close()
	r := newRoot(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw}))
	token, line := tokenOf(t, "you", "-permission", "admin")
	listen := "CHIMED_LISTEN=127.0.0.1:" + freePort(t)
	check := func() (string, error) {
		out, err := r.command(r.image.healthcheck, listen).CombinedOutput()
		return string(out), err
	}
	if out, err := check(); err == nil || !strings.Contains(out, "connection refused") {
		t.Errorf("HEALTHCHECK before the start: %v, %s; want refused", err, out)
	}
	arguments := []string{
		"-tokens", r.secret(t, "/run/secrets/tokens", line), "-secret-keys", r.secret(t, "/run/secrets/secret-keys", ring),
		"-allow-net", receiver.Listener.Addr().String(), "-roles", "api,scheduler,worker,dashboard", "-log", "json",
	}
	chimed := start(t, r.command(append(r.image.entrypoint, arguments...), listen))
	url := chimed.await(t)
	if status, body := ask(t, "PUT", url+"/jobCollections/demo", token, "{}"); status != http.StatusCreated {
		t.Fatalf("create a collection: got %d %s", status, body)
	}
	job := fmt.Sprintf(`{"action": {"type": "https", "request": {"uri": "%s/report", "secretHeaders": {"X-Key": "canary"}}, "retryPolicy": {"retryType": "none"}}}`, receiver.URL)
	if status, body := ask(t, "PUT", url+"/jobCollections/demo/jobs/report", token, job); status != http.StatusCreated {
		t.Fatalf("create a job: got %d %s", status, body)
	}
	for ended := false; !ended; { // until its end is in the history
		_, history := ask(t, "GET", url+"/jobCollections/demo/jobs/report/history", token, "")
		if strings.Contains(history, `"status":"Failed"`) {
			t.Fatalf("the request has failed: %s", history)
		}
		ended = strings.Contains(history, `"status":"Completed"`)
	}
	if got := <-sent; got.TLS == nil || got.URL.Path != "/report" || got.Header.Get("X-Key") != "canary" {
		t.Errorf("the receiver got %s, TLS %v", got.URL, got.TLS != nil)
	}
	zoned := `{"action": {"type": "https", "request": {"uri": "https://example.com/"}}, "startTime": "2027-03-01T09:00:00", "recurrence": {"frequency": "day", "timeZone": "Europe/Berlin"}}`
	if status, body := ask(t, "POST", url+"/preview?count=1", token, zoned); status != http.StatusOK || !strings.Contains(body, `"2027-03-01T08:00:00Z"`) {
		t.Errorf("a rule in Europe/Berlin: got %d %s", status, body)
	}
	if status, body := ask(t, "GET", url+"/dashboard/", token, ""); status != http.StatusUnauthorized {
		t.Errorf("the dashboard without a login: got %d %.100s", status, body)
	}
	if out, err := check(); err != nil || out != "alive\n" {
		t.Errorf("HEALTHCHECK: %v, %q; want alive", err, out)
	}
	if code := chimed.stop(t); code != 0 {
		t.Errorf("after SIGTERM: exit %d, want 0", code)
	}
	if out, err := check(); err == nil {
		t.Errorf("HEALTHCHECK after the end: %s; want an error", out)
	}
}

// A receiver that the image's certificates do not verify gets no request.
func TestTheImageTrustsItsCertificatesOnly(t *testing.T) {
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request was sent") }))
	receiver.Config.ErrorLog = log.New(io.Discard, "", 0)
	receiver.StartTLS()
	defer receiver.Close()
	r := newRoot(t, []byte("no certificate\n"))
	token, line := tokenOf(t, "you", "-permission", "admin")
	chimed := start(t, r.command(append(r.image.entrypoint, "-tokens", r.secret(t, "/tokens", line), "-allow-net", receiver.Listener.Addr().String(), "-log", "json"),
		"CHIMED_LISTEN=127.0.0.1:0"))
	url := chimed.await(t)
	ask(t, "PUT", url+"/jobCollections/demo", token, "{}")
	job := fmt.Sprintf(`{"action": {"type": "https", "request": {"uri": %q}, "retryPolicy": {"retryType": "none"}}}`, receiver.URL)
	if status, body := ask(t, "PUT", url+"/jobCollections/demo/jobs/report", token, job); status != http.StatusCreated {
		t.Fatalf("create a job: got %d %s", status, body)
	}
	for { // until its end is in the history
		if _, body := ask(t, "GET", url+"/jobCollections/demo/jobs/report/history", token, ""); strings.Contains(body, `"status":"Failed"`) {
			return
		}
	}
}

// Without further settings the image refuses to start: strangers could reach it.
func TestTheImageAloneDoesNotStart(t *testing.T) {
	r := newRoot(t, []byte("no certificate\n"))
	out, err := r.command(r.image.entrypoint).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "needs -tokens FILE") || !strings.Contains(string(out), "needs -tls-cert and -tls-key") {
		t.Errorf("got %v, %s; want a refusal without tokens and TLS", err, out)
	}
}
