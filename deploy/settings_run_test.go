//go:build real && linux

package deploy_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// started starts chimed with the arguments and variables of a file of this folder. Paths lead into a folder of the test, and the address is of the loopback
// interface.
func started(t testing.TB, arguments, environment []string, paths ...string) *running {
	t.Helper()
	command := exec.Command(program, arguments...)
	for i, argument := range command.Args[1:] {
		command.Args[i+1] = strings.NewReplacer(paths...).Replace(argument)
	}
	command.Env = append(environment, "CHIMED_LISTEN=127.0.0.1:0")
	return start(t, command)
}

// Without CHIMED_REDIS the store is in the process.
func TestChimedStartsWithTheArgumentsOfEachFile(t *testing.T) {
	token, line := tokenOf(t, "you")
	folder := t.TempDir()
	write(t, folder+"/tokens", line)
	write(t, folder+"/secret-keys", ring)
	m := readManifest(t)
	for name, c := range map[string]struct {
		arguments []string
		paths     []string
	}{
		"Kubernetes": {m.container().Args, []string{m.container().VolumeMounts[0].MountPath, folder}},
		"compose":    {composeProject(t).Services["chimed"].Command, []string{"/run/secrets", folder}},
		"systemd":    {execStart(t)[1:], []string{"%d", folder, "/etc/chimed", folder}},
	} {
		chimed := started(t, c.arguments, nil, c.paths...)
		url := chimed.await(t)
		if status, body := ask(t, "GET", url+"/jobCollections", token, ""); status != http.StatusOK {
			t.Errorf("%s: got %d %s", name, status, body)
		}
		if code := chimed.stop(t); code != 0 {
			t.Errorf("%s: exit %d, want 0", name, code)
		}
	}
}

// setup.sh creates secrets with which the services of the compose file work together: Redis with its password and its append-only file, chimed with tokens and
// keys, and the token of Prometheus.
func TestSetupCreatesTheSecretsOfTheComposeFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "compose")
	if err := os.CopyFS(folder, os.DirFS("compose")); err != nil {
		t.Fatal(err)
	}
	setup := func() (string, error) {
		command := exec.Command("sh", filepath.Join(folder, "setup.sh"))
		command.Env = append(os.Environ(), "CHIMED="+program)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	printed, err := setup()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	token := regexp.MustCompile(`export TOKEN=(\S+)`).FindStringSubmatch(printed)
	if token == nil {
		t.Fatalf("setup.sh prints no token:\n%s", printed)
	}
	for path, want := range map[string]os.FileMode{".env": 0o600, "secrets": 0o750 | os.ModeDir, "secrets/tokens": 0o640, "secrets/secret-keys": 0o640, "secrets/prometheus-token": 0o640} {
		if info, err := os.Stat(filepath.Join(folder, path)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want mode %v", path, info, err, want)
		}
	}
	if text, err := setup(); err == nil || !strings.Contains(text, ".env exists") {
		t.Errorf("the second time: %v, %s; want a refusal", err, text)
	}

	environment := map[string]string{}
	for line := range strings.Lines(readFile(t, filepath.Join(folder, ".env"))) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		environment[name] = value
	}
	project := readCompose(t, folder, environment)
	server, data := composeRedis(t, project.Services["redis"].Command, folder, environment)

	chimed := project.Services["chimed"]
	var variables []string
	for name, value := range chimed.Environment {
		variables = append(variables, name+"="+strings.Replace(*value, "redis:6379", server, 1))
	}
	process := started(t, chimed.Command, variables, "/run/secrets", folder+"/secrets")
	url := process.await(t)
	for {
		if status, _ := ask(t, "GET", url+"/readyz", "", ""); status == http.StatusOK {
			break
		}
		select {
		case <-process.ended:
			t.Fatal("chimed has ended")
		default:
		}
	}
	if status, body := ask(t, "PUT", url+"/jobCollections/demo", token[1], "{}"); status != http.StatusCreated {
		t.Errorf("with the token of setup.sh: got %d %s", status, body)
	}
	scrape := strings.TrimSpace(readFile(t, filepath.Join(folder, "secrets/prometheus-token")))
	status, metrics := ask(t, "GET", url+"/metrics", scrape, "")
	if status != http.StatusOK || !strings.Contains(metrics, "chime_worker_slots") {
		t.Errorf("with the token of Prometheus: got %d %.200s", status, metrics)
	}
	promtool(t, metrics, "check", "metrics")
	job := `{"action": {"type": "https", "request": {"uri": "https://example.com/"}}}`
	if status, body := ask(t, "PUT", url+"/jobCollections/demo/jobs/report", scrape, job); status != http.StatusForbidden {
		t.Errorf("the token of Prometheus may write: got %d %s", status, body)
	}
	if code := process.stop(t); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	if files, err := filepath.Glob(data + "/appendonlydir/*.aof"); err != nil || len(files) == 0 {
		t.Errorf("Redis has written no append-only file: %v", err)
	}
}

// composeRedis starts Redis with the command and the configuration of the compose file, and returns its address and its folder.
func composeRedis(t testing.TB, command []string, folder string, environment map[string]string) (address, data string) {
	t.Helper()
	data, port := t.TempDir(), freePort(t)
	config := strings.Replace(readFile(t, filepath.Join(folder, "redis.conf")), "dir /data", "dir "+data, 1) + "bind 127.0.0.1\nport " + port + "\n"
	file := write(t, filepath.Join(data, "redis.conf"), config)
	arguments := make([]string, len(command))
	for i, argument := range command {
		arguments[i] = strings.ReplaceAll(argument, "/etc/redis.conf", file)
	}
	shell := exec.Command(arguments[0], arguments[1:]...)
	shell.Env = append(os.Environ(), "REDIS_PASSWORD="+environment["REDIS_PASSWORD"])
	shell.Dir = data
	server := start(t, shell)
	address = "127.0.0.1:" + port
	client := redis.NewClient(&redis.Options{Addr: address, Password: environment["REDIS_PASSWORD"]})
	defer client.Close()
	for client.Ping(t.Context()).Err() != nil {
		select {
		case <-server.ended:
			t.Fatalf("Redis has ended:\n%s", server.output())
		default:
			time.Sleep(10 * time.Millisecond) // real time: Redis is starting
		}
	}
	stranger := redis.NewClient(&redis.Options{Addr: address})
	defer stranger.Close()
	if err := stranger.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without the password: %v, want NOAUTH", err)
	}
	if arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", shell.Process.Pid)); err != nil || strings.Contains(string(arguments), environment["REDIS_PASSWORD"]) {
		t.Errorf("the password is in the arguments %q, %v", arguments, err)
	}
	return address, data
}

// promtool runs the tool from Debian's package prometheus.
func promtool(t testing.TB, stdin string, arguments ...string) {
	t.Helper()
	tool := exec.Command("promtool", arguments...)
	tool.Stdin = strings.NewReader(stdin)
	if out, err := tool.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", arguments, err, out)
	}
}

// promtool also checks that the files of the configuration exist.
func TestPromtoolAcceptsTheConfiguration(t *testing.T) {
	folder := t.TempDir()
	config := readFile(t, "compose/prometheus.yml")
	for path, text := range map[string]string{"/etc/prometheus/alerts.yaml": readFile(t, "../chimeprom/alerts.yaml"), "/run/secrets/prometheus-token": "token"} {
		config = strings.ReplaceAll(config, path, write(t, folder+path, text))
	}
	promtool(t, "", "check", "config", write(t, folder+"/prometheus.yml", config))
}

// systemd-analyze finds unknown settings, and measures how much of the machine the service can reach, from 0 to 10 (exposed).
func TestSystemdAcceptsTheUnit(t *testing.T) {
	unit := readFile(t, "systemd/chimed.service")
	words := execStart(t)
	file := write(t, t.TempDir()+"/chimed.service", strings.Replace(unit, "ExecStart="+words[0], "ExecStart="+program, 1))
	for _, arguments := range [][]string{{"verify", "--man=no", file}, {"security", "--offline=true", "--threshold=15", file}} {
		if out, err := exec.Command("systemd-analyze", arguments...).CombinedOutput(); err != nil || arguments[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %v: %v\n%s", arguments, err, out)
		}
	}
	if !strings.Contains(readFile(t, "README.md"), " "+words[0]+"\n") {
		t.Errorf("README.md does not install %s", words[0])
	}
	stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(\S+)$`).FindStringSubmatch(unit)
	if stop == nil {
		t.Fatal("the unit has no TimeoutStopSec")
	}
	if got, err := time.ParseDuration(stop[1]); err != nil || got < shutdown+5*time.Second {
		t.Errorf("TimeoutStopSec is %v, want more than %v", got, shutdown)
	}
}
