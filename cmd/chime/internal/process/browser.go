package process

import (
	"os/exec"
	"runtime"
)

// openBrowser opens a page in the browser that this machine prefers.
func openBrowser(url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	opener := exec.Command(name, args...)
	if err := opener.Start(); err != nil {
		return err
	}
	go func() { _ = opener.Wait() }() // a browser may stay for hours
	return nil
}
