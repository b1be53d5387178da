package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/redisstore/embedded"
)

var update = flag.Bool("update", false, "write the answers that the guide shows")

const guide = "../docs/http-api.md"

// A sample is a command of the guide, and the answer that follows it; empty: the guide shows no answer.
var sample = regexp.MustCompile("(?s)```sh\n(curl .*?)\n```\n(?:\n```json\n(.*?)```\n)?")

// wait is a condition in the guide before the next command: a history has a number of entries.
var wait = regexp.MustCompile(`<!-- until (\S+) has (\d+) entries -->`)

// tokenHeader is in every command: the server demands a token.
const tokenHeader = `-H "Authorization: Bearer $TOKEN"`

// refused marks a command that the guide shows as refused. All other commands succeed.
const refused = "<!-- refused -->"

// The commands of the guide run in their order. Each answer equals the guide's, except times, IDs and measurements.
func TestTheGuidesCommandsAnswerAsItShows(t *testing.T) {
	t.Parallel() // it waits for the retry that the guide shows
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		if r.URL.Path == "/broken" {
			http.Error(w, "out of paper", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(receiver.Close)
	on := startGuide(t, receiver.Listener.Addr().String())

	page := string(text)
	var out strings.Builder
	rest, commands := page, 0
	for {
		at := sample.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		for _, w := range wait.FindAllStringSubmatch(rest[:at[0]], -1) {
			on.awaitEntries(w[1], w[2])
		}
		command := rest[at[2]:at[3]]
		if !strings.Contains(command, tokenHeader) {
			t.Errorf("%s\nhas no token: want %s", command, tokenHeader)
		}
		got, status := on.curl(command)
		commands++
		if want := strings.Contains(rest[:at[0]], refused); want != (status >= 400) {
			t.Errorf("%s\nanswers %d; refused in the guide: %v", command, status, want)
		}
		out.WriteString(rest[:at[0]])
		out.WriteString("```sh\n" + command + "\n```\n")
		if at[4] >= 0 {
			out.WriteString("\n```json\n" + got + "```\n")
			if want := rest[at[4]:at[5]]; !*update && steady(got) != steady(want) {
				t.Errorf("%s\nanswers\n%s\nthe guide shows\n%s", command, got, want)
			}
		}
		rest = rest[at[1]:]
	}
	out.WriteString(rest)
	if commands < 15 {
		t.Errorf("the guide has %d commands", commands)
	}
	if *update {
		if err := os.WriteFile(guide, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// changing matches the parts of an answer that are different in each run.
var changing = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T[\d:.]+Z|#dead-\d+|#[\w-]{14}|revision \d+|"durationMs": \d+|/\d{10,}"|"fence": \d+|Content-Length: \d+`)

func steady(text string) string { return changing.ReplaceAllString(text, "…") }

// A guideRun is a server that runs as in the guide.
type guideRun struct {
	t         *testing.T
	addresses *strings.Replacer // of the guide to those of this run, and the token
	shown     *strings.Replacer
}

func startGuide(t *testing.T, receiver string) *guideRun {
	t.Helper()
	token, own := serveDocs(t, receiver, func(store chime.Store) chime.Role {
		return chime.NewScheduler(store, chime.SchedulerOptions{Logger: quiet()})
	})
	return &guideRun{t,
		strings.NewReplacer("localhost:8080", own, "127.0.0.1:9000", receiver, "$TOKEN", token),
		strings.NewReplacer(own, "localhost:8080", receiver, "127.0.0.1:9000"),
	}
}

// serveDocs starts the server of a page, with a worker that sends requests to the receiver, and one more role of the store. It returns a token for
// it, and its address.
func serveDocs(t *testing.T, receiver string, more func(chime.Store) chime.Role) (token, own string) {
	t.Helper()
	redis := embedded.StartInMemory()
	t.Cleanup(func() { _ = redis.Close() })
	store := redis.Store()
	allowed, err := action.ParseNet(receiver)
	if err != nil {
		t.Fatal(err)
	}
	token, line, err := httpapi.NewToken("local", httpapi.Admin)
	if err != nil {
		t.Fatal(err)
	}
	who, err := httpapi.Tokens(line)
	if err != nil {
		t.Fatal(err)
	}
	api := httpapi.New(store, httpapi.Options{Authenticate: who, Logger: quiet(), Egress: action.Egress{AllowNets: []action.Net{allowed}}})
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet()})
	api.Register(worker)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := api.Server()
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, more(store), worker, api) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return token, listener.Addr().String()
}

// curl sends the command's request. It returns the answer's body in the guide's form, and the status.
func (g *guideRun) curl(command string) (shown string, status int) {
	g.t.Helper()
	words := shellWords(g.addresses.Replace(command))
	method, target, body, header := "GET", "", "", http.Header{}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-X":
			i++
			method = words[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Set(name, value)
		case "--json":
			i++
			body = words[i]
			header.Set("Content-Type", "application/json")
			header.Set("Accept", "application/json")
		case "-d":
			i++
			body = words[i]
			header.Set("Content-Type", "application/x-www-form-urlencoded")
		default:
			target = words[i]
		}
	}
	if method == "GET" && body != "" {
		method = "POST"
	}
	request, err := http.NewRequestWithContext(g.t.Context(), method, "http://"+target, strings.NewReader(body))
	if err != nil {
		g.t.Fatalf("%s: %v", command, err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		g.t.Fatalf("%s: %v", command, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		g.t.Fatalf("%s: %v", command, err)
	}
	if len(text) == 0 {
		return "", response.StatusCode
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		g.t.Fatalf("%s: %v: %s", command, err, text)
	}
	return g.shown.Replace(indented.String()), response.StatusCode
}

// awaitEntries waits until a job's history has a number of entries.
func (g *guideRun) awaitEntries(job, count string) {
	g.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		answer, _ := g.curl(`curl -H "Authorization: Bearer $TOKEN" localhost:8080/jobCollections/demo/jobs/` + job + "/history")
		if strconv.Itoa(strings.Count(answer, `"actionName"`)) == count {
			return
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("the history of %s does not have %s entries after 2 minutes: %s", job, count, answer)
		}
		time.Sleep(50 * time.Millisecond) // polls a server, because no event reports the entries
	}
}

// shellWords splits a command like a shell, with '…', "…" and \ at the end of a line.
func shellWords(command string) []string {
	var words []string
	for rest := strings.ReplaceAll(command, "\\\n", " "); ; {
		rest = strings.TrimLeft(rest, " \n")
		if rest == "" {
			return words
		}
		var word strings.Builder
		for rest != "" && rest[0] != ' ' && rest[0] != '\n' {
			if quote := rest[:1]; quote == "'" || quote == `"` {
				inside, after, _ := strings.Cut(rest[1:], quote)
				word.WriteString(inside)
				rest = after
				continue
			}
			word.WriteByte(rest[0])
			rest = rest[1:]
		}
		words = append(words, word.String())
	}
}
