package health_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/health"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func Example() {
	server := embedded.StartInMemory()
	defer server.Close()
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: quiet})
	worker.Handle("report", func(context.Context, *chime.Job) error { return nil })

	healthy, err := health.New(health.Options{Store: server.Store(), Roles: []health.Role{worker}})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", healthy.Livez)
	mux.HandleFunc("GET /readyz", healthy.Readyz)

	site := httptest.NewServer(mux)
	defer site.Close()
	for _, path := range []string{"/livez", "/readyz"} {
		answer, err := http.Get(site.URL + path)
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		fmt.Printf("%s %d %s", path, answer.StatusCode, body)
	}
	// Output:
	// /livez 200 alive
	// /readyz 503 not ready: a *chime.Worker does not run
}
