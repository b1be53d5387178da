// Import reads a CSV file of 20,000 payments, and runs a job for each line. The jobs are a batch, so a summary is added when all of them are done.
// In the middle of the import the program kills its worker, a process of its own, and starts another one.
//
//	go run ./examples/import          # with a Redis inside the process, which loses its data at exit
//	REDIS_URL=redis://localhost:6379/0 go run ./examples/import
//	go run ./examples/import -lines 1000000
//
// batch.go has the jobs, file.go makes and reads the file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func main() {
	lines := flag.Int("lines", 20_000, "lines of the file, 1 to 1,000,000")
	worker := flag.String("worker", "", "run as a worker with the Redis at this URL")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *worker != "" {
		err = work(ctx, *worker, os.Stdout)
	} else {
		err = run(ctx, *lines, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "import:", err)
		os.Exit(1)
	}
}

// run imports a file with two workers, one after the other.
func run(ctx context.Context, lines int, out io.Writer) error {
	url, closeServer, err := server(out)
	if err != nil {
		return err
	}
	defer closeServer()
	client, err := connect(url)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	file, sum, err := newFile(lines)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file) }()

	first, err := startWorker(url, out)
	if err != nil {
		return err
	}
	defer first.kill()
	store := newStore(client)
	batches, jobs := chime.NewBatches(store), chime.NewJobs(store)
	began := time.Now()
	batch, err := importFile(ctx, chime.NewEnqueuer(store, chime.EnqueuerOptions{}), file)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "batch %s: %d lines enqueued\n", batch.ID, batch.Items)

	for ctx.Err() == nil {
		info, err := batches.Get(ctx, batch.ID)
		if err != nil {
			return err
		}
		if info.Done >= int64(lines)/4 {
			fmt.Fprintf(out, "more than %d lines are done, and the first worker is killed\n", lines/4)
			break
		}
		pause(ctx, 20*time.Millisecond)
	}
	first.kill()
	second, err := startWorker(url, out)
	if err != nil {
		return err
	}
	defer second.kill()
	fmt.Fprintln(out, "a second worker continues")

	info, err := batches.Wait(ctx, batch.ID)
	if err != nil {
		return err
	}
	var total summary
	err = chime.ErrNotFound
	for errors.Is(err, chime.ErrNotFound) { // a worker brings the summary to its queue a moment after the batch is done
		pause(ctx, 20*time.Millisecond)
		err = jobs.Wait(ctx, queue, batch.ID+"#done", &total)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "batch %s is %s: %d of %d jobs done, %d dead\n", info.ID, info.State, info.Done, info.Total, info.Dead)
	fmt.Fprintf(os.Stderr, "it took %v\n", time.Since(began).Round(time.Millisecond))
	if total.Lines != lines || total.Cents != sum {
		return fmt.Errorf("the summary has %d lines and %d cents, the file has %d and %d", total.Lines, total.Cents, lines, sum)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// work runs the jobs until ctx ends.
func work(ctx context.Context, url string, out io.Writer) error {
	client, err := connect(url)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	errorsOnly := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	return chime.Run(ctx, newWorker(newStore(client), payments{client}, out, errorsOnly))
}

// A process is a worker that runs as a process of its own.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
}

func startWorker(url string, out io.Writer) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(program, "-worker", url), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // it is killed
	}()
	return p, nil
}

// kill ends the process at once, as a crash does, and waits until it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

const namespace = "chime-import"

func newStore(client *redis.Client) *redisstore.Store {
	return redisstore.New(client, redisstore.Options{Namespace: namespace})
}

func connect(url string) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL must be written like redis://localhost:6379/0: %w", err)
	}
	return redis.NewClient(options), nil
}

// server returns the URL of the Redis to use: REDIS_URL, or one inside the process.
func server(out io.Writer) (url string, closeServer func(), err error) {
	if url := os.Getenv("REDIS_URL"); url != "" {
		fmt.Fprintf(out, "chime on the Redis of REDIS_URL, keys %s:*\n", namespace)
		return url, func() {}, nil
	}
	server, err := embedded.Start()
	if err != nil {
		return "", nil, errors.Join(errors.New("no Redis inside the process"), err)
	}
	fmt.Fprintln(out, "chime on a Redis inside this process (set REDIS_URL to use your own)")
	return server.URL(), func() { _ = server.Close() }, nil
}
