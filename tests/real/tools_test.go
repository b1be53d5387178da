//go:build real && unix

package real_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// On a machine without access to the database, the check passes at once, and its log says that nothing was checked.
func TestWithoutItsDatabaseTheCheckForVulnerabilitiesReportsThat(t *testing.T) {
	check := exec.Command("./check.sh", "vuln")
	check.Dir = "../.."
	check.Env = append(os.Environ(), "GOVULNDB=http://127.0.0.1:1", "HTTP_PROXY=", "http_proxy=") // no server has this port
	out, err := check.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "NOT CHECKED for known vulnerabilities") || !strings.Contains(string(out), "127.0.0.1:1") {
		t.Errorf("%v: %s", err, out)
	}
}
