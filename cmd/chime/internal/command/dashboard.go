package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/login"
)

// The limits of one connection. Streams of open pages set their own deadlines.
const (
	headerTimeout  = 5 * time.Second
	requestTimeout = 15 * time.Second // to read a request, and to write its answer
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
	shutdownLimit  = 5 * time.Second
)

// A pageServer has the flags of chime dashboard.
type pageServer struct {
	listen   string
	write    bool
	authFile string
	open     bool

	environment string
	color       string
	also        []string
}

func (s *session) dashboard() *cobra.Command {
	var p pageServer
	c := &cobra.Command{
		Use: "dashboard", Short: "Serve the dashboard to browsers", GroupID: groupStore, Args: cobra.NoArgs,
		Long: "dashboard serves pages that show schedules, jobs, queues and workers, and stay up to date while they are open. They change nothing,\n" +
			"unless --write is given. Without it, a Redis user that can only read is enough.\n\n" +
			"A browser asks for a name and a password. Without --auth-file there is one user, local, for browsers of this machine only. Its\n" +
			"password is a token that is new at each start, or is in " + login.LocalVariable + "; it gives every right. A terminal shows it; otherwise it\n" +
			"is in a file whose name is logged. --open needs no password: it gives the browser a file that leads there. With --auth-file the\n" +
			"users and their tokens are those in the file: chime dashboard token makes them. Tokens are sent unencrypted, so put a proxy with\n" +
			"TLS in front of a dashboard that others can reach.\n\n" +
			"Each change is logged to standard error with its user. Ctrl-C stops the dashboard.",
		Example: "  chime dashboard --open\n  chime dashboard token anna --rights view,operate\n  chime dashboard --listen 0.0.0.0:7080 --auth-file /etc/chime/people --write",
		RunE: func(c *cobra.Command, _ []string) error {
			if output.Format(s.format) != output.Table {
				return usage("--output %s: dashboard serves pages; chime queues list -o %[1]s prints", s.format)
			}
			return s.servePages(c.Context(), p)
		},
	}
	c.Flags().StringVar(&p.listen, "listen", "127.0.0.1:7080", "`host:port` to serve on")
	c.Flags().BoolVar(&p.write, "write", false, "allow viewers to change what they have the right to change; --read-only wins")
	c.Flags().StringVar(&p.authFile, "auth-file", "", "`file` with the users who may see it: lines of chime dashboard token")
	c.Flags().BoolVar(&p.open, "open", false, "open it in the browser")
	c.Flags().StringVar(&p.environment, "environment", "", "the `name` of the system, as production, at the top of each page")
	c.Flags().StringVar(&p.color, "color", "", "the `color` of its name: red, orange, green, blue, violet or grey")
	c.Flags().StringSliceVar(&p.also, "also", nil, "other `namespaces` on the same server, which a menu at the top of each page leads to")
	complete(c, "color", "red", "orange", "green", "blue", "violet", "grey")
	c.AddCommand(s.dashboardToken())
	return c
}

// servePages serves the dashboard until ctx ends.
func (s *session) servePages(ctx context.Context, p pageServer) error {
	host, _, err := net.SplitHostPort(p.listen)
	if err != nil {
		return usage("--listen %.80q: want host:port, as 127.0.0.1:7080", p.listen)
	}
	if p.authFile == "" && !onThisMachine(host) {
		return usage("--listen %s: others can reach it, so it needs --auth-file FILE; chime dashboard token NAME makes its lines", p.listen)
	}
	log := slog.New(slog.NewTextHandler(s.Err, nil))
	options := dashboard.Options{Zone: s.location, Authorize: login.Authorize, Write: p.write && !s.readOnly, Logger: log}
	options.Environment = dashboard.Environment{Name: p.environment, Color: dashboard.Color(p.color)}
	if !slices.Contains(strings.Fields("red orange green blue violet grey"), p.color) && p.color != "" {
		return usage("--color %q: want red, orange, green, blue, violet or grey", p.color)
	}
	if options.Zone == time.Local {
		options.Zone = time.UTC
	}
	door, err := p.newDoor(s, log)
	if err != nil {
		return err
	}
	defer door.close()
	store, err := s.store()
	if err != nil {
		return err
	}
	if err := s.answers(ctx, store); err != nil {
		return err
	}
	pages, err := s.newDashboards(store, options, p.also)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", p.listen)
	if err != nil {
		return exit(exitFailed, "--listen: %w", err)
	}
	at := &url.URL{Scheme: "http", Host: reachable(listener.Addr()), Path: "/"}
	hint, toOpen, err := door.announce(s, listener.Addr(), at, p.open)
	if err != nil {
		_ = listener.Close() // the other error matters
		return exit(exitFailed, "%w", err)
	}
	server := newPageServer(door.before(at, pages))
	server.RegisterOnShutdown(pages.Close)
	_, _ = fmt.Fprintf(s.Out, "%s shows %s, %s; Ctrl-C ends it\n%s", at, s.opened.Address, p.said(options.Write), hint)
	if p.authFile != "" && !onThisMachine(host) {
		_, _ = fmt.Fprintln(s.Err, "chime: tokens are sent unencrypted: put a proxy with TLS in front of it")
	}
	if p.open {
		if err := s.Open(toOpen); err != nil {
			_, _ = fmt.Fprintf(s.Err, "chime: --open: %v\n", err)
		}
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	return serve(ctx, server, listener)
}

// answers returns an error if the store does not answer. At the start this usually means a wrong address; later outages are shown on the pages.
func (s *session) answers(ctx context.Context, store chime.Store) error {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	_, err := chime.NewSchedules(store).Leader(ctx)
	return err
}

// said describes what viewers may do.
func (p *pageServer) said(write bool) string {
	who := "to those with its token"
	if p.authFile != "" {
		who = "to those in " + p.authFile
	}
	if !write {
		return "read-only, " + who
	}
	return "and changes it, " + who
}

// newPageServer returns a server with limits for slow, large and idle requests.
func newPageServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // errors that foreign clients cause
	}
}

// serve serves until ctx ends, and then returns nil: this is the normal end.
func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		_ = server.Close() // clients that have not received their response by now do not read it
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// onThisMachine reports whether a listening host can be reached only from this machine.
func onThisMachine(host string) bool {
	at, err := netip.ParseAddr(host)
	return err == nil && at.Unmap().IsLoopback() || host == "localhost"
}

// reachable returns the address for browsers on this machine.
func reachable(at net.Addr) string {
	host, port, _ := net.SplitHostPort(at.String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
