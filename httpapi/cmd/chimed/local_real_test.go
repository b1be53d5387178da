//go:build real && unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chimejobs/chime/internal/childproc"
)

// freeAddress is an unused address of this machine.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// serveProxy runs a program that forwards requests, until the test ends, and waits until it listens on the addresses.
func serveProxy(t *testing.T, addresses []string, name string, args ...string) {
	t.Helper()
	var output strings.Builder
	proxy := exec.Command(name, args...)
	proxy.Stdout, proxy.Stderr = &output, &output
	if err := proxy.Start(); err != nil {
		t.Fatalf("%v: Debian's packages are nginx-light and haproxy", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- proxy.Wait() }()
	t.Cleanup(func() {
		_ = proxy.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	for _, address := range addresses {
		for {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
				break
			}
			select {
			case err := <-ended:
				ended <- err
				t.Fatalf("%s has ended: %v\n%s", name, err, output.String())
			case <-t.Context().Done():
				t.Fatalf("%s does not listen on %s", name, address)
			default:
			}
		}
	}
}

// proxies runs a real nginx, a real HAProxy and a forwarder of connections in front of a chimed, with their defaults. It returns their addresses.
func proxies(t *testing.T, chimed string) map[string]string {
	t.Helper()
	all := map[string]string{"nginx, HTTP/1.0 upstream": freeAddress(t), "nginx, HTTP/1.1 upstream": freeAddress(t), "HAProxy": freeAddress(t)}
	folder := t.TempDir()
	config := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s;\n", kind, filepath.Join(folder, kind))
	}
	nginx := config("nginx.conf", fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr; worker_processes 1; events {}
http { access_log off; %[2]s
server { listen %[3]s; location / { proxy_pass http://%[5]s; } }
server { listen %[4]s; location / { proxy_pass http://%[5]s; proxy_http_version 1.1; proxy_set_header Connection ""; } } }
`, folder, temporary, all["nginx, HTTP/1.0 upstream"], all["nginx, HTTP/1.1 upstream"], chimed))
	haproxy := config("haproxy.cfg", fmt.Sprintf("defaults\n mode http\n timeout connect 60s\n timeout client 60s\n timeout server 60s\nlisten all\n bind %s\n server chimed %s\n", all["HAProxy"], chimed))
	program := "nginx"
	if found, err := exec.LookPath("/usr/sbin/nginx"); err == nil { // it may not be in the path of a user
		program = found
	}
	serveProxy(t, []string{all["nginx, HTTP/1.0 upstream"], all["nginx, HTTP/1.1 upstream"]}, program, "-e", "stderr", "-c", nginx)
	program = "haproxy"
	if found, err := exec.LookPath("/usr/sbin/haproxy"); err == nil {
		program = found
	}
	serveProxy(t, []string{all["HAProxy"]}, program, "-f", haproxy)
	all["a port-forward"] = forward(t, chimed)
	return all
}

// forward passes connections to an address on, like ssh -L, until the test ends. It returns its own address.
func forward(t *testing.T, to string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			for from, into := range map[net.Conn]net.Conn{client: server, server: client} {
				go func() {
					_, _ = io.Copy(into, from)
					into.Close()
				}()
			}
		}
	}()
	return listener.Addr().String()
}

// The clients of proxies with their defaults look like this machine. Without the token they get nothing, and with it they get everything.
func TestAProxyOfThisMachineIsNotThisMachine(t *testing.T) {
	_, url := started(t, nil, "-roles", withDashboardRole, "-dashboard-write")
	ready(t, url, http.StatusOK)
	routes := proxies(t, strings.TrimPrefix(url, "http://"))
	routes["no proxy"] = strings.TrimPrefix(url, "http://")
	requests := []struct{ method, path, body, kind string }{
		{"PUT", "/jobCollections/owned", "{}", "application/json"},
		{"GET", "/jobCollections", "", ""},
		{"GET", "/", "", ""},
		{"GET", "/dashboard/", "", ""},
		{"GET", "/dashboard/schedules", "", ""},
		{"POST", "/dashboard/schedules/new", "do=put&tab=json&name=owned&json=%7B%22rule%22%3A%7B%22frequency%22%3A%22day%22%7D%2C%22job_name%22%3A%22any%22%7D", "application/x-www-form-urlencoded"},
	}
	send := func(address, method, path, body, kind, host, authorization string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		if kind != "" {
			request.Header.Set("Content-Type", kind)
		}
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatalf("%s %s of %s, host %q: %v", method, path, address, host, err)
		}
		defer answer.Body.Close()
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode
	}
	for name, address := range routes {
		for _, r := range requests {
			for _, host := range []string{"", "localhost", "jobs.example"} {
				wrong := []string{"", "Bearer " + localToken[:46] + "B", "Basic bG9jYWw6"}
				if strings.HasPrefix(r.path, "/dashboard") {
					wrong = wrong[:1] // the login answers many wrong tokens of one address with 429, and a proxy is one address
				}
				for _, authorization := range wrong {
					if got := send(address, r.method, r.path, r.body, r.kind, host, authorization); got != http.StatusUnauthorized {
						t.Errorf("%s, host %q, %q: %s %s: got %d, want 401", name, host, authorization, r.method, r.path, got)
					}
				}
			}
		}
		for _, open := range []string{"/livez", "/readyz", "/openapi.json", "/openapi.yaml"} {
			if got := send(address, "GET", open, "", "", "", ""); got != http.StatusOK {
				t.Errorf("%s: %s without a token: got %d, want 200", name, open, got)
			}
		}
		for _, path := range []string{"/jobCollections", "/dashboard/schedules"} {
			if got := send(address, "GET", path, "", "", "", "Bearer "+localToken); got != http.StatusOK {
				t.Errorf("%s: %s with the token: got %d, want 200", name, path, got)
			}
		}
		if got := send(address, "PUT", "/jobCollections/allowed", "{}", "application/json", "", "Bearer "+localToken); got/100 != 2 {
			t.Errorf("%s: a collection with the token: got %d, want 200 or 201", name, got)
		}
		passes := !strings.HasPrefix(name, "nginx") // nginx replaces the host
		if got := send(address, "GET", "/jobCollections", "", "", "jobs.example", "Bearer "+localToken); (got == http.StatusForbidden) != passes {
			t.Errorf("%s: another host with the token: got %d, want 403: %v", name, got, passes)
		}
	}
	if _, list := ask(t, http.DefaultClient, "GET", url+"/jobCollections", ""); strings.Contains(list, "owned") {
		t.Errorf("a proxy's client has created a collection: %s", list)
	}
	for authorization, want := range map[string]string{"": "401", "Authorization: Bearer " + localToken + "\r\n": "200"} { // load balancers check with HTTP/1.0
		conn, err := net.Dial("tcp", routes["no proxy"])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /jobCollections HTTP/1.0\r\nHost: localhost\r\n%s\r\n", authorization)
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.0 "+want) {
			t.Errorf("HTTP/1.0 with %d bytes of a token: got %q, %v, want %s", len(authorization), line, err, want)
		}
		conn.Close()
	}
}

// The token is on the terminal, or in a file of each process. A crash leaves the file, and the next start on that address replaces it.
func TestALocalTokenIsForTheUserWhoStartedChimed(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"XDG_RUNTIME_DIR": folder}
	read := func() map[string]string { // the token in each file
		t.Helper()
		found, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has the mode %v, %v", path, info.Mode(), err)
			}
			all[path] = strings.TrimSpace(string(text))
		}
		return all
	}
	status := func(url, token string) int {
		t.Helper()
		got, _ := ask(t, http.DefaultClient, "GET", url+"/jobCollections", "", "Authorization", "Bearer "+token)
		return got
	}

	onTerminal, url := startedAs(t, childConfig{Args: []string{"-listen", "127.0.0.1:0"}, Env: env, Terminal: true})
	token := strings.TrimPrefix(strings.TrimSpace(onTerminal.Await("  export TOKEN=")), "export TOKEN=")
	if got := status(url, token); got != http.StatusOK || len(read()) > 0 {
		t.Errorf("the token of the terminal: got %d and the files %v, want 200 and none", got, read())
	}

	address := freeAddress(t)
	crashed, url := startedAs(t, childConfig{Args: []string{"-listen", address}, Env: env})
	path := filepath.Join(folder, "chimed-"+strings.ReplaceAll(address, ":", "-")+".token")
	crashed.Await("  export TOKEN=")
	first := read()
	if len(first) != 1 || status(url, first[path]) != http.StatusOK || status(url, token) != http.StatusUnauthorized {
		t.Fatalf("got the files %v, want %s with a token of its own", first, path)
	}
	output := strings.Join(crashed.Events(), "\n") + crashed.Stderr()
	for _, want := range []string{`export TOKEN="$(cat '` + path + `')"`, `msg="chimed: its local token is in a file that only its user can read" event=server.token path=` + path} {
		if strings.Contains(output, "chm_") || !strings.Contains(output, want) {
			t.Errorf("the output has the token, or not %q:\n%s", want, output)
		}
	}
	crashed.Kill()
	if left := read(); !maps.Equal(left, first) {
		t.Errorf("after a crash: got %v, want %v", left, first)
	}

	again := childproc.Start(t, "chimed", childConfig{Args: []string{"-listen", address, "-roles", withDashboardRole, "-log", "json"}, Env: env}) // it prints no banner
	again.Await(`{"time"`)                                                                                                                        // its first line comes when it listens
	base := "http://" + address
	ready(t, base, http.StatusOK)
	second := read()
	if len(second) != 1 || second[path] == first[path] || status(base, second[path]) != http.StatusOK || status(base, first[path]) != http.StatusUnauthorized {
		t.Errorf("the next start: got %v after %v, want a new token in the same file", second, first)
	}
	if output = strings.Join(again.Events(), "\n") + again.Stderr(); strings.Contains(output, "chm_") || !strings.Contains(output, `"event":"server.token","path":"`+path+`"`) {
		t.Errorf("with -log json the output has the token, or not its file:\n%s", output)
	}
	beside, _ := startedAs(t, childConfig{Args: []string{"-listen", "127.0.0.1:0"}, Env: env})
	if all := read(); len(all) != 2 {
		t.Errorf("two processes have %v, want a file each", all)
	}
	for _, child := range []*childproc.Process{again, beside, onTerminal} {
		child.Signal(syscall.SIGTERM)
		ended(t, child)
	}
	if all := read(); len(all) > 0 {
		t.Errorf("after the end there are %v, want no files", all)
	}
}
