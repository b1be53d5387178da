package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// The page about tasks shows the program from here.

type letter struct {
	To string `json:"to"`
}

var sendMail = chime.Define[letter]("mail.send", chime.MaxAttempts(3), chime.Timeout(time.Minute))

func mailWorker(store chime.Store) *chime.Worker {
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 1}})
	sendMail.Handle(worker, func(_ context.Context, job *chime.Job, l letter) error {
		// Send the letter here.
		return job.Return(map[string]string{"sentTo": l.To, "tenant": job.Header["tenant"]})
	})
	return worker
}

// The program of the page ends here.

const tasksPage = "../docs/tasks.md"

var (
	taskSample   = regexp.MustCompile("(?s)```sh\n(curl .*?)\n```\n(?:\n```json\n(.*?)```\n)?")
	taskChanging = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T[\d:.]+Z`)
)

// The commands of the page run in their order, with a token. Each answer equals the page's, except times.
func TestThePageOfTasksAnswersAsItShows(t *testing.T) {
	t.Parallel() // it waits for its tasks
	text, err := os.ReadFile(tasksPage)
	if err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = nil }))
	t.Cleanup(receiver.Close)
	token, own := serveDocs(t, receiver.Listener.Addr().String(), func(store chime.Store) chime.Role { return mailWorker(store) })
	toHere := strings.NewReplacer("localhost:8080", own, "127.0.0.1:9000", receiver.Listener.Addr().String(), "$TOKEN", token)
	toPage := strings.NewReplacer(own, "localhost:8080", receiver.Listener.Addr().String(), "127.0.0.1:9000")
	page := string(text)
	var out strings.Builder
	rest, commands := page, 0
	for {
		at := taskSample.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		commands++
		command := rest[at[2]:at[3]]
		got, status := curlTask(t, toHere.Replace(command))
		got = toPage.Replace(got)
		if want := strings.Contains(rest[:at[0]], "<!-- refused -->"); want != (status >= 400) {
			t.Errorf("%s\nanswers %d; refused on the page: %v\n%s", command, status, want, got)
		}
		out.WriteString(rest[:at[0]] + "```sh\n" + command + "\n```\n")
		if at[4] >= 0 {
			out.WriteString("\n```json\n" + got + "```\n")
			steady := func(text string) string { return taskChanging.ReplaceAllString(text, "…") }
			if want := rest[at[4]:at[5]]; !*update && steady(got) != steady(want) {
				t.Errorf("%s\nanswers\n%s\nthe page shows\n%s", command, got, want)
			}
		}
		rest = rest[at[1]:]
	}
	out.WriteString(rest)
	if commands < 9 {
		t.Errorf("the page has %d commands", commands)
	}
	if *update {
		if err := os.WriteFile(tasksPage, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// taskWord is a word of a command: in single quotes, in double quotes, or plain.
var taskWord = regexp.MustCompile(`(?s)'([^']*)'|"([^"]*)"|([^\s'"]+)`)

// curlTask sends the request of a command. It returns the answer's body, indented, and the status.
func curlTask(t *testing.T, command string) (shown string, status int) {
	t.Helper()
	method, target, body, header := "", "", "", http.Header{}
	words := taskWord.FindAllStringSubmatch(strings.ReplaceAll(command, "\\\n", " "), -1)
	for i := 1; i < len(words); i++ {
		value := func() string {
			i++
			return words[i][1] + words[i][2] + words[i][3]
		}
		switch words[i][0] {
		case "-X":
			method = value()
		case "-H":
			name, content, _ := strings.Cut(value(), ": ")
			header.Set(name, content)
		case "--json":
			body = value()
			header.Set("Content-Type", "application/json")
			if method == "" {
				method = "POST"
			}
		default:
			i--
			target = value()
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+target, strings.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		t.Fatalf("%s: %v: %s", command, err, text)
	}
	return indented.String(), response.StatusCode
}

func TestTheProgramOfThePageOfTasksIsCompiled(t *testing.T) {
	page, err := os.ReadFile(tasksPage)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("tasks_page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```go\n")
	if shown, _, found := strings.Cut(rest, "```"); !found || !strings.Contains(string(source), shown) {
		t.Errorf("the page shows\n%s\nbut it is not in tasks_page_test.go", shown)
	}
}
