package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// What the handlers of the page call, for either library.
var sentInvoices = struct {
	sync.Mutex
	orders []int
	some   chan struct{} // capacity 10: an invoice was sent
}{some: make(chan struct{}, 10)}

func sendInvoice(_ context.Context, order int) error {
	sentInvoices.Lock()
	defer sentInvoices.Unlock()
	sentInvoices.orders = append(sentInvoices.orders, order)
	sentInvoices.some <- struct{}{}
	return nil
}

func importFile(_ context.Context, file string) (rows int, err error) { return len(file), nil }

// All Go that the page shows is that of from_asynq_test.go, and each of its functions is on the page and runs.
func TestThePageOnAsynqShowsCodeThatRuns(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page, source := read("../docs/from-asynq.md"), read("from_asynq_test.go")
	all := source + read("from_asynq_run_test.go")
	blocks := strings.Split(page, "\n```go\n")[1:]
	for _, block := range blocks {
		code, _, ended := strings.Cut(block, "```")
		if !ended || !strings.Contains(source, "\n"+code) {
			t.Errorf("docs/from-asynq.md shows what from_asynq_test.go does not have:\n%s", code)
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "from_asynq_test.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	functions := 0
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok {
			functions++
			if !strings.Contains(page, "\nfunc "+f.Name.Name+"(") {
				t.Errorf("docs/from-asynq.md does not show %s", f.Name.Name)
			}
			if len(regexp.MustCompile(`\b`+f.Name.Name+`\b`).FindAllString(all, 2)) < 2 {
				t.Errorf("nothing runs %s", f.Name.Name)
			}
		}
	}
	if functions == 0 || len(blocks) == 0 {
		t.Errorf("%d functions, %d pieces of code: this test reads them wrongly", functions, len(blocks))
	}
}

func TestTheTasksOfThePageRunWithAsynq(t *testing.T) {
	redis, err := startRedis(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.stop)
	connection := asynq.RedisClientOpt{Addr: redis.addr}
	client, inspector := asynq.NewClient(connection), asynq.NewInspector(connection)
	t.Cleanup(func() { _, _ = client.Close(), inspector.Close() })
	if err := asynqEnqueueInvoice(client, 17); err != nil {
		t.Fatal(err)
	}
	id, err := asynqEnqueueImport(client, "a.csv")
	if err != nil || id == "" {
		t.Fatalf("import: %q, %v", id, err)
	}
	if again, err := asynqEnqueueImport(client, "a.csv"); err != nil || again != "" {
		t.Errorf("the same import again: %q, %v", again, err)
	}
	server, err := asynqServe(connection)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	<-sentInvoices.some
	for { // asynq has nothing to wait with: it is asked until it is done, and each question waits for the server
		rows, done, err := asynqImported(inspector, id)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			if rows != 5 {
				t.Errorf("%d rows, want 5", rows)
			}
			break
		}
	}
	scheduler, err := asynqSchedule(connection)
	if err != nil {
		t.Fatal(err)
	}
	if err := scheduler.Start(); err != nil {
		t.Fatal(err)
	}
	scheduler.Shutdown()
}

func TestTheTasksOfThePageRunWithChime(t *testing.T) {
	sentInvoices.Lock()
	sentInvoices.orders = nil
	sentInvoices.Unlock()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, jobs := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), chime.NewJobs(c.Store())
		if err := enqueueInvoice(t.Context(), enqueuer, 17); err != nil {
			t.Fatal(err)
		}
		id, err := enqueueImport(t.Context(), enqueuer, "a.csv")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := enqueueImport(t.Context(), enqueuer, "a.csv"); err != nil || again != id {
			t.Errorf("the same import again: %q, %v, want %q", again, err, id)
		}
		worker := serve(c.Store())
		worker.Handle("report:daily", func(context.Context, *chime.Job) error { return nil })
		scheduler, err := schedule(c.Store())
		if err != nil {
			t.Fatal(err)
		}
		c.Start(worker, scheduler)
		if rows, err := imported(t.Context(), jobs, id); rows != 5 || err != nil {
			t.Errorf("imported: %d, %v", rows, err)
		}
		var names []string
		for _, run := range c.Advance(24 * time.Hour) { // from Wednesday to Thursday: a report on Thursday
			names = append(names, run.Name)
		}
		if slices.Sort(names); fmt.Sprint(names) != "[import:file invoice:send report:daily]" {
			t.Errorf("run: %v", names)
		}
	})
	<-sentInvoices.some
	sentInvoices.Lock()
	defer sentInvoices.Unlock()
	if fmt.Sprint(sentInvoices.orders) != "[17]" {
		t.Errorf("sent: %v", sentInvoices.orders)
	}
}
