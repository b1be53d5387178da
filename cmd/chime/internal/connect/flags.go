// Package connect opens the store of a command: one server, Sentinel or Cluster, from flags and the environment.
package connect

import (
	"cmp"
	"time"

	"github.com/spf13/pflag"
)

// Flags name the store, and how to connect to it.
type Flags struct {
	Redis         string // redis, rediss or unix URL; empty: REDIS_URL, or the server on this machine
	Cluster       bool
	Master        string   // the name of the master in Sentinel
	Sentinels     []string // host:port
	Namespace     string
	User          string
	PasswordFile  string // the password is not a flag: other users can see flags
	TLS           bool
	TLSCA         string
	TLSCert       string
	TLSKey        string
	TLSServerName string
	Keys          string        // the file with the ring that opens and seals; empty: nothing is sealed
	Timeout       time.Duration // of each call to the store
}

// Declare adds the flags. env is the environment.
func (f *Flags) Declare(flags *pflag.FlagSet, env func(string) string) {
	flags.StringVar(&f.Redis, "redis", "", "`URL` of the server: redis://, rediss:// (TLS) or unix:// (default $REDIS_URL, else redis://127.0.0.1:6379/0)")
	flags.BoolVar(&f.Cluster, "cluster", false, "the server is one of a cluster")
	flags.StringVar(&f.Master, "sentinel-master", "", "`name` of the master that the sentinels watch")
	flags.StringSliceVar(&f.Sentinels, "sentinel", nil, "`host:port` of a sentinel; repeat it, or separate with commas")
	flags.StringVar(&f.Namespace, "namespace", cmp.Or(env("CHIME_NAMESPACE"), "chime"), "the prefix of the `names` of all keys; $CHIME_NAMESPACE")
	flags.StringVar(&f.User, "user", "", "`name` of the ACL user, instead of the one in the URL")
	flags.StringVar(&f.PasswordFile, "password-file", "", "`file` with the password, because all users of a machine can see arguments")
	flags.StringVar(&f.TLSCA, "tls-ca", "", "`file` with the CA certificate that verifies the server's certificate; PEM")
	flags.StringVar(&f.TLSCert, "tls-cert", "", "`file` with the client's certificate; PEM")
	flags.StringVar(&f.TLSKey, "tls-key", "", "`file` with its key; PEM")
	flags.StringVar(&f.TLSServerName, "tls-server-name", "", "`name` in the server's certificate, if it is not the host name")
	flags.StringVar(&f.Keys, "keys", env("CHIME_KEYS"), "`file` with the keys that open and seal what programs have sealed, see chime keys; $CHIME_KEYS")
	flags.DurationVar(&f.Timeout, "timeout", 10*time.Second, "how long an answer may take, 100ms to 10m")
}
