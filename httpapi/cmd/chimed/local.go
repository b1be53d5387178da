package main

import (
	"errors"
	"net/http"
	"os"

	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/internal/login"
	machine "github.com/chimejobs/chime/internal/loopback"
)

// readLocal creates the token of a process that serves requests and has no file of tokens.
func (s *settings) readLocal(env func(name string) string) (err error) {
	if s.tokens == "" && (s.hasRole(roleAPI) || s.hasRole(roleDashboard)) {
		s.local, err = login.NewLocal(env)
	}
	return err
}

// useLocal makes the local token the only one. A process that has neither a local token nor a file of tokens admits nobody.
func (c *credentials) useLocal() {
	who := httpapi.Authenticator(func(*http.Request) (httpapi.Principal, error) {
		return httpapi.Principal{}, errors.New("this process has no tokens")
	})
	if c.local != nil {
		who, _ = httpapi.Tokens(c.local.Line("admin *")) // the line is correct
	}
	c.who.Store(&who)
}

// authenticateLocal admits requests with the local token, without a rate. The headers of a proxy do not matter, because the token is the proof. The
// host still has to be this machine, and no job may have sent the request.
func (c *credentials) authenticateLocal(r *http.Request) (httpapi.Principal, error) {
	if _, err := (*c.who.Load())(r); err != nil {
		return httpapi.Principal{}, problem.New(problem.Unauthenticated,
			"the token is missing or unknown: send the header `Authorization: Bearer chm_…` with the token of this start of chimed, which is on its terminal, in the file that its log names, or in %s",
			login.LocalVariable)
	}
	direct := &http.Request{RemoteAddr: r.RemoteAddr, Host: r.Host, Header: http.Header{}}
	if fence := r.Header[machine.Fence]; fence != nil {
		direct.Header[machine.Fence] = fence
	}
	principal, err := httpapi.Loopback()(direct)
	if err == nil {
		principal.Name = login.LocalUser
	}
	return principal, err
}

// announceLocal makes the local token known to the user who started this process: on the terminal, otherwise in a file, whose name is logged. It returns
// that file, or nil if it has created no file.
func (s *server) announceLocal(p process) (file *login.PrivateFile, err error) {
	local := s.settings.local
	switch {
	case local == nil:
		return nil, nil
	case local.Given() || p.terminal && s.settings.log == "text":
		s.export = local.Export()
		return nil, nil
	}
	file, err = local.WriteToken(p.env, "chimed", s.listener.Addr())
	if err != nil {
		return nil, err
	}
	s.log.Info("chimed: its local token is in a file that only its user can read", "event", "server.token", "path", file.Path)
	s.export = login.ExportFrom(file)
	return file, nil
}

// isTerminal reports whether people see what is written to a file: it is a device, and not the one that drops everything.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
