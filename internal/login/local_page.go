package login

import (
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
)

// landing is the path to which the page leads. The browser logs in there and is sent to an address without the token: scripts may not request
// anything from a page whose address has a password.
const landing = "/open"

// pageToOpen leads a browser to a server. %[1]s is the address with the token, %[2]s the name, %[3]s the token.
const pageToOpen = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=%[1]s">
<title>chime dashboard</title>
<p>This page leads to <a href="%[1]s">the dashboard</a>. If the browser asks: the name is <code>%[2]s</code>, the password is <code>%[3]s</code></p>
</html>
`

// WritePage writes a file with a page that leads a browser to a server, past its login. A browser gets only arguments, which every user of the machine
// can read, so it gets the name of this file. The handler of the server is behind Land.
func (l *Local) WritePage(env func(name string) string, program string, at net.Addr, server *url.URL) (*PrivateFile, error) {
	to := *server
	to.User, to.Path = url.UserPassword(LocalUser, l.token), landing
	page := fmt.Sprintf(pageToOpen, html.EscapeString(to.String()), LocalUser, html.EscapeString(l.token))
	return writePrivate(env, fileName(program, at)+".html", page)
}

// URL returns the address of the file for a browser.
func (f *PrivateFile) URL() string {
	path := filepath.ToSlash(f.Path)
	if !strings.HasPrefix(path, "/") { // C:/…
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// Land sends browsers that come from the page of WritePage to the URL of the server, and passes all other requests to next.
func Land(server *url.URL, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != landing {
			next.ServeHTTP(w, r)
			return
		}
		setHeaders(w.Header())
		w.Header().Set("Location", server.String())
		w.WriteHeader(http.StatusSeeOther)
	})
}
