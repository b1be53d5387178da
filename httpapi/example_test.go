package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The API is mounted below a path of a program with other pages, and uses tokens. In a real program its own server replaces httptest's.
func Example() {
	server, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close() }()

	token, line, err := httpapi.NewToken("me", httpapi.Admin, "demo")
	if err != nil {
		log.Fatal(err)
	}
	tokens, err := httpapi.Tokens(line)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	front := httptest.NewServer(mux)
	defer front.Close()
	api := httpapi.New(server.Store(), httpapi.Options{Authenticate: tokens, PublicURL: front.URL + "/scheduler"})
	mux.Handle("/scheduler/", http.StripPrefix("/scheduler", api))

	scheduler := chime.NewScheduler(server.Store(), chime.SchedulerOptions{})
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{})
	api.Register(worker)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, scheduler, worker, api) }()

	put := func(path, body string) {
		request, err := http.NewRequest(http.MethodPut, front.URL+"/scheduler"+path, strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		fmt.Println(answer.Status, strings.TrimPrefix(answer.Header.Get("Location"), front.URL))
	}
	put("/jobCollections/demo", `{}`)
	put("/jobCollections/demo/jobs/report", `{
		"recurrence": {"frequency": "day", "schedule": {"hours": [5]}},
		"startTime": "2090-01-01T00:00:00Z",
		"action": {"type": "https", "request": {"uri": "https://example.com/report", "method": "POST"}}
	}`)

	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output:
	// 201 Created /scheduler/jobCollections/demo
	// 201 Created /scheduler/jobCollections/demo/jobs/report
}
