package main

import (
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
)

const serveUsage = `chimed serves job collections and jobs over HTTP, places what is due and sends its requests.

  chimed [serve] [flags]      serves; without flags a first try in memory, for programs of this machine
  chimed import FILE…         puts what was exported from Azure Scheduler
  chimed token NAME           makes a token for -tokens
  chimed rekey [flags]        seals all secrets with the first of the keys
  chimed version              prints the version

Flags of serve, each of which may be a variable too, -public-url as CHIMED_PUBLIC_URL:

  -listen ADDR          host and port; 127.0.0.1:8080
  -public-url URL       how clients reach it: what links begin with; what each request names
  -redis URL            redis://host:6379/0, rediss:// with TLS; one with a password as CHIMED_REDIS only.
                        None: a store in this process, which forgets everything at exit
  -namespace NAME       begins the names of all keys; chime
  -queues LIST          the queues, each with its weight: default=1. The first is that of collections that name none
  -concurrency N        how many jobs run at once; ten for each processor
  -roles LIST           which of api,scheduler,worker,dashboard this process has; api,scheduler,worker, which are all
                        needed without -redis. The dashboard is at /dashboard/
  -dashboard-write      the dashboard changes what its viewers have the right to; else it only shows
  -tokens FILE          who may do what, lines of chimed token; read again on SIGHUP. None: all for programs of this machine
  -tls-cert FILE        the certificate in PEM, with its chain; read again on SIGHUP
  -tls-key FILE         its key
  -plaintext            without TLS though others can reach it: behind a proxy that has TLS
  -secret-keys FILE     the keys that secrets are stored with, "k2:<base64 of 32 bytes>,k1:…": the first seals, all open.
                        CHIMED_SECRET_KEYS has the keys themselves. None: jobs with secrets are refused
  -allow-net LIST       addresses, prefixes and ports that requests may go to though they are not public:
                        10.1.0.0/16,127.0.0.1:9000
  -deny-net LIST        those that they may not go to, whatever -allow-net has
  -proxy URL            the proxy that requests go through; one with a password as CHIMED_PROXY only
  -log FORM             text or json, to standard error; text

/livez and /readyz say how it is. SIGTERM ends it: requests have 10 s, running jobs 25 s, none is lost.
`

// serveFlags are those of serve, in the order of its usage text.
var serveFlags = []string{
	"listen", "public-url", "redis", "namespace", "queues", "concurrency", "roles", "dashboard-write", "tokens", "tls-cert", "tls-key", "plaintext", "secret-keys",
	"allow-net", "deny-net", "proxy", "log",
}

// What chime takes as names.
var (
	queueName     = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,100}$`)
	namespaceName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
)

// The roles that a process may have.
const (
	roleAPI       = "api"
	roleScheduler = "scheduler"
	roleWorker    = "worker"
	roleDashboard = "dashboard"
)

var roles = []string{roleAPI, roleScheduler, roleWorker, roleDashboard}

// settings are what a chimed is started with.
type settings struct {
	listen, publicURL, redis, namespace, queues, roles, tokens, tlsCert, tlsKey, secretKeys, allowNet, denyNet, proxy, log string
	concurrency                                                                                                            int
	plaintext, dashboardWrite                                                                                              bool

	// What validate makes of them.
	client  *redis.Options // nil: in memory
	names   []string       // of the queues, in the order of the flag
	weights map[string]int
	has     []string // the roles
	egress  action.Egress
	ring    *action.Ring
}

func (s *settings) declareStore(f *flags) {
	f.StringVar(&s.redis, "redis", "", "")
	f.StringVar(&s.namespace, "namespace", "", "")
	f.StringVar(&s.secretKeys, "secret-keys", "", "")
	f.StringVar(&s.log, "log", "text", "")
}

func (s *settings) declare(f *flags) {
	s.declareStore(f)
	f.StringVar(&s.listen, "listen", "127.0.0.1:8080", "")
	f.StringVar(&s.publicURL, "public-url", "", "")
	f.StringVar(&s.queues, "queues", "default=1", "")
	f.IntVar(&s.concurrency, "concurrency", 0, "")
	f.StringVar(&s.roles, "roles", "api,scheduler,worker", "")
	f.BoolVar(&s.dashboardWrite, "dashboard-write", false, "")
	f.StringVar(&s.tokens, "tokens", "", "")
	f.StringVar(&s.tlsCert, "tls-cert", "", "")
	f.StringVar(&s.tlsKey, "tls-key", "", "")
	f.BoolVar(&s.plaintext, "plaintext", false, "")
	f.StringVar(&s.allowNet, "allow-net", "", "")
	f.StringVar(&s.denyNet, "deny-net", "", "")
	f.StringVar(&s.proxy, "proxy", "", "")
}

// serveSettings reads and checks the settings of serve. The error has all that is wrong.
func (p process) serveSettings() (*settings, error) {
	var s settings
	f := newFlags("serve")
	s.declare(f)
	rest, err := f.parse(p, serveUsage, serveFlags...)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, badUsage("serve has flags only, and here is %.40q", rest[0])
	}
	err = errors.Join(s.readRedis(f), s.checkNamespace(), s.readRoles(), s.readQueues(), s.readEgress(f), s.readRing(f), s.checkAccess(), s.checkPublicURL(), s.checkLog())
	if s.concurrency < 0 {
		err = errors.Join(err, errors.New("-concurrency: want a positive number, or 0 for ten for each processor"))
	}
	if err != nil {
		return nil, usageError{err}
	}
	return &s, nil
}

// hasRole reports whether the process has a role.
func (s *settings) hasRole(role string) bool { return slices.Contains(s.has, role) }

// exposed says that a flag has a secret, which every user of the machine could read in the list of processes.
func exposed(name string) error {
	return fmt.Errorf("-%s: it has a password, which a flag shows to every user of this machine: put it in %s", name, variable(name))
}

func (s *settings) readRedis(f *flags) error {
	if s.redis == "" {
		return nil
	}
	// The error of a URL has the URL with its password.
	if at, err := url.Parse(s.redis); err != nil {
		return errors.New("-redis: want a URL as redis://localhost:6379/0")
	} else if _, secret := at.User.Password(); secret && !f.environment["redis"] {
		return exposed("redis")
	} else if at.Query().Has("skip_verify") {
		return errors.New("-redis: skip_verify is not taken: the server's certificate is always checked, and SSL_CERT_FILE names the authority of your own")
	}
	options, err := redis.ParseURL(s.redis)
	if err != nil {
		return errors.New("-redis: want a URL as redis://localhost:6379/0, rediss:// with TLS or unix:// with a path")
	}
	options.ContextTimeoutEnabled = true
	s.client = options
	return nil
}

func (s *settings) readRoles() error {
	s.has = list(s.roles)
	for _, role := range s.has {
		if !slices.Contains(roles, role) {
			return fmt.Errorf("-roles: there is no role %.40q: want some of %s", role, strings.Join(roles, ","))
		}
	}
	if len(s.has) == 0 {
		return fmt.Errorf("-roles: want some of %s", strings.Join(roles, ","))
	}
	if s.redis == "" && !(s.hasRole(roleAPI) && s.hasRole(roleScheduler) && s.hasRole(roleWorker)) {
		return errors.New("-roles: without -redis nobody else can have the other roles: want api, scheduler and worker, or -redis")
	}
	return nil
}

func (s *settings) readQueues() error {
	s.weights = map[string]int{}
	for _, part := range list(s.queues) {
		name, number, weighted := strings.Cut(part, "=")
		weight, err := 1, error(nil)
		if weighted {
			weight, err = strconv.Atoi(number)
		}
		if err != nil || weight < 1 || name == "" {
			return fmt.Errorf("-queues: %.80q: want name=weight, as default=1", part)
		}
		if !queueName.MatchString(name) {
			return fmt.Errorf("-queues: %.80q: want 1 to 100 of A-Z a-z 0-9 _ . : -", name)
		}
		if _, twice := s.weights[name]; twice {
			return fmt.Errorf("-queues: %s is there twice", name)
		}
		s.names, s.weights[name] = append(s.names, name), weight
	}
	if len(s.names) == 0 {
		return errors.New("-queues: want at least one, as default=1")
	}
	return nil
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
			bad = append(bad, errors.New("-proxy: want a URL as http://proxy:3128"))
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
		file, err := os.ReadFile(s.secretKeys)
		if err != nil {
			if _, wrong := action.ParseRing(s.secretKeys); wrong == nil {
				return errors.New("-secret-keys: these are keys, which a flag shows to every user of this machine: want a file that has them, or CHIMED_SECRET_KEYS. Take new ones")
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

// withoutPath is the cause of an error of a file alone: what was given as its name may be a key.
func withoutPath(err error) error {
	var wrong *os.PathError
	if errors.As(err, &wrong) {
		return fmt.Errorf("the file cannot be read: %w", wrong.Err)
	}
	return err
}

// checkAccess refuses what would let strangers in, or let them read along.
func (s *settings) checkAccess() error {
	var bad []error
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return fmt.Errorf("-listen: %.80q: want host:port, as 127.0.0.1:8080", s.listen)
	}
	if (s.tlsCert == "") != (s.tlsKey == "") {
		bad = append(bad, errors.New("-tls-cert and -tls-key: want both or none"))
	}
	if s.dashboardWrite && !s.hasRole(roleDashboard) {
		bad = append(bad, errors.New("-dashboard-write: there is no dashboard: want it among -roles"))
	}
	if !loopback(host) && (s.hasRole(roleAPI) || s.hasRole(roleDashboard)) {
		if s.tokens == "" {
			bad = append(bad, fmt.Errorf("-listen %s: others can reach it, so it needs -tokens FILE; chimed token NAME makes one", s.listen))
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
		return errors.New("-public-url: want an absolute http or https URL without user, query and fragment, as https://jobs.example.com")
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
