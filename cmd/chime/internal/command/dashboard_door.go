package command

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"

	"github.com/chimejobs/chime/internal/login"
)

// dashboardProgram begins the names of the files of chime dashboard.
const dashboardProgram = "chime-dashboard"

// A door admits the users of a file, or without one the user who started chime dashboard.
type door struct {
	users login.Users
	local *login.Local // nil: there is a file of users
	log   *slog.Logger
	files []*login.PrivateFile // with the local token, which is valid until the end
}

// newDoor returns the door for the flags.
func (p *pageServer) newDoor(s *session, log *slog.Logger) (d *door, err error) {
	d = &door{log: log}
	if p.authFile == "" {
		if d.local, err = login.NewLocal(s.Env); err != nil {
			return nil, usage("%w", err)
		}
		return d, nil
	}
	if d.users, err = readUsers(p.authFile); err != nil {
		return nil, usage("--auth-file %s: %w", p.authFile, err)
	}
	return d, nil
}

// before returns the handler of a server with its login in front of the pages.
func (d *door) before(server *url.URL, pages http.Handler) http.Handler {
	if d.local != nil {
		return login.New(d.local.Check, d.log).WrapLocal(login.Land(server, pages))
	}
	return login.New(d.users.Check, d.log).Wrap(pages)
}

// announce makes the local token known to the user who started the command. It returns a text for the terminal, and the address for a browser. If there
// is no terminal, the token is in a file whose name is logged.
func (d *door) announce(s *session, at net.Addr, server *url.URL, opens bool) (hint, toOpen string, err error) {
	if d.local == nil {
		return "", server.String(), nil
	}
	switch {
	case s.ShowsOn:
		hint = fmt.Sprintf("Log in with the name %s and this token as the password. In a shell, curl -u %[1]s:$TOKEN sends it:\n  %s\n", login.LocalUser, d.local.Export())
	case !d.local.Given():
		file, err := d.local.WriteToken(s.Env, dashboardProgram, at)
		if err != nil {
			return "", "", err
		}
		d.files = append(d.files, file)
		d.log.Info("dashboard: its local token is in a file that only its user can read", "event", "server.token", "path", file.Path)
	}
	if !opens {
		return hint, "", nil
	}
	page, err := d.local.WritePage(s.Env, dashboardProgram, at, server)
	if err != nil {
		return "", "", err
	}
	d.files = append(d.files, page)
	return hint, page.URL(), nil
}

// close removes the files.
func (d *door) close() {
	for _, file := range d.files {
		file.Remove()
	}
}
