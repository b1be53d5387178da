package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/internal/login"
)

const serveUsage = `chimed serves job collections and jobs over HTTP, schedules their runs and sends their requests.

  chimed [serve] [flags]      serves; without flags in memory and with a token for this machine, for a first try
  chimed import FILE…         imports an export of Azure Scheduler
  chimed token NAME           creates a token for -tokens
  chimed rekey [flags]        seals all secrets with the first key
  chimed health [flags]       exits with 0 if the chimed of this machine is alive
  chimed version              prints the version

Flags of serve. Each one is an environment variable too: -public-url is CHIMED_PUBLIC_URL. A LIST may be given several times.

  -listen ADDR          host and port; default 127.0.0.1:8080
  -public-url URL       the URL for clients, the beginning of all links; default: scheme and host of each request
  -redis URL            redis://host:6379/0, rediss:// with TLS; with a password in CHIMED_REDIS only.
                        Without it the store is in this process, without a port, and forgets everything at exit
  -namespace NAME       prefix of all keys; default chime
  -queues LIST          the queues with their weights; default default=1. Collections without a queue use the first.
                        NAME=WEIGHT:N gives a queue N slots of its own, which no other queue can take
  -concurrency N        maximum number of jobs of the other queues at the same time; default 256
  -roles LIST           roles of this process: api,scheduler,worker,dashboard; default api,scheduler,worker, which are all
                        needed without -redis. The dashboard is at /dashboard/
  -dashboard-write      the dashboard allows changes, by the rights of its viewers; else it is read-only
  -tokens FILE          the lines of chimed token; read again on SIGHUP. Without it there is one token with all rights, named
                        local, for this machine and until the end of chimed. A terminal shows it; otherwise it is in a file
                        whose name is logged. CHIMED_LOCAL_TOKEN sets it
  -tls-cert FILE        the certificate in PEM, with its chain; read again on SIGHUP
  -tls-key FILE         its key
  -plaintext            allows other machines without TLS: for use behind a proxy with TLS
  -secret-keys FILE     the keys for stored secrets, "k2:<base64 of 32 bytes>,k1:…": the first seals, all open.
                        CHIMED_SECRET_KEYS contains the keys themselves. Without keys, jobs with secrets are refused
  -sealed N             the oldest form of stored secrets that is opened, 1 or 2; default 1, and 2 in a later release.
                        Set 2 when chimed rekey has exited with 0: form 2 opens only in the action that it was given in
  -allow-net LIST       addresses, prefixes and ports that requests may go to in addition to public ones:
                        10.1.0.0/16,127.0.0.1:9000
  -deny-net LIST        addresses that requests may not go to, even with -allow-net
  -proxy URL            the proxy for requests; with a password in CHIMED_PROXY only
  -log FORM             text or json, to standard error; default text

/livez and /readyz report its health, and /metrics has metrics for Prometheus, for tokens that may read all collections.
On SIGTERM open requests have 10 s and running jobs 25 s to end; no job is lost.
`

// serveFlags are the flags of serve, in the order of its usage text.
var serveFlags = []string{
	"listen", "public-url", "redis", "namespace", "queues", "concurrency", "roles", "dashboard-write", "tokens", "tls-cert", "tls-key", "plaintext", "secret-keys", "sealed",
	"allow-net", "deny-net", "proxy", "log",
}

// The names that chime accepts.
var (
	queueName     = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,100}$`)
	namespaceName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
)

// The roles of a process.
const (
	roleAPI       = "api"
	roleScheduler = "scheduler"
	roleWorker    = "worker"
	roleDashboard = "dashboard"
)

var roles = []string{roleAPI, roleScheduler, roleWorker, roleDashboard}

// settings are the configuration of a chimed.
type settings struct {
	listen, publicURL, redis, namespace, queues, roles, tokens, tlsCert, tlsKey, secretKeys, allowNet, denyNet, proxy, log string
	concurrency, sealed                                                                                                    int
	plaintext, dashboardWrite                                                                                              bool

	// The results of validate.
	client  *redis.Options // nil: in memory
	names   []string       // names of the queues, in the order of the flag
	weights map[string]int
	own     map[string]int // queues with slots of their own
	has     []string       // the roles
	egress  action.Egress
	ring    *action.Ring
	local   *login.Local // nil: there is a file of tokens, or nothing to serve
}

func (s *settings) declareStore(f *flags) {
	f.StringVar(&s.redis, "redis", "", "")
	f.StringVar(&s.namespace, "namespace", "", "")
	f.StringVar(&s.secretKeys, "secret-keys", "", "")
	f.IntVar(&s.sealed, "sealed", 1, "")
	f.StringVar(&s.log, "log", "text", "")
}

func (s *settings) declare(f *flags) {
	s.declareStore(f)
	f.StringVar(&s.listen, "listen", "127.0.0.1:8080", "")
	f.StringVar(&s.publicURL, "public-url", "", "")
	f.listVar(&s.queues, "queues", "default=1")
	f.IntVar(&s.concurrency, "concurrency", defaultConcurrency, "")
	f.listVar(&s.roles, "roles", "api,scheduler,worker")
	f.BoolVar(&s.dashboardWrite, "dashboard-write", false, "")
	f.StringVar(&s.tokens, "tokens", "", "")
	f.StringVar(&s.tlsCert, "tls-cert", "", "")
	f.StringVar(&s.tlsKey, "tls-key", "", "")
	f.BoolVar(&s.plaintext, "plaintext", false, "")
	f.listVar(&s.allowNet, "allow-net", "")
	f.listVar(&s.denyNet, "deny-net", "")
	f.StringVar(&s.proxy, "proxy", "", "")
}

// serveSettings reads and checks the settings of serve. The error lists all mistakes.
func (p process) serveSettings() (*settings, error) {
	var s settings
	f := newFlags("serve")
	s.declare(f)
	rest, err := f.parse(p, serveUsage, serveFlags...)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, badUsage("serve accepts flags only, got %.40q", rest[0])
	}
	err = errors.Join(s.readRedis(f), s.checkNamespace(), s.readRoles(), s.readQueues(), s.readEgress(f), s.readRing(f), s.checkSealed(), s.readLocal(p.env), s.checkAccess(), s.checkPublicURL(), s.checkLog())
	if s.concurrency < 0 {
		err = errors.Join(err, errors.New("-concurrency: want a positive number, or 0 for 256"))
	}
	s.concurrency = cmp.Or(s.concurrency, defaultConcurrency)
	if err != nil {
		return nil, usageError{err}
	}
	return &s, nil
}

// hasRole reports whether the process has a role.
func (s *settings) hasRole(role string) bool { return slices.Contains(s.has, role) }

// exposed is the error of a flag with a secret, which every user of the machine could read in the list of processes.
func exposed(name string) error {
	return fmt.Errorf("-%s: it contains a password, and every user of this machine can read a flag: use %s instead", name, variable(name))
}

func (s *settings) readRedis(f *flags) error {
	if s.redis == "" {
		return nil
	}
	// The error of url.Parse contains the URL with its password.
	if at, err := url.Parse(s.redis); err != nil {
		return errors.New("-redis: want a URL such as redis://localhost:6379/0")
	} else if _, secret := at.User.Password(); secret && !f.environment["redis"] {
		return exposed("redis")
	} else if at.Query().Has("skip_verify") {
		return errors.New("-redis: skip_verify is not supported: the server's certificate is always checked; for your own authority set SSL_CERT_FILE")
	}
	options, err := redis.ParseURL(s.redis)
	if err != nil {
		return errors.New("-redis: want a URL such as redis://localhost:6379/0, rediss:// with TLS or unix:// with a path")
	}
	options.ContextTimeoutEnabled = true
	s.client = options
	return nil
}

func (s *settings) readRoles() error {
	s.has = list(s.roles)
	for _, role := range s.has {
		if !slices.Contains(roles, role) {
			return fmt.Errorf("-roles: there is no role %.40q: want one or more of %s", role, strings.Join(roles, ","))
		}
	}
	if len(s.has) == 0 {
		return fmt.Errorf("-roles: want one or more of %s", strings.Join(roles, ","))
	}
	if s.redis == "" && !(s.hasRole(roleAPI) && s.hasRole(roleScheduler) && s.hasRole(roleWorker)) {
		return errors.New("-roles: without -redis no other process can have the other roles: want api, scheduler and worker, or -redis")
	}
	return nil
}

const (
	defaultConcurrency = 256    // these jobs wait for others' answers, so there are more than a processor could compute
	maxConcurrency     = 10_000 // of one queue
)

func (s *settings) readQueues() error {
	s.weights, s.own = map[string]int{}, map[string]int{}
	for _, part := range list(s.queues) {
		name, number, weighted := strings.Cut(part, "=")
		number, slots, limited := strings.Cut(number, ":")
		weight, n, err := 1, 0, error(nil)
		if weighted {
			weight, err = strconv.Atoi(number)
		}
		if limited && err == nil {
			n, err = strconv.Atoi(slots)
		}
		if err != nil || weight < 1 || limited && (n < 1 || n > maxConcurrency) || name == "" {
			return fmt.Errorf("-queues: %.80q: want name=weight, such as default=1, or name=weight:slots with 1 to %d slots", part, maxConcurrency)
		}
		if !queueName.MatchString(name) {
			return fmt.Errorf("-queues: %.80q: want 1 to 100 of A-Z a-z 0-9 _ . : -", name)
		}
		if slices.Contains(s.names, name) {
			return fmt.Errorf("-queues: %s is given twice", name)
		}
		if s.names = append(s.names, name); limited {
			s.own[name] = n
		} else {
			s.weights[name] = weight
		}
	}
	if len(s.names) == 0 {
		return errors.New("-queues: want at least one, such as default=1")
	}
	return nil
}

// slots is the maximum number of jobs of this process at the same time.
func (s *settings) slots() int {
	sum := 0
	if len(s.weights) > 0 {
		sum = s.concurrency
	}
	for _, n := range s.own {
		sum += n
	}
	return sum
}

func (s *settings) readEgress(f *flags) error {
	var bad []error
	for _, nets := range []struct {
		flag, text string
		into       *[]action.Net
	}{{"allow-net", s.allowNet, &s.egress.AllowNets}, {"deny-net", s.denyNet, &s.egress.DenyNets}} {
		for _, text := range list(nets.text) {
			parsed, err := action.ParseNet(text)
			if err != nil {
				bad = append(bad, fmt.Errorf("-%s: %w", nets.flag, err))
				continue
			}
			*nets.into = append(*nets.into, parsed)
		}
	}
	if s.proxy != "" {
		at, err := url.Parse(s.proxy)
		switch {
		case err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "":
			bad = append(bad, errors.New("-proxy: want a URL such as http://proxy:3128"))
		case at.User != nil && !f.environment["proxy"]:
			bad = append(bad, exposed("proxy"))
		default:
			s.egress.Proxy = at
		}
	}
	return errors.Join(bad...)
}

func (s *settings) readRing(f *flags) error {
	text := s.secretKeys
	if text == "" {
		return nil
	}
	if !f.environment["secret-keys"] {
		file, err := readSecretFile(s.secretKeys)
		if err != nil {
			if _, wrong := action.ParseRing(s.secretKeys); wrong == nil {
				return errors.New("-secret-keys: these are keys, and every user of this machine can read a flag: want a file with the keys, or CHIMED_SECRET_KEYS. Use new keys")
			}
			return fmt.Errorf("-secret-keys: %w", withoutPath(err))
		}
		text = string(file)
	}
	ring, err := action.ParseRing(text)
	if err != nil {
		return fmt.Errorf("-secret-keys: %w", err)
	}
	s.ring = ring
	return nil
}

func (s *settings) checkSealed() error {
	if s.sealed != 1 && s.sealed != 2 {
		return fmt.Errorf("-sealed: got %d, want 1 or 2", s.sealed)
	}
	return nil
}

// withoutPath is the cause of a file error without the path: the given name may be a key.
func withoutPath(err error) error {
	var wrong *os.PathError
	if errors.As(err, &wrong) {
		return fmt.Errorf("the file cannot be read: %w", wrong.Err)
	}
	return err
}

// checkAccess refuses settings that would let strangers in, or let them read the traffic.
func (s *settings) checkAccess() error {
	var bad []error
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return fmt.Errorf("-listen: %.80q: want host:port, such as 127.0.0.1:8080", s.listen)
	}
	if (s.tlsCert == "") != (s.tlsKey == "") {
		bad = append(bad, errors.New("-tls-cert and -tls-key: want both or none"))
	}
	if s.dashboardWrite && !s.hasRole(roleDashboard) {
		bad = append(bad, errors.New("-dashboard-write: there is no dashboard: want it among -roles"))
	}
	if !loopback(host) && (s.hasRole(roleAPI) || s.hasRole(roleDashboard)) {
		if s.tokens == "" {
			bad = append(bad, fmt.Errorf("-listen %s: others can reach it, so it needs -tokens FILE; chimed token NAME creates a token", s.listen))
		}
		if s.tlsCert == "" && !s.plaintext {
			bad = append(bad, fmt.Errorf("-listen %s: others can reach it, so it needs -tls-cert and -tls-key, or -plaintext behind a proxy that has TLS", s.listen))
		}
	}
	return errors.Join(bad...)
}

// loopback reports whether a host to listen on can be reached from this machine only.
func loopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return err == nil && at.Unmap().IsLoopback() || host == "localhost"
}

func (s *settings) checkPublicURL() error {
	at, err := url.Parse(s.publicURL)
	if s.publicURL != "" && (err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "") {
		return errors.New("-public-url: want an absolute http or https URL without user, query and fragment, such as https://jobs.example.com")
	}
	return nil
}

func (s *settings) checkNamespace() error {
	if s.namespace != "" && !namespaceName.MatchString(s.namespace) {
		return fmt.Errorf("-namespace: %.80q: want 1 to 100 of A-Z a-z 0-9 _ . -", s.namespace)
	}
	return nil
}

func (s *settings) checkLog() error {
	if s.log != "text" && s.log != "json" {
		return fmt.Errorf("-log: %.20q: want text or json", s.log)
	}
	return nil
}

func (s *settings) logger(p process) *slog.Logger {
	if s.log == "json" {
		return slog.New(slog.NewJSONHandler(p.err, nil))
	}
	return slog.New(slog.NewTextHandler(p.err, nil))
}
